"""The snapshot: everything that is displayed or exported about the mirrors of a process, at one moment.

The driver makes a new one twice a second from the ledger, the source's log ends and its own state. The page,
the API, the metrics and `causeway status` read nothing else. Counts come from the ledger, so they continue
across restarts and never run ahead of a commit. Times are milliseconds since 1970, -1 if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from causeway.core.plan import Unmatched
from causeway.core.pool_snapshot import SourcePoolView
from causeway.core.position import NO_LATENCY

EventLevel = Literal["info", "warning", "error"]
State = Literal["starting", "running", "waiting", "paused", "done", "stopped", "failed"]
ENDED: tuple[State, ...] = ("done", "stopped", "failed")
"""States of mirrors that a process still displays, but no longer runs."""
UNROUTABLE = "unroutable"
"""The verdict of a partition that the plan refuses: it has no place, or none that accepts it as it is."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A source partition and its place. `lag_seconds`: how long the oldest record has been waiting.

    Position, counts, log end and lag are of one moment, up to a second ago.
    """

    cluster: str  # alias of the source
    topic: str
    partition: int
    to_topic: str
    to_partition: int  # BY_KEY if the record's key chooses
    shard: int
    start: int  # the offset the mirror began with, -1 before it began
    position: int  # the next offset to replicate, -1 before there is one
    log_start: int
    log_end: int  # as a read_committed consumer sees it
    to_end: int  # the destination offset after the last replicated record, -1 before the first
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
    lag_older: bool = False  # some of the lag was there before this process started, and may be older
    verdict: str = ""  # why it is stopped: gap, truncated, recreated, deleted, corrupt, poison …
    what: str = ""
    todo: str = ""
    expected: int = -1  # the next offset to replicate, if it is stopped; -1 if offsets are not the cause
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets that no longer exist, as far as they can be counted
    waits_for: str = ""  # the schemas that its next record names and the destination lacks, and why


@dataclass(frozen=True, slots=True)
class ShardView:
    """A shard's task. Counts start at 0 with this process."""

    number: int
    host: str
    pid: int
    carrier: str
    slice: int
    heartbeat_at: int
    partitions: int
    transactions: int = 0
    transaction_seconds: float = 0.0  # from the first record to the commit, summed over all transactions
    transaction_records: int = 0
    retries: int = 0  # attempts that were restarted
    fences: int = 0


@dataclass(frozen=True, slots=True)
class EventView:
    """An event to display. `todo` is empty if there is nothing to do."""

    at: int
    level: EventLevel
    what: str
    todo: str = ""
    shard: int = 0  # 0: the driver
    topic: str = ""
    partition: int = -1
    offset: int = -1
    # For a partition that stopped, as in PartitionView; -1 for any other event.
    expected: int = -1
    found: int = -1
    gone: int = -1


@dataclass(frozen=True, slots=True)
class GapView:
    """A position that moved without replicating, and by which policy or operator; kept for ever."""

    at: int
    cluster: str
    topic: str
    partition: int
    verdict: str
    begin: int
    end: int
    by: str
    text: str
    why: str
    skipped: int  # skipped offsets; negative for a move back, 0 if the topic was recreated


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
    events: tuple[EventView, ...]  # latest first
    gaps: tuple[GapView, ...]
    records_per_second: float = 0.0
    bytes_per_second: float = 0.0
    latency: tuple[int, ...] = NO_LATENCY  # record timestamp to commit, by the bounds of core.position
    latency_seconds: float = 0.0  # their sum
    carrying: tuple[int, ...] = NO_LATENCY  # fetch to commit
    carrying_seconds: float = 0.0
    slices: int = 0
    failed_slices: int = 0
    group_commits: int = 0
    waiting_for: str = ""  # the cluster that does not respond, or the pool of which no node can be read
    waiting_why: str = ""  # if it responds: how it refuses this mirror; of a pool, why no node can be read
    waiting_todo: str = ""  # and what to do about it
    blocked: str = ""  # why the destination rejects records although it responds
    blocked_todo: str = ""
    paused_by: str = ""
    unmatched: tuple[Unmatched, ...] = ()  # entries of `topics` that select nothing
    pools: tuple[SourcePoolView, ...] = ()  # source pools, by name
    configuration: str = ""  # the effective configuration as TOML, without secrets

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
    def stopped_partitions(self) -> tuple[PartitionView, ...]:
        """Partitions that are stopped until an operator acts."""
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
