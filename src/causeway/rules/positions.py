"""How positions advance, and which of several positions counts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from causeway.core.position import (
    LATENCY_BOUNDS_MS,
    NO_LATENCY,
    KnownRecord,
    Position,
    SourcePartition,
    stayed_under,
)
from causeway.core.task_order import Lane
from causeway.core.topic import NO_TOPIC_ID


class Waits:
    """How long records waited: counts in buckets, and the sum; in milliseconds."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = list(NO_LATENCY)
        self.total = 0

    def add(self, milliseconds: int, times: int = 1) -> None:
        self.counts[latency_bucket(milliseconds)] += times
        self.total += max(0, milliseconds) * times


@dataclass(frozen=True, slots=True)
class Replicated:
    """What one transaction did for one partition."""

    offset: int  # the next offset to replicate, after the transaction
    epoch: int
    delivered: int = 0
    filtered: int = 0
    quarantined: int = 0
    bytes: int = 0
    place_end: int = -1
    waits: Waits | None = None
    seen: int = -1  # the offset after the last record seen; -1: none was seen
    filtered_bytes: int = 0
    quarantined_bytes: int = 0
    known: KnownRecord | None = None  # only of a source pool


def advance(position: Position, replicated: Replicated, at: int) -> Position:
    """The position after a transaction. Offsets that passed without a record are holes (invariant H)."""
    passed = replicated.offset - position.offset
    holes = passed - replicated.delivered - replicated.filtered - replicated.quarantined
    if passed < 0 or holes < 0:
        raise ValueError(f"{position.source} cannot move from {position.offset} by {replicated}")
    before = position.tally
    latency, latency_ms = before.latency, before.latency_ms
    if replicated.waits is not None:
        latency = tuple(old + new for old, new in zip(latency, replicated.waits.counts, strict=True))
        latency_ms += replicated.waits.total
    return replace(
        position,
        offset=replicated.offset,
        epoch=replicated.epoch if replicated.epoch >= 0 else position.epoch,
        seen=replicated.seen if replicated.seen >= 0 else seen(position),
        place_end=max(position.place_end, replicated.place_end),
        at=at,
        known=replicated.known or position.known,
        tally=replace(
            before,
            delivered=before.delivered + replicated.delivered,
            filtered=before.filtered + replicated.filtered,
            quarantined=before.quarantined + replicated.quarantined,
            holes=before.holes + holes,
            bytes=before.bytes + replicated.bytes,
            latency=latency,
            latency_ms=latency_ms,
            filtered_bytes=before.filtered_bytes + replicated.filtered_bytes,
            quarantined_bytes=before.quarantined_bytes + replicated.quarantined_bytes,
        ),
    )


def first(lane: Lane, begin: int, place_start: int, generation: int, lease: int, at: int) -> Position:
    """The first position of a lane: nothing of it was replicated yet."""
    return Position(
        source=lane.source,
        topic_id=lane.topic_id,
        start=begin,
        offset=begin,
        epoch=-1,
        place=lane.place,
        place_start=place_start,
        place_end=-1,
        generation=generation,
        at=at,
        lease=lease,
    )


def on_node(position: Position, node: str) -> Position:
    """The position for reading from this node of a source pool.

    Topic id and leader epoch are a node's own: on another one nothing is known of them yet. A position from
    before there was a pool is of the cluster that gave the pool its id.
    """
    if (position.node or position.source.cluster) == node:
        return replace(position, node=node)
    return replace(position, node=node, topic_id=NO_TOPIC_ID, epoch=-1)


def known_record(position: Position, log_start: int) -> KnownRecord | None:
    """The record by which a node of a pool shows that it has what was replicated.

    Where the epoch is known, epoch and offset identify the last record seen instead.
    """
    known = position.known
    if known is None or position.epoch >= 0 or not log_start <= known.offset < position.offset:
        return None
    return known


def seen(position: Position) -> int:
    return position.seen if position.seen >= 0 else position.offset


def resume(position: Position, log_start: int, *, compacted: bool = False) -> tuple[int, int]:
    """Where to fetch from, and the leader epoch to check there (-1: there is nothing to check).

    The last record seen is fetched again: a log that was truncated and written again has another one there,
    of a later epoch, or none. Between the record and the position lie markers and aborted records, perhaps of
    later epochs: checking the position by the epoch would report a healthy log as truncated. If retention
    deleted the record, nothing is left to check.

    Compaction may remove the record too. Then the fetch starts after it, and the client validates its epoch
    (OffsetsForLeaderEpoch): that epoch must not have ended at or before the record.
    """
    last = seen(position) - 1
    if position.epoch < 0 or last < log_start:
        return position.offset, -1
    return last + 1 if compacted else last, position.epoch


def newest(positions: Iterable[Position]) -> dict[SourcePartition, Position]:
    """The position that counts for each source partition, of all that the ledger's partitions hold.

    A shard's ledger partition may still hold positions of an older sharding. Within one generation a
    source partition belongs to one shard, so the higher generation wins, and within it the higher offset.
    """
    best: dict[SourcePartition, Position] = {}
    for position in positions:
        known = best.get(position.source)
        if known is None or (known.generation, known.offset) <= (position.generation, position.offset):
            best[position.source] = position
    return best


def latency_bucket(milliseconds: int) -> int:
    return bisect_left(LATENCY_BOUNDS_MS, milliseconds)


def percentile(latency: Sequence[int], share: float) -> float:
    """The latency, in milliseconds, that this share of the records stayed under; 0 without records."""
    return stayed_under(latency, share) or 0.0
