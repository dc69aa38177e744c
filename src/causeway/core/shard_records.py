"""Records of a shard's ledger partition, besides its positions (`position.py`).

`ledger_record.py` encodes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from causeway.core.position import SourcePartition
from causeway.core.schema import Part, SchemaId, SchemaUse

NodeRequestOutcome = Literal["moved", "unchanged", "refused"]

EVENTS_KEPT = 32
"""Events rotate through this many keys for each shard, so compaction keeps the latest."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Liveness of the driver (shard 0) or of a shard."""

    kind: ClassVar[str] = "heartbeat"
    shard: int
    lease: int
    slice: int
    at: int
    host: str
    pid: int
    carrier: str = ""  # the shard's carrier, and why it is not the native one
    # What the shard did in this slice so far.
    transactions: int = 0
    transaction_ms: int = 0  # from the first record to the commit's response, summed
    transaction_records: int = 0
    retries: int = 0  # attempts that were restarted
    group_commits: int = 0
    carrying: Sequence[int] = ()  # record counts by time from fetch to commit, in buckets
    carrying_ms: int = 0
    ended: bool = False  # the last heartbeat of its slice
    age_ms: int = 0  # age of the shard's task
    nodes: dict[str, str] = field(default_factory=dict)  # the node that each source pool is read from

    def __post_init__(self) -> None:
        object.__setattr__(self, "carrying", tuple(self.carrying))  # JSON has only lists

    def key(self) -> str:
        return f"{self.kind}|{self.shard}"


@dataclass(frozen=True, slots=True)
class Event:
    """An event in a shard that operators should know of."""

    kind: ClassVar[str] = "event"
    shard: int
    number: int
    at: int
    level: str
    what: str
    uncommitted: bool = False  # the shard could not commit, and wrote this outside a transaction

    def key(self) -> str:
        return f"{self.kind}|{self.shard}|{self.number % EVENTS_KEPT}"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A stopped partition, and why; with an empty verdict, a partition that resumed."""

    kind: ClassVar[str] = "stopped"
    cluster: str
    topic: str
    partition: int
    verdict: str
    what: str
    todo: str
    at: int
    expected: int = -1  # the next offset to replicate; -1 if offsets are not the cause
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets between them that no longer exist
    topic_id: str = ""  # of the topic that was being replicated
    lease: int = 0  # of the run that found it

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}|{self.partition}"


@dataclass(frozen=True, slots=True)
class Gap:
    """A position that moved without replicating: by which policy or operator, from where to where.

    Kept for ever. Written in one transaction with the new position. If the topic was recreated, `end` is an
    offset of the new topic.
    """

    kind: ClassVar[str] = "gap"
    cluster: str
    topic: str
    partition: int
    topic_id: str  # of the topic that was being replicated
    begin: int  # the next offset to replicate, before the move
    to_topic_id: str
    end: int  # the next offset to replicate, after the move
    verdict: str  # what was found: gap, recreated, …; "skip" for an operator's choice
    by: str  # the policy, or the operator
    why: str
    at: int

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    @property
    def skipped(self) -> int:
        """Skipped offsets; negative for a move back, 0 if the topic was recreated."""
        return self.end - self.begin if self.topic_id == self.to_topic_id else 0

    def key(self) -> str:
        return (
            f"{self.kind}|{self.cluster}|{self.topic}|{self.partition}|{self.topic_id}|{self.begin}|{self.at}"
        )


@dataclass(frozen=True, slots=True)
class Hidden:
    """Records that count as replicated, but lie in a hanging transaction; with `end` -1, no longer.

    The next transaction that ends under the shard's transactional id in that partition decides whether they
    are committed or aborted. So this is written before that; and when no transaction is open there any more,
    a task checks whether the records can be read.
    """

    kind: ClassVar[str] = "hidden"
    to_topic: str
    to_partition: int
    end: int  # the destination offset after the last of them
    cluster: str  # the source of that last record
    topic: str
    partition: int
    offset: int  # the next offset to replicate, after it
    at: int

    @property
    def spot(self) -> tuple[str, int]:
        return self.to_topic, self.to_partition

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    def key(self) -> str:
        return f"{self.kind}|{self.to_topic}|{self.to_partition}"


@dataclass(frozen=True, slots=True)
class NeededSchemas:
    """The record at this offset names schemas that the ledger does not map: its partition waits for them."""

    kind: ClassVar[str] = "schemas-needed"
    cluster: str
    topic: str
    partition: int
    offset: int
    schemas: tuple[tuple[Part, SchemaId], ...]
    at: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "schemas", tuple((part, named) for part, named in self.schemas))

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    @property
    def uses(self) -> list[SchemaUse]:
        return [SchemaUse(self.cluster, self.topic, part, named) for part, named in self.schemas]

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}|{self.partition}"


@dataclass(frozen=True, slots=True)
class NodeMoved:
    """A shard reads a source pool from another node; with an empty `to`, no node can be read from.

    Written again with the pause when it is known. The newest of each shard and pool is kept.
    """

    kind: ClassVar[str] = "node-moved"
    shard: int
    pool: str
    left: str  # empty if no node could be read from before
    to: str
    reason: str  # a pool_health.DecisionKind
    what: str  # the reason, for an operator
    at: int
    pause_ms: int = -1  # from the last commit with records before to the first one after; -1: not known yet

    def key(self) -> str:
        return f"{self.kind}|{self.shard}|{self.pool}"


@dataclass(frozen=True, slots=True)
class NodeRequestDone:
    """A shard executed an operator's request for a node (`control_records.NodeRequest`), or refused it."""

    kind: ClassVar[str] = "node-request-done"
    shard: int
    pool: str
    request: int  # the time of the request
    outcome: NodeRequestOutcome
    node: str  # the one that is read from now
    what: str  # for an operator
    at: int

    def key(self) -> str:
        return f"{self.kind}|{self.shard}|{self.pool}"
