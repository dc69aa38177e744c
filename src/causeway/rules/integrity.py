"""Verdicts on a source partition and its destination: may it continue from its position?

Invariant G: whatever could skip data stops the partition and names what is missing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Literal

from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane

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

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers without topic ids report: then only log bounds can be checked."""

LOOKS = 3
"""Fetch an unreadable batch this many times: bits may flip on the network as well as on a disk."""


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

    verdict: Verdict
    what: str
    todo: str
    expected: int = -1  # the next offset to replicate; -1 if offsets are not the cause
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets that no longer exist


@dataclass(frozen=True, slots=True)
class UnreadableLog:
    """Where a log could not be read: the next offset to replicate, failures in a row, the client's error."""

    offset: int
    times: int
    why: str


def same_topic(known: str, found: str) -> bool:
    return known == found or NO_TOPIC_ID in (known, found)


def with_ids(position: Position, found: LogFacts) -> Position:
    """The position with the topic ids that the brokers report now, if it began without them.

    Brokers before Kafka 2.8 report none. A position that never got one would match every topic of its name: a
    topic that is deleted and created again after the upgrade would pass for the old one.
    """
    topic_id, place = position.topic_id, position.place
    if topic_id == NO_TOPIC_ID and found.topic_id is not None:
        topic_id = found.topic_id
    if place.topic_id == NO_TOPIC_ID and found.place_topic_id is not None:
        place = place._replace(topic_id=found.place_topic_id)
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


def judge(lane: Lane, position: Position | None, found: LogFacts) -> Finding | None:
    """None if the partition may continue; otherwise the finding that stops it.

    The identity of the topics is checked first: offsets of another topic mean nothing.
    """
    finding = _source_topic(lane, position, found) or _place_topic(lane, position, found)
    if finding is not None or position is None:
        return finding
    return _source_log(lane, position, found) or _place_log(lane, position, found)


def _source_topic(lane: Lane, position: Position | None, found: LogFacts) -> Finding | None:
    source = lane.source
    topic_id = position.topic_id if position else lane.topic_id
    expected = position.offset if position else -1
    if found.topic_id is None:
        return Finding(
            "deleted",
            f"the source topic {source.topic} does not exist any more"
            + (f"; replicated up to offset {position.offset}" if position else ""),
            "take it out of `topics`; where it is created again, on_recreate decides",
            expected,
        )
    if not same_topic(topic_id, found.topic_id):
        return Finding(
            "recreated",
            f"the source topic {source.topic} was deleted and created again"
            f" (topic id {shown(topic_id)} then, {shown(found.topic_id)} now);"
            f" its offsets {found.log_start}…{found.log_end} are not the ones replicated"
            + (f" up to {position.offset}: what the old one held from there on is gone" if position else ""),
            'on_recreate = "restart" replicates the new topic from its beginning, after what is there',
            expected,
            found.log_start,
        )
    return None


def _source_log(lane: Lane, position: Position, found: LogFacts) -> Finding | None:
    source = lane.source
    if position.offset < found.log_start:
        gone = found.log_start - position.offset
        return Finding(
            "gap",
            f"{source} begins at offset {found.log_start} now, {position.offset} is next to replicate:"
            f" {gone} offsets were deleted before they were replicated",
            "raise the source's retention; to go on without them: `causeway offsets skip`,"
            ' or on_gap = "continue"',
            position.offset,
            found.log_start,
            gone,
        )
    if position.offset > found.log_end:
        return truncated(source, position.offset, found.log_end)
    return None


def truncated(source: SourcePartition, expected: int, end: int) -> Finding:
    """The source lost records that were replicated."""
    return Finding(
        "truncated",
        f"{source} ends at offset {end} now, {expected} is next to replicate:"
        f" {expected - end} offsets that were replicated are gone from the source",
        "the source lost records (unclean leader election?); source and destination have diverged there:"
        f" `causeway offsets skip --back` goes on from offset {end}",
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
        " what was replicated is not what the source holds now",
        "find where both sides part (`causeway verify`); `causeway offsets skip --back` goes on from there",
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
    return f"the record at offset {seen - 1}, the last one seen, is not there any more: {instead}"


def unread(before: UnreadableLog | None, offset: int, why: str) -> UnreadableLog:
    """One more failure to read a log; failures at another offset do not count."""
    times = before.times if before is not None and before.offset == offset else 0
    return UnreadableLog(offset, times + 1, why)


def corrupt(
    source: SourcePartition, expected: int, unreadable: UnreadableLog | None, *, known: bool
) -> Finding | None:
    """What the source holds at the position cannot be read, however often it is fetched.

    `known`: the partition stopped for that before, so one more failure is enough. Continuing automatically
    would skip a whole batch of an unknown number of records: that number is part of what is damaged.
    """
    if unreadable is None or unreadable.offset != expected or unreadable.times < (1 if known else LOOKS):
        return None
    return Finding(
        "corrupt",
        f"{source} cannot be read from offset {expected} on, which is next to replicate ({unreadable.why}):"
        " what the source holds there is damaged",
        "restore the partition from a replica that is whole, and start again; or find where the batch ends"
        " (`kafka-dump-log.sh`), and go on without it: `causeway offsets skip --to` the offset behind it",
        expected,
    )


def _place_topic(lane: Lane, position: Position | None, found: LogFacts) -> Finding | None:
    place = lane.place
    topic_id = position.place.topic_id if position else place.topic_id
    if found.place_topic_id is None:
        return Finding(
            "destination-deleted",
            f"the destination topic {place.topic} does not exist any more",
            "the ledger holds positions for it: a new mirror name starts from the beginning",
        )
    if not same_topic(topic_id, found.place_topic_id):
        return Finding(
            "destination-recreated",
            f"the destination topic {place.topic} was deleted and created again"
            f" (topic id {shown(topic_id)} then, {shown(found.place_topic_id)} now)",
            "what was replicated is gone from it: a new mirror name starts from the beginning",
        )
    if place.partition >= found.place_partitions:
        return Finding(
            "destination-shrunk",
            f"the destination topic {place.topic} has {found.place_partitions} partitions,"
            f" {lane.source} goes to partition {place.partition}",
            f"what was replicated there is gone; kafka-topics.sh --alter --topic {place.topic}"
            f" --partitions {place.partition + 1} makes the partition, a new mirror name fills it again",
        )
    return None


def _place_log(lane: Lane, position: Position, found: LogFacts) -> Finding | None:
    place, end = lane.place, found.place_end
    same = (position.place.topic, position.place.partition) == (place.topic, place.partition)
    if not same or end is None or position.place_end <= end:
        return None
    return Finding(
        "destination-truncated",
        f"{place.topic}[{place.partition}] ends at offset {end} now, but {lane.source} was replicated up to"
        f" {position.place_end} there: {position.place_end - end} offsets are gone from the destination",
        "the destination lost records (unclean leader election?): a new mirror name starts anew",
        position.place_end,
        end,
        position.place_end - end,
    )
