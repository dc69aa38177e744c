"""What `offsets show` reports about a mirror, and the text for a gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from causeway.core.ledger_record import Gap, Stopped
from causeway.core.plural import counted
from causeway.core.position import Position, SourcePartition
from causeway.core.route import BY_KEY


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """One source partition: its position in the ledger, and the bounds of its source log."""

    position: Position
    log_start: int | None = None  # None if the source does not report it
    log_end: int | None = None

    @property
    def lag(self) -> int | None:
        return None if self.log_end is None else max(0, self.log_end - self.position.offset)

    def to_json(self) -> dict[str, Any]:
        data = self.position.to_json()
        topic, _, number = self.position.place
        del data["latency"], data["to"]
        return {
            **data,
            "destination_topic": topic,
            "destination_partition": None if number == BY_KEY else number,
            "log_start": self.log_start,
            "log_end": self.log_end,
            "lag": self.lag,
        }


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """A quarantined record: where it was on the source, and why it was rejected."""

    source: SourcePartition
    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class OffsetsReport:
    mirror: str
    sources: tuple[str, ...]  # the clusters' aliases
    destination: str
    partitions: tuple[PartitionOffsets, ...]
    stopped: tuple[Stopped, ...] = ()
    gaps: tuple[Gap, ...] = ()  # oldest first
    first_quarantined: tuple[QuarantinedRecord, ...] = ()
    notes: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)  # of sources that respond, by cluster id

    @property
    def quarantined(self) -> int:
        """Records in quarantine, as the ledger counts them."""
        return sum(partition.position.tally.quarantined for partition in self.partitions)

    def named(self, source: SourcePartition) -> str:
        """The partition's name, with its cluster if the report has several."""
        several = len({partition.position.source.cluster for partition in self.partitions}) > 1
        return f"{self.alias(source)}:{source}" if several else str(source)

    def alias(self, source: SourcePartition) -> str:
        return self.aliases.get(source.cluster, source.cluster)

    def to_json(self) -> dict[str, Any]:
        return {
            "mirror": self.mirror,
            "sources": list(self.sources),
            "destination": self.destination,
            "partitions": [
                {"source": self.alias(partition.position.source), **partition.to_json()}
                for partition in self.partitions
            ],
            "stopped": [asdict(stop) for stop in self.stopped],
            "gaps": [{**asdict(gap), "skipped": gap.skipped} for gap in self.gaps],
            "quarantined": {
                "count": self.quarantined,
                "first": [
                    {**record.source._asdict(), "offset": record.offset, "reason": record.reason}
                    for record in self.first_quarantined
                ],
            },
            "notes": list(self.notes),
        }


def describe_gap(gap: Gap) -> str:
    """What happened, when, by which policy or operator, and why."""
    if gap.to_topic_id != gap.topic_id:
        what = (
            f"started with another topic of this name at offset {gap.end};"
            f" the one before was replicated up to offset {gap.begin}"
        )
    elif gap.skipped < 0:
        again = counted(-gap.skipped, "offset")
        what = f"moved back from offset {gap.begin} to {gap.end}, {again} to replicate again"
    else:
        what = f"skipped {offset_range(gap.begin, gap.end)}"
    why = f": {gap.why}" if gap.why else ""
    return f"{what}, {when(gap.at)}, by {gap.by}{why}"


def when(at: int) -> str:
    """Milliseconds as a readable time."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def offset_range(begin: int, end: int) -> str:
    """Offsets from `begin` up to `end`, as text."""
    if end - begin == 1:
        return f"offset {begin}"
    return f"offsets {begin} to {end - 1} ({end - begin:,})"
