"""kaf-relay's topics: `source = "target[:partition]"` of the file, `--topic` over it, and partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causeway.config import fields
from causeway.config.document import shown
from causeway.doors.reading import fitting
from causeway.doors.relay_keys import number
from causeway.doors.translation import Translation

Place = int | list[dict[str, int]]


@dataclass(frozen=True)
class Topic:
    source: str
    target: str
    partition: int | None  # the one that all records go to


def topics(translation: Translation, table: object, flags: Iterable[str]) -> dict[str, Topic]:
    """By source topic, in the order of the file and then of the flags; a flag wins over the file."""
    found: dict[str, Topic] = {}
    for source, target in _entries(translation, table):
        if isinstance(target, str):
            _add(translation, found, f"topics.{source}", [source, *target.split(":")])
        else:
            translation.problem(
                f"topics.{source}", 'must be "target" or "target:partition" (quote a name that has dots)'
            )
    for given in flags:
        parts = given.split(":")
        if len(parts) in (2, 3):
            _add(translation, found, f"--topic {given}", parts)
        else:
            translation.problem(f"--topic {given}", "must be source:target or source:target:partition")
    if not found and not translation.problems:
        translation.problem(
            "topics", 'missing, for example [topics] source = "target", or --topic source:target'
        )
    return found


def placed(translation: Translation, table: object, found: dict[str, Topic]) -> dict[str, Place]:
    """Partitions by source topic: the topics' own, and those of [producer.partitioning]."""
    places: dict[str, Place] = {
        topic.source: topic.partition for topic in found.values() if topic.partition is not None
    }
    if not isinstance(table, dict):
        translation.problem("producer.partitioning", "must be a table")
        return places
    for name, value in table.items():
        key = f"producer.partitioning.{name}"
        for topic in _meant(translation, key, name, found):
            if topic.source in places:
                translation.problem(key, f"topic {topic.source} has its partition already")
            try:
                place = fields.placement(value)
            except ValueError as error:
                translation.problem(key, str(error))
                continue
            places[topic.source] = (
                place if isinstance(place, int) else [{"src": src, "dest": dest} for src, dest in place]
            )
    return places


def shared(found: Iterable[Topic]) -> dict[str, list[str]]:
    """Target topics that several source topics go to."""
    sources: dict[str, list[str]] = {}
    for topic in found:
        sources.setdefault(topic.target, []).append(topic.source)
    return {target: those for target, those in sources.items() if len(those) > 1}


def _entries(translation: Translation, table: object) -> list[tuple[str, object]]:
    """[topics], or [[topics]], whose tables are one."""
    entries: list[tuple[str, object]] = []
    for each in table if isinstance(table, list) else [table]:
        if not isinstance(each, dict):
            translation.problem("topics", 'must be a table of source = "target"')
            return []
        entries += each.items()
    return entries


def _add(translation: Translation, found: dict[str, Topic], key: str, parts: list[str]) -> None:
    source, target, *rest = parts
    if len(rest) > 1:
        translation.problem(key, 'must be "target" or "target:partition"')
        return
    partition = None
    if rest:
        try:
            partition = number(rest[0])
        except ValueError:
            partition = -1
        if partition < 0:
            translation.problem(key, f"must name a partition from 0 on, not {shown(rest[0])}")
    for name in dict.fromkeys((source, target)):
        fitting(translation, key, name, fields.TopicName)
    found[source] = Topic(source, target, partition)


def _meant(translation: Translation, key: str, name: str, found: dict[str, Topic]) -> list[Topic]:
    """kaf-relay looks for the target's name, and so the source's, which its sample has, changes nothing.

    Nor does it here: a file must not send records elsewhere than the tool that it was written for.
    """
    by_target = [topic for topic in found.values() if topic.target == name]
    if name not in found:
        if not by_target:
            translation.problem(key, "is no topic of [topics]")
        return by_target
    if any(topic.source != name for topic in by_target):
        translation.problem(
            key, "is a source topic and the target of another: write the partitions into [topics] instead"
        )
    elif not by_target:
        translation.note(
            key,
            "has no effect, as in kaf-relay: it looks for the name of the target,"
            f" {found[name].target}. Records keep their partition",
        )
    return by_target
