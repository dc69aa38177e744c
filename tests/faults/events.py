"""The events of a history: from the workload, from readers of both sides, from the harness.

They do not depend on Causeway: ledger positions, map and verdicts are optional, and other tools have none.
Times are milliseconds of the harness's own monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from faults.content import Content

Side = Literal["source", "destination"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the checker holds this run to."""

    delivery: Literal["exactly-once", "at-least-once"] = "exactly-once"
    replay: int = 0  # at-least-once: records that one crash may repeat, for each partition
    recovery_ms: int = 0  # from a fault's end to zero lag; 0: no limit


@dataclass(frozen=True, slots=True)
class Route:
    topic: str
    to: str
    placement: Literal["same", "key"] = "same"
    compacted: bool = False
    starts: tuple[tuple[int, int], ...] = ()  # partition, first offset to replicate; 0 where not named


@dataclass(frozen=True, slots=True)
class Sent:
    """A record was given to a producer. DeliveryReport and TransactionEnded tell its outcome."""

    at: int
    token: str
    topic: str
    partition: int
    content: Content
    transaction: str = ""  # "" for a plain record
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    at: int
    token: str
    outcome: Literal["ok", "failed", "unknown"]
    offset: int = -1
    why: str = ""


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """A transaction's end as its producer knows it."""

    at: int
    transaction: str
    outcome: Literal["committed", "aborted", "unknown"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A record that an independent reader found, read_committed."""

    at: int
    side: Side
    topic: str
    partition: int
    offset: int
    token: str
    content: Content
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Drained:
    """A reader has read a partition between two offsets: what it did not see is not there."""

    at: int
    began: int
    side: Side
    topic: str
    partition: int
    start: int
    end: int
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class LedgerPosition:
    """What the mirror's ledger said about a source partition."""

    at: int
    topic: str
    partition: int
    start: int
    offset: int
    delivered: int
    filtered: int = 0
    quarantined: int = 0
    holes: int = 0
    gone: int = 0  # skipped, in a declared gap
    to: str = ""
    to_partition: int = -1
    to_end: int = -1
    writer: str = ""  # who wrote it: a lease, an instance; "" if unknown
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A run of the offset map."""

    at: int
    topic: str
    partition: int
    source: int
    to: str
    to_partition: int
    destination: int
    length: int
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Translated:
    """A consumer group's position, and what it became on the other side."""

    at: int
    group: str
    topic: str
    partition: int
    offset: int
    to: str
    to_partition: int
    to_offset: int
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The mirror reported that a partition cannot continue as it is: offsets [expected, found) are missing.

    `topic_id` is the topic that was being replicated. -1: no offset was reported.
    """

    at: int
    verdict: str  # gap · truncated · recreated · deleted · corrupt · destination-… · poison · filter
    topic: str
    partition: int
    expected: int = -1
    found: int = -1
    action: Literal["stop", "continue", "quarantine"] = "stop"
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    at: int
    name: str
    until: int = -1  # when it was over; -1: never
    crash: bool = False  # a process that replicates died or was fenced
    flow: str = ""  # the one flow it concerns; "" for all


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of the data itself. `offset` is the log's new start (removed) or end (truncated)."""

    at: int
    kind: Literal["removed", "truncated", "recreated", "deleted", "poison"]
    side: Side
    topic: str
    partition: int
    offset: int = -1
    topic_id: str = ""  # of the topic before


@dataclass(frozen=True, slots=True)
class Lag:
    """Records not yet replicated, and acknowledged ones not yet seen on the destination."""

    at: int
    lag: int
    unseen: int = -1
    flow: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    at: int
    process: str
    memory: int
    files: int
    threads: int


@dataclass(frozen=True, slots=True)
class Topics:
    at: int
    side: Side
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scanned:
    """Some output was searched for secrets; `found` names those that it shows (never their values)."""

    at: int
    where: str
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """A command that establishes a state, and how many changes it made."""

    at: int
    command: str
    changes: int


@dataclass(frozen=True, slots=True)
class Exited:
    at: int
    command: str
    code: int


KINDS: tuple[type[Any], ...] = (
    Terms, Route, Sent, DeliveryReport, TransactionEnded, Seen, Drained, LedgerPosition, Mapped, Translated,
    Verdict, Fault, Damage, Lag, Usage, Topics, Scanned, Applied, Exited,
)  # fmt: skip
