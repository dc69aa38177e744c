"""The ledger's records: their fields, their keys, their encoding as versioned JSON.

Partition 0 is the control partition, written only by the holder of the lease (the driver, or an operator's
command): lease, heartbeat, generation, cut, paused, created topics, adoptions, route claims.
Partitions 1…n belong to one shard each: positions, heartbeats, events, verdicts, gaps, hidden records.
The topic is compacted, so each key keeps its newest record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from causeway.core.position import Position, SourcePartition
from causeway.core.route import ClusterTopic

VERSION = 1
CONTROL = 0
TEXT_BYTES = 2_048
EVENTS_KEPT = 32
"""Events rotate through this many keys for each shard, so compaction keeps the latest."""


class UnknownRecord(ValueError):
    """A ledger record of a kind or version this program does not know."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The instance that may issue orders. The highest number is in force; it never decreases."""

    kind: ClassVar[str] = "lease"
    number: int
    instance: str
    host: str
    pid: int
    at: int
    ledger_id: str = ""  # the topic id of the ledger itself: a different id means that this ledger is a copy

    def key(self) -> str:
        return self.kind


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "carrying", tuple(self.carrying))  # JSON has only lists

    def key(self) -> str:
        return f"{self.kind}|{self.shard}"


@dataclass(frozen=True, slots=True)
class Generation:
    """The sharding in force: written in one transaction with all positions, moved to their shards."""

    kind: ClassVar[str] = "generation"
    number: int
    shards: int
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Cut:
    """Every task of this lease, up to this slice, ends after its current transaction."""

    kind: ClassVar[str] = "cut"
    lease: int
    slice: int
    reason: str
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Paused:
    """An operator paused the mirror; with an empty `by`, resumed it. Survives restarts."""

    kind: ClassVar[str] = "paused"
    by: str
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A destination topic that Causeway created, so that it may also add partitions to it."""

    kind: ClassVar[str] = "topic"
    topic: str
    topic_id: str
    at: int

    def key(self) -> str:
        return f"{self.kind}|{self.topic}"


@dataclass(frozen=True, slots=True)
class RouteClaim:
    """This mirror replicates a source topic to a destination topic; with an empty `to_topic`, no longer.

    Other mirrors read it before they start the same route (planning/rules/route_conflicts.py).
    """

    kind: ClassVar[str] = "claim"
    cluster: str
    topic: str
    to_topic: str
    to_topic_id: str
    provenance: bool  # whether records are marked with their origin, and not replicated back to it
    settled: bool  # the other ledgers were read after the claim was committed, and none has the route
    at: int
    later: bool = False  # the topic appeared while the mirror ran: it starts at earliest, despite `start`

    @property
    def source(self) -> ClusterTopic:
        return ClusterTopic(self.cluster, self.topic)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}"


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
class Adopted:
    """Topics that were taken over from another tool: by whom, from which hint, and what was accepted.

    Written in one transaction with the first positions; in several parts if there are many, since a record
    must stay below the brokers' limit.
    """

    kind: ClassVar[str] = "adopted"
    lease: int
    by: str
    hint: str  # what the operator started from: a group, the destination's ends, a timestamp
    accepted: str  # "repeat" or "lose", if handoffs were not clean
    unchecked: dict[str, int]  # partitions whose hint was used without a check
    topics: dict[str, str]  # source topic → where its partitions start
    ends: dict[str, int]  # destination partition → where the old tool's records end
    at: int
    part: int = 0

    def key(self) -> str:
        return f"{self.kind}|{self.lease}{f'|{self.part}' if self.part else ''}"


LedgerRecord = (
    Lease | Heartbeat | Generation | Cut | Paused | CreatedTopic | RouteClaim | Event
    | Stopped | Gap | Hidden | Adopted | Position
)  # fmt: skip

_KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        Lease,
        Heartbeat,
        Generation,
        Cut,
        Paused,
        CreatedTopic,
        RouteClaim,
        Event,
        Stopped,
        Gap,
        Hidden,
        Adopted,
    )
}

_WITH_TEXTS = (Event, Stopped, Gap, Cut)
_TEXTS = ("what", "todo", "why", "reason")


def shortened(text: str) -> str:
    """The text, cut to at most TEXT_BYTES bytes of JSON: the ledger rejects a record that is too large."""
    if len(text) * 12 <= TEXT_BYTES or len(json.dumps(text)) <= TEXT_BYTES:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(json.dumps(text[:middle])) < TEXT_BYTES - 20 else (low, middle - 1)
    return f"{text[:low]}… (cut)"


def encode(record: LedgerRecord) -> tuple[bytes, bytes]:
    """A record as key and value."""
    if isinstance(record, Position):
        source = record.source
        key = f"position|{source.cluster}|{source.topic}|{source.partition}"
        body = {"v": VERSION, "kind": "position", **record.to_json()}
    else:
        key = record.key()
        body = {"v": VERSION, "kind": record.kind, **asdict(record)}
        if isinstance(record, _WITH_TEXTS):
            body |= {name: shortened(body[name]) for name in _TEXTS if name in body}
    return key.encode(), json.dumps(body, separators=(",", ":")).encode()


def decode(value: bytes) -> LedgerRecord:
    """The record in a ledger message's value.

    Raises UnknownRecord: a ledger that a newer Causeway wrote must not be understood only in part.
    """
    try:
        body = json.loads(value)
        version, kind = body.pop("v"), body.pop("kind")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise UnknownRecord(f"not a ledger record: {value[:80]!r}") from error
    if version != VERSION:
        raise UnknownRecord(f"ledger record of version {version}, this Causeway knows {VERSION}")
    try:
        if kind == "position":
            return Position.from_json(body)
        known = {field.name for field in fields(_KINDS[kind])}
        record: LedgerRecord = _KINDS[kind](**{name: body[name] for name in body if name in known})
    except (KeyError, TypeError, ValueError) as error:
        raise UnknownRecord(f"ledger record of kind {kind!r} that cannot be understood: {error!r}") from error
    return record
