"""What `adopt` found and wrote: where each source partition continues, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.core.handoff import CountRange
from causeway.core.route import BY_KEY


@dataclass(frozen=True, slots=True)
class PartitionHandoff:
    """Where a source partition continues. Without an `offset` it cannot be taken over as it is."""

    cluster: str  # the id of the source
    topic: str
    partition: int
    to_topic: str
    to_partition: int  # BY_KEY if the record's key chooses
    hint: str  # where the search began: text that names its origin
    hint_offset: int
    offset: int | None  # the first offset that the mirror replicates
    verdict: str
    what: str
    todo: str
    compared: int  # records of the destination
    unchecked: bool  # nothing was found, and the hint is used as it is
    twice: CountRange  # records that will be duplicated
    lost: CountRange  # records that will be skipped although the destination does not have them

    @property
    def source(self) -> str:
        return f"{self.topic}[{self.partition}]"

    @property
    def place(self) -> str:
        return (
            f"{self.to_topic} by key"
            if self.to_partition == BY_KEY
            else f"{self.to_topic}[{self.to_partition}]"
        )


@dataclass(frozen=True, slots=True)
class MirrorHandoffs:
    mirror: str
    sources: tuple[str, ...]
    destination: str
    partitions: tuple[PartitionHandoff, ...]
    empty_topics: tuple[str, ...]  # nothing to adopt there: `run` begins with them by itself
    window_to_try: int = 0  # a larger window that would decide what this one did not; 0 if none would

    @property
    def refused(self) -> tuple[PartitionHandoff, ...]:
        """Partitions that cannot be taken over as they are."""
        return tuple(one for one in self.partitions if one.offset is None)


@dataclass(frozen=True, slots=True)
class ComparedNode:
    """A node of a pool, compared with the node that was replicated: the last records before the positions."""

    name: str
    records: int  # that are equal
    partitions: int  # of which records are equal
    differences: tuple[str, ...]  # why it cannot be a node of the pool


@dataclass(frozen=True, slots=True)
class PoolAdoptionReport:
    """A mirror of one cluster that becomes a mirror of a pool."""

    mirror: str
    pool: str
    first: str  # the node that was replicated
    positions: int  # partitions with a position
    nodes: tuple[ComparedNode, ...]  # the others

    @property
    def refused(self) -> tuple[ComparedNode, ...]:
        """Nodes that cannot be in the pool."""
        return tuple(node for node in self.nodes if node.differences)


@dataclass(frozen=True, slots=True)
class AdoptReport:
    mirrors: tuple[MirrorHandoffs, ...]
    written: bool  # whether the positions are in the ledgers now
    pools: tuple[PoolAdoptionReport, ...] = ()  # with the origin "pool"

    @property
    def partitions(self) -> tuple[PartitionHandoff, ...]:
        return tuple(partition for mirror in self.mirrors for partition in mirror.partitions)

    @property
    def refused(self) -> tuple[PartitionHandoff, ...]:
        return tuple(partition for mirror in self.mirrors for partition in mirror.refused)

    @property
    def twice(self) -> CountRange:
        """How many records will be duplicated."""
        return sum((partition.twice for partition in self.partitions), CountRange())

    @property
    def lost(self) -> CountRange:
        """How many records will be lost."""
        return sum((partition.lost for partition in self.partitions), CountRange())
