"""The ledger's records: what is written, under which key, as versioned JSON.

Partition 0 is control, written by the driver alone: lease, heartbeat, generation, cut, whether it is paused,
created topics, what was adopted, which routes are claimed.
Partitions 1…n belong to one shard each: positions, heartbeats, events, verdicts, gaps, what is hidden.
The topic is compacted, so a key holds the newest of its kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from causeway.model.position import Position, SourcePartition
from causeway.model.route import Spot

VERSION = 1
CONTROL = 0
TEXT_BYTES = 2_048
EVENTS_KEPT = 32
"""Events rotate through so many keys for each shard, so compaction keeps the latest."""


class UnknownRecord(ValueError):
    """A ledger record of a kind or version this program does not know."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may order work. The highest number rules; it never goes back."""

    kind: ClassVar[str] = "lease"
    number: int
    instance: str
    host: str
    pid: int
    at: int
    ledger_id: str = ""  # the topic id of the ledger itself: another one tells that this is a copy

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life: of the driver (shard 0) or of a shard."""

    kind: ClassVar[str] = "heartbeat"
    shard: int
    lease: int
    slice: int
    at: int
    host: str
    pid: int
    carrier: str = ""  # what carries a shard's records, and why not the native one
    # What the shard did in this slice so far.
    transactions: int = 0
    transaction_ms: int = 0  # from the first record to the commit's answer, of all together
    transaction_records: int = 0
    retries: int = 0  # attempts that began anew
    group_commits: int = 0
    carrying: Sequence[int] = ()  # records by the time from their fetch to their commit
    carrying_ms: int = 0
    ended: bool = False  # the last one of its slice
    age_ms: int = 0  # of the shard's task

    def __post_init__(self) -> None:
        object.__setattr__(self, "carrying", tuple(self.carrying))  # JSON knows lists alone

    def key(self) -> str:
        return f"{self.kind}|{self.shard}"


@dataclass(frozen=True, slots=True)
class Generation:
    """The sharding in force: written in one transaction with the positions it rests on."""

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
    """Somebody wants the mirror to stand still; or, by nobody, to go on. Holds over restarts."""

    kind: ClassVar[str] = "paused"
    by: str
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A destination topic that Causeway created, so that it may also grow it."""

    kind: ClassVar[str] = "topic"
    topic: str
    topic_id: str
    at: int

    def key(self) -> str:
        return f"{self.kind}|{self.topic}"


@dataclass(frozen=True, slots=True)
class RouteClaim:
    """This mirror replicates that source topic to this destination topic; or, without one, no longer.

    Other mirrors read it before they begin with the same route (policy/rivals.py).
    """

    kind: ClassVar[str] = "claim"
    cluster: str
    topic: str
    to_topic: str
    to_topic_id: str
    provenance: bool  # whether records are marked with their origin, and do not go back there
    settled: bool  # the other ledgers were read after the claim was committed, and none has the route
    at: int
    later: bool = (
        False  # the topic appeared while the mirror ran: it begins at earliest, whatever `start` says
    )

    @property
    def source(self) -> Spot:
        return Spot(self.cluster, self.topic)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a shard and is worth reading."""

    kind: ClassVar[str] = "event"
    shard: int
    number: int
    at: int
    level: str
    what: str
    uncommitted: bool = False  # the shard could not commit anything, and wrote this outside of a transaction

    def key(self) -> str:
        return f"{self.kind}|{self.shard}|{self.number % EVENTS_KEPT}"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A partition that must not go on by itself, and why; or, with an empty verdict, that goes on again."""

    kind: ClassVar[str] = "stopped"
    cluster: str
    topic: str
    partition: int
    verdict: str
    what: str
    todo: str
    at: int
    expected: int = -1  # the next offset to carry; -1 where it is not the matter
    found: int = -1  # the offset that was found instead
    gone: int = 0  # offsets between them that cannot be had any more
    topic_id: str = ""  # of the topic that was being carried
    lease: int = 0  # of the run that found it

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}|{self.partition}"


@dataclass(frozen=True, slots=True)
class Gap:
    """A position that moved without carrying: by whose word, from where to where. Kept for ever.

    Written in one transaction with the position behind it. Where the topic is another one now, `end` is an
    offset of that one.
    """

    kind: ClassVar[str] = "gap"
    cluster: str
    topic: str
    partition: int
    topic_id: str  # of the topic that was being carried
    begin: int  # the next offset to carry, before
    to_topic_id: str
    end: int  # the next offset to carry, from then on
    verdict: str  # what was found: gap, recreated, …; "skip" where somebody just wanted it
    by: str  # the policy, or who typed it
    why: str
    at: int

    @property
    def source(self) -> SourcePartition:
        return SourcePartition(self.cluster, self.topic, self.partition)

    @property
    def skipped(self) -> int:
        """Offsets passed over; negative for a move back, 0 where another topic began."""
        return self.end - self.begin if self.topic_id == self.to_topic_id else 0

    def key(self) -> str:
        return (
            f"{self.kind}|{self.cluster}|{self.topic}|{self.partition}|{self.topic_id}|{self.begin}|{self.at}"
        )


@dataclass(frozen=True, slots=True)
class Hidden:
    """Records that count as carried, but lie in a transaction that lost its end; or, with `end` -1, no more.

    Whatever ends under the shard's id there decides about them. So before that, this is written; and when
    nothing is open there any more, somebody looks whether they can be read.
    """

    kind: ClassVar[str] = "hidden"
    to_topic: str
    to_partition: int
    end: int  # behind the last of them, at the destination
    cluster: str  # where that one came from
    topic: str
    partition: int
    offset: int  # the next offset to carry, behind it
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
    """Topics were taken over from another tool: by whom, from what hint, and what was accepted.

    Written in one transaction with the first positions; in several parts where these are many, since a record
    must stay below the brokers' limit.
    """

    kind: ClassVar[str] = "adopted"
    lease: int
    by: str
    hint: str  # what the operator began with: a group, the destination's ends, a timestamp
    accepted: str  # "repeat" or "lose", where seams were not clean
    unchecked: dict[str, int]  # partitions whose hint was taken as it was
    topics: dict[str, str]  # source topic → where its partitions begin
    ends: dict[str, int]  # destination partition → where the old tool's records end
    at: int
    part: int = 0

    def key(self) -> str:
        return f"{self.kind}|{self.lease}{f'|{self.part}' if self.part else ''}"


Record = (
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
    """A text for people, of at most so many bytes in JSON: the ledger takes no record that is too large."""
    if len(text) * 12 <= TEXT_BYTES or len(json.dumps(text)) <= TEXT_BYTES:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(json.dumps(text[:middle])) < TEXT_BYTES - 20 else (low, middle - 1)
    return f"{text[:low]}… (cut)"


def encode(record: Record) -> tuple[bytes, bytes]:
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


def decode(value: bytes) -> Record:
    """The record in a ledger message's value.

    Raises UnknownRecord: a ledger that a newer Causeway wrote must not be half understood.
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
        record: Record = _KINDS[kind](**{name: body[name] for name in body if name in known})
    except (KeyError, TypeError, ValueError) as error:
        raise UnknownRecord(f"ledger record of kind {kind!r} that cannot be understood: {error!r}") from error
    return record
