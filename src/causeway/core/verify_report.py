"""What `verify` found. Findings come back from the executors as JSON.

The kinds of difference, each with coordinates on the sides where it is visible:

missing        on the source and before the ledger's position, not on the destination
duplicated     once more on the destination than on the source
out_of_order   on both sides, in a different order among the others
changed        at the same place on both sides, with different content
unexpected     on the destination only, never on the source
lagging        on the source, not replicated yet according to the ledger
unreadable     on either side, with headers that the client cannot parse: they could not be compared

Records that a policy or an operator skipped (`skipped`, declared in the ledger) and records in quarantine are
counted separately: they are no difference. Neither are offsets that the source lost in the middle of its log
(`lost`), but then the sides do not count as equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from causeway.core.position import Place, SourcePartition
from causeway.core.route import BY_KEY

DifferenceKind = Literal[
    "missing", "duplicated", "out_of_order", "changed", "unexpected", "lagging", "unreadable"
]
KINDS: tuple[DifferenceKind, ...] = get_args(DifferenceKind)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a difference is; None on a side that has no such record."""

    source: int | None
    destination: int | None
    fields: tuple[str, ...] = ()  # of a changed record: key, value, headers, timestamp
    partition: int | None = None  # of the destination, if several are compared as a pool


@dataclass(frozen=True, slots=True)
class Findings:
    """What the comparison of one partition found."""

    source_records: int = 0
    destination_records: int = 0
    counts: Mapping[DifferenceKind, int] = field(default_factory=dict)
    first: Mapping[DifferenceKind, tuple[Coordinates, ...]] = field(default_factory=dict)
    expired_on_source: int = (
        0  # destination records older than the source's log start: nothing contradicts them
    )
    expired_on_destination: int = 0  # source records older than the destination's log start
    approximate: bool = False  # too many differences: some were classified by their place alone
    filtered: int = 0  # source records before the position that the mirror does not replicate
    skipped: int = 0  # those that it skipped, with a Gap in the ledger
    quarantined: int = 0  # those that are in quarantine instead
    notes: tuple[str, ...] = ()
    lost: int = 0  # offsets that the source's log lost in its middle: nothing is left to compare

    @property
    def equal(self) -> bool:
        return not any(self.counts.values()) and not self.lost

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Findings:
        data = json.loads(text)
        data["first"] = {
            kind: tuple(Coordinates(**{**record, "fields": tuple(record["fields"])}) for record in records)
            for kind, records in data["first"].items()
        }
        data["notes"] = tuple(data["notes"])
        return Findings(**data)


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    source: SourcePartition
    place: Place | None
    findings: Findings
    ledger_counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "cluster": self.source.cluster,
            "topic": self.source.topic,
            "partition": self.source.partition,
            "destination_topic": self.place and self.place.topic,
            "destination_partition": self.place.partition
            if self.place and self.place.partition != BY_KEY
            else None,
            "equal": self.findings.equal,
            **asdict(self.findings),
            "ledger_counts": dict(self.ledger_counts),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class TopicVerdict:
    """The sum of a topic's partitions: a line of the table."""

    topic: str
    destination_topic: str | None
    partitions: int
    source_records: int
    destination_records: int
    counts: Mapping[DifferenceKind, int]
    cluster: str = ""  # the source's id
    skipped: int = 0
    quarantined: int = 0
    lost: int = 0

    @property
    def equal(self) -> bool:
        return not any(self.counts.values()) and not self.lost


@dataclass(frozen=True, slots=True)
class VerifyReport:
    mirror: str
    sources: tuple[str, ...]  # the clusters' aliases
    destination: str
    at: int  # when the ends were captured, milliseconds
    seconds: float
    partitions: tuple[PartitionVerdict, ...]
    notes: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)  # of the sources, by cluster id
    nodes: Mapping[str, str] = field(default_factory=dict)  # the node that was read, by the pool's name

    @property
    def equal(self) -> bool:
        return all(partition.findings.equal for partition in self.partitions)

    @property
    def lost(self) -> int:
        """Offsets that the sources lost."""
        return sum(partition.findings.lost for partition in self.partitions)

    def counts(self) -> dict[DifferenceKind, int]:
        return _sum(partition.findings for partition in self.partitions)

    def topics(self) -> list[TopicVerdict]:
        groups: dict[tuple[str, str], list[PartitionVerdict]] = {}
        for partition in self.partitions:
            groups.setdefault(partition.source[:2], []).append(partition)
        return [_topic(cluster, topic, group) for (cluster, topic), group in sorted(groups.items())]

    def to_json(self) -> dict[str, Any]:
        return {
            "mirror": self.mirror,
            "sources": list(self.sources),
            "destination": self.destination,
            "nodes": dict(self.nodes),
            "equal": self.equal,
            "at": self.at,
            "seconds": round(self.seconds, 3),
            "counts": self.counts(),
            "skipped": sum(partition.findings.skipped for partition in self.partitions),
            "quarantined": sum(partition.findings.quarantined for partition in self.partitions),
            "lost": self.lost,
            "topics": [{**asdict(topic), "equal": topic.equal} for topic in self.topics()],
            "partitions": [partition.to_json() for partition in self.partitions],
            "notes": list(self.notes),
        }


def _sum(findings: Iterable[Findings]) -> dict[DifferenceKind, int]:
    total: dict[DifferenceKind, int] = dict.fromkeys(KINDS, 0)
    for partition in findings:
        for kind, count in partition.counts.items():
            total[kind] += count
    return total


def _topic(cluster: str, topic: str, group: list[PartitionVerdict]) -> TopicVerdict:
    places = [partition.place.topic for partition in group if partition.place]
    return TopicVerdict(
        topic=topic,
        destination_topic=places[0] if places else None,
        partitions=len(group),
        source_records=sum(partition.findings.source_records for partition in group),
        destination_records=sum(partition.findings.destination_records for partition in group),
        counts=_sum(partition.findings for partition in group),
        cluster=cluster,
        skipped=sum(partition.findings.skipped for partition in group),
        quarantined=sum(partition.findings.quarantined for partition in group),
        lost=sum(partition.findings.lost for partition in group),
    )
