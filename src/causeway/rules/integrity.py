"""Verdicts on a source partition and its destination: may it continue from its position?

Invariant G: whatever could skip data stops the partition and names what is missing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Literal

from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.core.topic import NO_TOPIC_ID

Verdict = Literal[
    "gap",
    "truncated",
    "recreated",
    "deleted",
    "corrupt",
    "destination-recreated",
    "destination-deleted",
    "destination-shrunk",
    "destination-truncated",
    "poison",
    "refused",
    "filter",
]


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the brokers report now. A topic id is None if the topic does not exist."""

    topic_id: str | None
    log_start: int
    log_end: int
    place_topic_id: str | None
    place_partitions: int = sys.maxsize
    place_end: int | None = None  # log end of the place; None if it was not fetched
    missing: bool = False  # the topic was recreated, and has no such partition


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a partition stops, in words and in numbers, and what to do."""

    verdict: Verdict | Literal["schema"]  # "schema": the partition waits, it is not stopped
    what: str
    todo: str
    expected: int = -1  # the next offset to replicate; -1 if offsets are not the cause
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets that no longer exist


def same_topic(known: str, current: str) -> bool:
    return known == current or NO_TOPIC_ID in (known, current)


def with_ids(position: Position, facts: LogFacts) -> Position:
    """The position with the topic ids that the brokers report now, if it began without them.

    Brokers before Kafka 2.8 report none. A position that never got one would match every topic of its name: a
    topic that is deleted and created again after the upgrade would pass for the old one.
    """
    topic_id, place = position.topic_id, position.place
    if topic_id == NO_TOPIC_ID and facts.topic_id is not None:
        topic_id = facts.topic_id
    if place.topic_id == NO_TOPIC_ID and facts.place_topic_id is not None:
        place = place._replace(topic_id=facts.place_topic_id)
    return replace(position, topic_id=topic_id, place=place)


def falls_short(position: Position | None, topic_id: str, reached: int | None) -> bool:
    """Whether the ledger shows less than what is known to be in it.

    Positions of a topic never move back while a mirror runs. Those of a recreated topic start over.
    """
    if reached is None:
        return False
    return position is None or (position.topic_id == topic_id != NO_TOPIC_ID and position.offset < reached)


def shown(topic_id: str) -> str:
    """A topic id as Kafka's own tools write it."""
    return topic_id.translate(str.maketrans("+/", "-_"))


def judge(lane: Lane, position: Position | None, facts: LogFacts) -> Finding | None:
    """None if the partition may continue; otherwise the finding that stops it.

    The identity of the topics is checked first: offsets of another topic mean nothing.
    """
    finding = _source_topic(lane, position, facts) or _place_topic(lane, position, facts)
    if finding is not None or position is None:
        return finding
    return _source_log(lane, position, facts) or _place_log(lane, position, facts)


def _source_topic(lane: Lane, position: Position | None, facts: LogFacts) -> Finding | None:
    source = lane.source
    topic_id = position.topic_id if position else lane.topic_id
    expected = position.offset if position else -1
    if facts.topic_id is None:
        return Finding(
            "deleted",
            f"the source topic {source.topic} no longer exists"
            + (f"; replicated up to offset {position.offset}" if position else ""),
            "remove it from `topics`; if it is created again, on_recreate decides",
            expected,
        )
    if not same_topic(topic_id, facts.topic_id):
        return Finding(
            "recreated",
            f"the source topic {source.topic} was deleted and created again"
            f" (topic id {shown(topic_id)} then, {shown(facts.topic_id)} now);"
            f" its offsets {facts.log_start}…{facts.log_end} are not the ones replicated"
            + (f" up to {position.offset}: its records from there on are lost" if position else ""),
            'on_recreate = "restart" replicates the new topic from its beginning, after what is there',
            expected,
            facts.log_start,
        )
    return None


