"""The mirror's progress and speed, read from its ledger, which any client may read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import LedgerRecord
from causeway.core.position import Position, SourcePartition, Tally
from causeway.core.task_order import ledger_topic
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import LedgerReader
from causeway.reporting.pace import time_left

RATE_MS = 2_000


class Commit(NamedTuple):
    """What one transaction replicated of one partition."""

    at: int  # milliseconds
    records: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Speed:
    records: int  # replicated between the first and the last commit, without the first commit's own
    bytes: int
    seconds: float

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0


class LedgerWatch:
    """Follows a mirror's ledger; may start before the ledger exists."""

    def __init__(self, destination: Cluster, mirror: str) -> None:
        self.records = 0
        self.bytes = 0
        self.commits: list[Commit] = []
        self._destination = destination
        self._mirror = mirror
        self._view = ClusterView(destination)
        self._reader: LedgerReader | None = None
        self._positions: dict[SourcePartition, Position] = {}

    def poll(self, seconds: float) -> None:
        """Read new commits; wait at most this long for the first one."""
        if self._reader is None:
            facts = self._view.describe([ledger_topic(self._mirror)])
            if not facts:
                time.sleep(seconds)
                return
            partitions = range(facts[ledger_topic(self._mirror)].partitions)
            self._reader = LedgerReader(self._destination, self._mirror, partitions)
        self.hear(self._reader.poll(seconds))

    def hear(self, records: Iterable[LedgerRecord]) -> None:
        for record in records:
            if isinstance(record, Position):
                known = self._positions.get(record.source)
                before = known.tally if known else Tally()
                commit = Commit(
                    record.at,
                    record.tally.delivered - before.delivered,
                    record.tally.bytes - before.bytes,
                )
                self._positions[record.source] = record
                if commit.records:
                    self.commits.append(commit)
                    self.records += commit.records
                    self.bytes += commit.bytes

    def nodes(self) -> Counter[str]:
        """How many shards read from each node of a source pool, by their heartbeats."""
        beats = self._reader.state.heartbeats.values() if self._reader is not None else ()
        return Counter(node for beat in beats for node in beat.nodes.values())

    def rate(self) -> float:
        """Records per second over the last RATE_MS."""
        since = time.time_ns() // 1_000_000 - RATE_MS
        recent = takewhile(lambda commit: commit.at > since, reversed(self.commits))
        return sum(commit.records for commit in recent) * 1000 / RATE_MS

    def reached(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Whether every partition has been replicated up to these offsets."""
        offsets = {(source.topic, source.partition): p.offset for source, p in self._positions.items()}
        return all(offsets.get(partition, 0) >= end for partition, end in ends.items())

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


def progress_text(records: int, goal: int, rate: float) -> str:
    """Progress towards a goal, if there is one, and the time it still takes."""
    left = f", {time_left((goal - records) / rate)}" if records < goal and rate > 0 else ""
    return f"{records:,} {f'of {goal:,} ' if goal else ''}replicated, {rate:,.0f} records/s{left}"


def speed(commits: Iterable[Commit]) -> Speed:
    """From the first commit to the last; the first commit's records were replicated before it."""
    known = list(commits)
    if not known:
        return Speed(0, 0, 0.0)
    first, last = min(commit.at for commit in known), max(commit.at for commit in known)
    after = [commit for commit in known if commit.at > first]
    return Speed(
        sum(commit.records for commit in after), sum(commit.bytes for commit in after), (last - first) / 1000
    )
