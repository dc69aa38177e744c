"""Everything about the mirrors of a process that people and programs are shown, at one moment.

The driver makes a new one twice a second from the ledger, the source's ends and its own state; the page, the
API, the metrics and `causeway status` read nothing else. Counts are the ledger's, so they go on over restarts
and never run ahead of a commit. Times are milliseconds since 1970, -1 where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from causeway.model.plan import Unmatched
from causeway.model.position import NO_LATENCY

Level = Literal["info", "warning", "error"]
State = Literal["starting", "running", "waiting", "paused", "done", "stopped", "failed"]
ENDED: tuple[State, ...] = ("done", "stopped", "failed")
"""States of mirrors that a process still shows, and does not run any more."""
UNROUTABLE = "unroutable"
"""The verdict of a partition that the plan refuses: it has no place, or none that would take it as it is."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A source partition and its place. `lag_seconds`: how long the oldest record waits already.

    Position, counts, log end and lag are of one moment, up to a second ago.
    """

    cluster: str  # alias of the source
    topic: str
    partition: int
    to_topic: str
    to_partition: int  # BY_KEY where each record decides
    shard: int
    start: int  # the offset the mirror began with, -1 before it has
    position: int  # the next offset to carry, -1 before there is one
    log_start: int
    log_end: int  # what a read_committed reader sees
    to_end: int  # behind the last record carried, -1 before the first
    committed_at: int
    delivered: int = 0
    filtered: int = 0
    quarantined: int = 0
    holes: int = 0  # transaction markers, aborted and compacted records
    skipped: int = 0
    bytes: int = 0
    filtered_bytes: int = 0
    quarantined_bytes: int = 0
    lag_records: int = 0
    lag_bytes: int = 0
    lag_seconds: float = 0.0
    lag_older: bool = False  # some of it was there before this process started, and may be older
    verdict: str = ""  # why it stands still: gap, truncated, recreated, deleted, corrupt, poison …
    what: str = ""
    todo: str = ""
    expected: int = -1  # the next offset to carry, where it stands still; -1 where offsets are not the matter
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets that cannot be had any more, as far as they can be counted


@dataclass(frozen=True, slots=True)
class ShardView:
    """A shard's task. Counts are of this process, and begin anew with it."""

    number: int
    host: str
    pid: int
    carrier: str
    slice: int
    heartbeat_at: int
    partitions: int
    transactions: int = 0
    transaction_seconds: float = 0.0  # from the first record until it was committed, of all transactions
    transaction_records: int = 0
    retries: int = 0  # attempts that began anew
    fences: int = 0


@dataclass(frozen=True, slots=True)
class EventView:
    """A line worth reading. `todo` is empty where nobody has to do anything."""

    at: int
    level: Level
    what: str
    todo: str = ""
    shard: int = 0  # 0: the driver
    topic: str = ""
    partition: int = -1
    offset: int = -1
    # Of a partition that stops, as of PartitionView; -1 of any other event.
    expected: int = -1
    found: int = -1
    gone: int = -1


@dataclass(frozen=True, slots=True)
class GapView:
    """Offsets that were gone over, by whose word; kept for ever."""

    at: int
    cluster: str
    topic: str
    partition: int
    verdict: str
    begin: int
    end: int
    by: str
    told: str
    why: str
    skipped: int  # offsets passed over; negative for a move back, 0 where another topic began


@dataclass(frozen=True, slots=True)
class MirrorView:
    name: str
    state: State
    state_since: int
    sources: tuple[str, ...]
    destination: str
    delivery: str
    lease: int
    slice: int
    partitions: tuple[PartitionView, ...]
    shards: tuple[ShardView, ...]
    events: tuple[EventView, ...]  # the latest first
    gaps: tuple[GapView, ...]
    records_per_second: float = 0.0
    bytes_per_second: float = 0.0
    latency: tuple[int, ...] = NO_LATENCY  # record timestamp to commit, by the bounds of model.position
    latency_seconds: float = 0.0  # their sum
    carrying: tuple[int, ...] = NO_LATENCY  # fetch to commit
    carrying_seconds: float = 0.0
    slices: int = 0
    failed_slices: int = 0
    group_commits: int = 0
    waiting_for: str = ""  # the cluster that does not answer
    paused_by: str = ""
    unmatched: tuple[Unmatched, ...] = ()  # entries of `topics` that select nothing
    configuration: str = ""  # as it is in effect, without secrets; TOML

    @property
    def delivered(self) -> int:
        return sum(one.delivered for one in self.partitions)

    @property
    def lag_records(self) -> int:
        return sum(one.lag_records for one in self.partitions)

    @property
    def lag_seconds(self) -> float:
        return max((one.lag_seconds for one in self.partitions), default=0.0)

    @property
    def standing(self) -> tuple[PartitionView, ...]:
        """Partitions that stand still until somebody acts."""
        return tuple(one for one in self.partitions if one.verdict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    at: int
    version: str
    host: str
    pid: int
    started_at: int
    mirrors: tuple[MirrorView, ...]
    prepared: bool = False  # every mirror has its lease and its plan