def _source_log(lane: Lane, position: Position, facts: LogFacts) -> Finding | None:
    source = lane.source
    if position.offset < facts.log_start:
        gone = facts.log_start - position.offset
        return Finding(
            "gap",
            f"{source} begins at offset {facts.log_start} now, {position.offset} is next to replicate:"
            f" {gone} offsets were deleted before they were replicated",
            "raise the source's retention; to continue without them: `causeway offsets skip`,"
            ' or on_gap = "continue"',
            position.offset,
            facts.log_start,
            gone,
        )
    if position.offset > facts.log_end:
        return truncated(source, position.offset, facts.log_end)
    return None


def truncated(source: SourcePartition, expected: int, end: int) -> Finding:
    """The source lost records that were replicated."""
    return Finding(
        "truncated",
        f"{source} ends at offset {end} now, {expected} is next to replicate:"
        f" {expected - end} replicated offsets no longer exist on the source",
        "the source lost records (unclean leader election?); source and destination have diverged there:"
        f" `causeway offsets skip --back` continues from offset {end}",
        expected,
        end,
        expected - end,
    )


def diverged(source: SourcePartition, expected: int, why: str) -> Finding:
    """The log was truncated before our position and has grown beyond it since.

    Leader epochs show it, or a record at an offset that had none before.
    """
    return Finding(
        "truncated",
        f"{source} was truncated before offset {expected}, which is next to replicate, and rewritten ({why}):"
        " the replicated records are not those that the source has now",
        "find where both sides diverge (`causeway verify`); `causeway offsets skip --back` continues from "
        "there",
        expected,
    )


def contradicts(
    seen: int, position: int, known: int, offset: int, epoch: int | None, *, awaited: bool
) -> str:
    """Why a record proves that its log was truncated before the position; "" if it does not.

    `seen` is the offset after the last record seen, `known` that record's leader epoch. While the record is
    `awaited` it must come first: a fetch that starts at its offset returns it, unless another log is there.
    An offset and a leader epoch identify one record for ever, so if it comes, all before it is the same.
    From `seen` to the position there were only markers and aborted records.
    """
    if awaited and offset >= seen:
        return absent(seen, f"the next record is at offset {offset}")
    if offset == seen - 1 and known >= 0 and epoch is not None and epoch != known:
        return f"the record at offset {offset} is of leader epoch {epoch}, it was of {known}"
    if seen <= offset < position:
        return f"there is a record at offset {offset}, where there was none"
    return ""


def absent(seen: int, instead: str) -> str:
    """The last record seen is gone; a marker or an aborted record may be in its place."""
    return f"the record at offset {seen - 1}, the last one seen, no longer exists: {instead}"


def _place_topic(lane: Lane, position: Position | None, facts: LogFacts) -> Finding | None:
    place = lane.place
    topic_id = position.place.topic_id if position else place.topic_id
    if facts.place_topic_id is None:
        return Finding(
            "destination-deleted",
            f"the destination topic {place.topic} no longer exists",
            "the ledger holds positions for it: a new mirror name starts from the beginning",
        )
    if not same_topic(topic_id, facts.place_topic_id):
        return Finding(
            "destination-recreated",
            f"the destination topic {place.topic} was deleted and created again"
            f" (topic id {shown(topic_id)} then, {shown(facts.place_topic_id)} now)",
            "the replicated records are lost: a new mirror name starts from the beginning",
        )
    if place.partition >= facts.place_partitions:
        return Finding(
            "destination-shrunk",
            f"the destination topic {place.topic} has {facts.place_partitions} partitions,"
            f" {lane.source} goes to partition {place.partition}",
            f"the replicated records are lost; kafka-topics.sh --alter --topic {place.topic}"
            f" --partitions {place.partition + 1} adds the partition, and a new mirror name fills it again",
        )
    return None


def _place_log(lane: Lane, position: Position, facts: LogFacts) -> Finding | None:
    place, end = lane.place, facts.place_end
    same = (position.place.topic, position.place.partition) == (place.topic, place.partition)
    if not same or end is None or position.place_end <= end:
        return None
    return Finding(
        "destination-truncated",
        f"{place.topic}[{place.partition}] ends at offset {end} now, but {lane.source} was replicated up to"
        f" {position.place_end} there: {position.place_end - end} offsets no longer exist on the destination",
        "the destination lost records (unclean leader election?): a new mirror name starts from the "
        "beginning",
        position.place_end,
        end,
        position.place_end - end,
    )
