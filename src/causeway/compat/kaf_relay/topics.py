"""kaf-relay's topics: `source = "target[:partition]"` in the file, `--topic` over it, and partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causeway.compat.kaf_relay.keys import number
from causeway.compat.reading import fitting
from causeway.compat.translation import Translation
from causeway.config import fields
from causeway.config.config_tree import shown

RelayPlacement = int | list[dict[str, int]]


@dataclass(frozen=True)
class RelayTopic:
    source: str
    target: str
    partition: int | None  # where all records go, if set


def topics(translation: Translation, table: object, flags: Iterable[str]) -> dict[str, RelayTopic]:
    """By source topic, first in the file's order, then in the flags'; a flag overrides the file."""
    chosen: dict[str, RelayTopic] = {}
    for source, target in _entries(translation, table):
        if isinstance(target, str):
            _add(translation, chosen, f"topics.{source}", [source, *target.split(":")])
        else:
            translation.problem(
                f"topics.{source}", 'must be "target" or "target:partition" (quote a name that has dots)'
            )
    for given in flags:
        parts = given.split(":")
        if len(parts) in (2, 3):
            _add(translation, chosen, f"--topic {given}", parts)
        else:
            translation.problem(f"--topic {given}", "must be source:target or source:target:partition")
    if not chosen and not translation.problems:
        translation.problem(
            "topics", 'missing, for example [topics] source = "target", or --topic source:target'
        )
    return chosen


def placed(
    translation: Translation, table: object, chosen: dict[str, RelayTopic]
) -> dict[str, RelayPlacement]:
    """Partitions by source topic: from the topics themselves and from [producer.partitioning]."""
    places: dict[str, RelayPlacement] = {
        topic.source: topic.partition for topic in chosen.values() if topic.partition is not None
    }
    if not isinstance(table, dict):
        translation.problem("producer.partitioning", "must be a table")
        return places
    for name, value in table.items():
        key = f"producer.partitioning.{name}"
        for topic in _meant(translation, key, name, chosen):
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


def shared(chosen: Iterable[RelayTopic]) -> dict[str, list[str]]:
    """Target topics shared by several source topics."""
    sources: dict[str, list[str]] = {}
    for topic in chosen:
        sources.setdefault(topic.target, []).append(topic.source)
    return {target: names for target, names in sources.items() if len(names) > 1}


def _entries(translation: Translation, table: object) -> list[tuple[str, object]]:
    """The entries of [topics], or of all [[topics]] tables together."""
    entries: list[tuple[str, object]] = []
    for part in table if isinstance(table, list) else [table]:
        if not isinstance(part, dict):
            translation.problem("topics", 'must be a table of source = "target"')
            return []
        entries += part.items()
    return entries


def _add(translation: Translation, chosen: dict[str, RelayTopic], key: str, parts: list[str]) -> None:
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
    chosen[source] = RelayTopic(source, target, partition)


def _meant(translation: Translation, key: str, name: str, chosen: dict[str, RelayTopic]) -> list[RelayTopic]:
    """kaf-relay looks up the target's name, so the source's name, which its sample uses, has no effect.

    Nor has it here: records must not go elsewhere than with the tool that the file was written for.
    """
    by_target = [topic for topic in chosen.values() if topic.target == name]
    if name not in chosen:
        if not by_target:
            translation.problem(key, "is not a topic of [topics]")
        return by_target
    if any(topic.source != name for topic in by_target):
        translation.problem(
            key, "is a source topic and the target of another: write the partitions into [topics] instead"
        )
    elif not by_target:
        translation.note(
            key,
            "has no effect, as in kaf-relay: it looks for the name of the target,"
            f" {chosen[name].target}. Records keep their partition",
        )
    return by_target
