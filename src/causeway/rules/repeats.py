"""Which failures are caused by a record: the same failure at the same offset, attempt after attempt.

Without a verdict, such a record would make its shard retry for ever, and block all partitions of the shard.
Outages are never counted: only failures that a retry cannot be expected to fix.
"""

from __future__ import annotations

from dataclasses import dataclass

from causeway.core.position import SourcePartition
from causeway.rules.integrity import Finding

ATTEMPTS = 5
"""A failure at one offset becomes a verdict when this many attempts in a row ended with it."""


@dataclass(frozen=True, slots=True)
class RecordFailure:
    """An attempt failed because of one record."""

    source: SourcePartition
    offset: int
    kind: str  # failures of one kind at one offset are the same failure
    finding: Finding  # what is reported when the record gets its verdict
    certain: bool = False  # no retry can help: the first failure is enough


@dataclass(frozen=True, slots=True)
class Repeated:
    """Where a partition failed last, how, and how many attempts in a row."""

    offset: int
    kind: str  # "": a failure of an earlier slice, of any kind
    times: int


def repeated(before: Repeated | None, failure: RecordFailure) -> Repeated:
    """Count one more failure; another kind or another offset restarts the count."""
    if before is None or before.offset != failure.offset or before.kind not in ("", failure.kind):
        return Repeated(failure.offset, failure.kind, 1)
    return Repeated(failure.offset, failure.kind, before.times + 1)


def decided(failure: RecordFailure, count: Repeated) -> bool:
    """Whether the record gets its verdict now."""
    return failure.certain or count.times >= ATTEMPTS


def too_large_for_client(source: SourcePartition, offset: int, size: int, alias: str) -> RecordFailure:
    what = (
        f"the client rejects the record at {source} offset {offset} ({size:,} bytes):"
        f" it is larger than the client property message.max.bytes of cluster {alias}"
    )
    todo = (
        f"raise message.max.bytes under [clusters.{alias}], or remove it: the topic's own limit holds anyway;"
        ' on_poison = "quarantine" quarantines such records'
    )
    return RecordFailure(source, offset, "client", Finding("poison", what, todo, offset), certain=True)


def too_large_for_queue(source: SourcePartition, offset: int, size: int, queue: int) -> RecordFailure:
    what = (
        f"the record at {source} offset {offset} ({size:,} bytes) does not fit into queue_bytes ({queue:,})"
    )
    todo = "raise queue_bytes above its size, and start again"
    return RecordFailure(source, offset, "queue", Finding("poison", what, todo, offset), certain=True)


def raised(source: SourcePartition, offset: int, error: BaseException) -> RecordFailure:
    kind = type(error).__name__
    what = f"the record at {source} offset {offset} cannot be replicated: {kind}: {error}"
    todo = 'report this error; on_poison = "quarantine" quarantines such records'
    return RecordFailure(source, offset, kind, Finding("poison", what, todo, offset))


def rejected(source: SourcePartition, offset: int, topic: str, code: int, why: str) -> RecordFailure:
    """Rejected by a broker, for a reason that may not be the record itself: it is not quarantined."""
    what = f"the destination rejects the record at {source} offset {offset} at every attempt: {why}"
    todo = f"find out why topic {topic} rejects it; it is retried in every slice"
    return RecordFailure(source, offset, f"broker {code}", Finding("refused", what, todo, offset))
