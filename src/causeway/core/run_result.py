"""What a run of mirrors did, once it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from causeway.core.snapshot import MirrorView, PartitionView, Snapshot, State


@dataclass(frozen=True, slots=True)
class MirrorResult:
    """What this run did for one mirror. The counts are this run's; those of a Snapshot are the ledger's."""

    name: str
    state: State  # done, stopped or failed
    records: int  # replicated
    bytes: int
    filtered: int
    quarantined: int
    skipped: int  # offsets that the mirror skipped, by a policy or on an operator's command
    lag_records: int  # what is left to replicate
    stopped: tuple[PartitionView, ...]  # partitions that are stopped until an operator acts


@dataclass(frozen=True, slots=True)
class RunResult:
    started_at: int  # milliseconds since 1970
    ended_at: int
    mirrors: tuple[MirrorResult, ...]

    @property
    def records(self) -> int:
        return sum(mirror.records for mirror in self.mirrors)

    @property
    def bytes(self) -> int:
        return sum(mirror.bytes for mirror in self.mirrors)

    @property
    def stopped(self) -> tuple[PartitionView, ...]:
        """Stopped partitions of all mirrors."""
        return tuple(partition for mirror in self.mirrors for partition in mirror.stopped)

    def __iter__(self) -> Iterator[MirrorResult]:
        return iter(self.mirrors)

    def __getitem__(self, name: str) -> MirrorResult:
        """The mirror of this name."""
        for mirror in self.mirrors:
            if mirror.name == name:
                return mirror
        raise KeyError(name)


def result_of(first: Snapshot, last: Snapshot, ended_at: int) -> RunResult:
    """What happened between the snapshot before the first slice and the one after the last."""
    before = {mirror.name: mirror for mirror in first.mirrors}
    return RunResult(
        started_at=last.started_at,
        ended_at=ended_at,
        mirrors=tuple(_mirror(before.get(mirror.name), mirror) for mirror in last.mirrors),
    )


def _mirror(first: MirrorView | None, last: MirrorView) -> MirrorResult:
    known = {_key(partition): partition for partition in first.partitions} if first else {}

    def added(count: str) -> int:
        return sum(
            max(0, getattr(partition, count) - getattr(known.get(_key(partition)), count, 0))
            for partition in last.partitions
        )

    return MirrorResult(
        name=last.name,
        state=last.state,
        records=added("delivered"),
        bytes=added("bytes"),
        filtered=added("filtered"),
        quarantined=added("quarantined"),
        skipped=added("skipped"),
        lag_records=last.lag_records,
        stopped=last.stopped_partitions,
    )


def _key(partition: PartitionView) -> tuple[str, str, int]:
    return partition.cluster, partition.topic, partition.partition
