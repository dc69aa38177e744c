"""What can be said about a run: by its workload, by readers of either side, by the harness.

Nothing here knows Causeway: books, map and verdicts are extra, and another tool's history lacks them.
Times are milliseconds of the harness's own monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from faults.content import Content

Side = Literal["source", "destination"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What was promised for this run."""

    delivery: Literal["exactly-once", "at-least-once"] = "exactly-once"
    replay: int = 0  # at-least-once: records that one crash may repeat, for each partition
    recovery_ms: int = 0  # from a fault's end to zero lag; 0 where nothing was promised


@dataclass(frozen=True, slots=True)
class Route:
    topic: str
    to: str
    placement: Literal["same", "key"] = "same"
    compacted: bool = False
    starts: tuple[tuple[int, int], ...] = ()  # partition, first offset to replicate; 0 where not named


@dataclass(frozen=True, slots=True)
class Sent:
    """A record was given to a producer. DeliveryReport, and Ended for its transaction, tell its outcome."""

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
class Ended:
    """A transaction's end as its producer knows it."""

    at: int
    transaction: str
    outcome: Literal["committed", "aborted", "unknown"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A record that a reader of its own found, read_committed."""

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
    """A reader saw everything in a partition between two offsets: what it did not see is not there."""

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
    """What the mirror's own books said about a source partition."""

    at: int
    topic: str
    partition: int
    start: int
    offset: int
    delivered: int
    filtered: int = 0
    quarantined: int = 0
    holes: int = 0
    gone: int = 0  # given up in a declared gap
    to: str = ""
    to_partition: int = -1
    to_end: int = -1
    writer: str = ""  # who wrote it: a lease, an instance; "" where that is not known
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
    """The mirror said that a partition cannot simply go on: offsets [expected, found) are the matter.

    `topic_id` is the topic that was being replicated. -1 where an offset was not said.
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
    crash: bool = False  # a process that carries records died or was fenced
    flow: str = ""  # the one flow it concerns; "" for all


@dataclass(frozen=True, slots=True)
class Damage:
    """What was done to the data itself. `offset` is the log's new start (removed) or end (truncated)."""

    at: int
    kind: Literal["removed", "truncated", "recreated", "deleted", "poison"]
    side: Side
    topic: str
    partition: int
    offset: int = -1
    topic_id: str = ""  # of the topic before


@dataclass(frozen=True, slots=True)
class Lag:
    """Records that were not yet replicated, and acknowledged ones that were not yet seen over there."""

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
    """A command that brings about a state, and how much it had to change."""

    at: int
    command: str
    changes: int


@dataclass(frozen=True, slots=True)
class Exited:
    at: int
    command: str
    code: int


KINDS: tuple[type[Any], ...] = (
    Terms, Route, Sent, DeliveryReport, Ended, Seen, Drained, LedgerPosition, Mapped, Translated, Verdict,
    Fault, Damage, Lag, Usage, Topics, Scanned, Applied, Exited,
)  # fmt: skip
