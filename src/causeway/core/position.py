"""How far a source partition has been replicated, and what happened to its offsets.

A position identifies everything that could change under it (invariant D): the source's cluster id, topic,
topic id, partition, next offset and leader epoch, and the destination's topic id. The first record of
a partition is at offset 0, so "nothing yet" is the absence of a position, never a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LATENCY_BOUNDS_MS = (
    1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700,
    1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 30_000, 60_000,
)  # fmt: skip
"""Upper bounds of the latency buckets (record timestamp to commit); one more bucket is open-ended."""

NO_LATENCY = (0,) * (len(LATENCY_BOUNDS_MS) + 1)


class SourcePartition(NamedTuple):
    """A partition's identity: the cluster's id (never its address), the topic's name, the number."""

    cluster: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


class Place(NamedTuple):
    """Where records of one source partition go."""

    topic: str
    topic_id: str
    partition: int


class KnownRecord(NamedTuple):
    """A record that was read: the last one seen, or one shortly before it."""

    offset: int
    digest: str  # of timestamp, key, value and headers


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened to the offsets before a position, since the mirror began with the partition.

    Invariant H: position - start = delivered + filtered + quarantined + holes + skipped, at every commit.
    """

    delivered: int = 0
    filtered: int = 0
    quarantined: int = 0
    holes: int = 0
    bytes: int = 0
    latency: tuple[int, ...] = NO_LATENCY
    skipped: int = 0  # moved without replicating, each time with a Gap in the ledger; back counts negative
    latency_ms: int = 0  # the sum of the latencies in the buckets
    filtered_bytes: int = 0
    quarantined_bytes: int = 0

    @property
    def offsets(self) -> int:
        return self.delivered + self.filtered + self.quarantined + self.holes + self.skipped


@dataclass(frozen=True, slots=True)
class Position:
    source: SourcePartition
    topic_id: str
    start: int  # the offset this mirror began with
    offset: int  # the next offset to replicate
    epoch: int  # leader epoch of the last record seen, -1 if unknown
    place: Place
    place_start: int  # the destination's end when the mirror began with the partition
    place_end: int  # the destination offset after the last replicated record, -1 before the first
    generation: int  # the sharding that wrote it
    at: int  # when it was committed, milliseconds
    tally: Tally = field(default_factory=Tally)
    lease: int = 0  # the lease under which it was written
    seen: int = -1  # the offset after the last record seen, to which the epoch belongs; -1: same as `offset`
    ordinary: int = 0  # holes up to this size were found to be markers and aborted records
    # Only for a source pool. Topic id and epoch are of one node; another node must have this record, too.
    node: str = ""  # cluster id of the node that was read
    known: KnownRecord | None = None

    def to_json(self) -> dict[str, Any]:
        tally = self.tally
        of_pool = {"node": self.node, "known": self.known} if self.node else {}
        return {
            "cluster": self.source.cluster,
            "topic": self.source.topic,
            "partition": self.source.partition,
            "topic_id": self.topic_id,
            "start": self.start,
            "offset": self.offset,
            "epoch": self.epoch,
            "to": list(self.place),
            "to_start": self.place_start,
            "to_end": self.place_end,
            "generation": self.generation,
            "at": self.at,
            "lease": self.lease,
            "seen": self.seen,
            "ordinary": self.ordinary,
            "delivered": tally.delivered,
            "filtered": tally.filtered,
            "quarantined": tally.quarantined,
            "holes": tally.holes,
            "bytes": tally.bytes,
            "latency": list(tally.latency),
            "skipped": tally.skipped,
            "latency_ms": tally.latency_ms,
            "filtered_bytes": tally.filtered_bytes,
            "quarantined_bytes": tally.quarantined_bytes,
            **of_pool,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Position:
        return Position(
            source=SourcePartition(data["cluster"], data["topic"], data["partition"]),
            topic_id=data["topic_id"],
            start=data["start"],
            offset=data["offset"],
            epoch=data["epoch"],
            place=Place(*data["to"]),
            place_start=data["to_start"],
            place_end=data["to_end"],
            generation=data["generation"],
            at=data["at"],
            tally=Tally(
                data["delivered"],
                data["filtered"],
                data["quarantined"],
                data["holes"],
                data["bytes"],
                tuple(data["latency"]),
                data.get("skipped", 0),  # the first versions did not write this, nor the following:
                data.get("latency_ms", 0),
                data.get("filtered_bytes", 0),
                data.get("quarantined_bytes", 0),
            ),
            lease=data.get("lease", 0),
            seen=data.get("seen", -1),
            ordinary=data.get("ordinary", 0),
            node=data.get("node", ""),
            known=KnownRecord(*data["known"]) if data.get("known") else None,
        )


def stayed_under(latency: Sequence[int], share: float) -> float | None:
    """The latency in milliseconds that this share of the bucketed records stayed under; None without records.

    Records count as evenly spread within a bucket; the open-ended bucket returns its lower bound.
    """
    wanted, seen = sum(latency) * share, 0
    for bucket, count in enumerate(latency):
        if count and seen + count >= wanted:
            low = LATENCY_BOUNDS_MS[bucket - 1] if bucket else 0
            if bucket == len(LATENCY_BOUNDS_MS):
                return float(low)
            return low + (LATENCY_BOUNDS_MS[bucket] - low) * (wanted - seen) / count
        seen += count
    return None
