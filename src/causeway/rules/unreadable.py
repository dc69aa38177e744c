"""Verdicts on a source log that cannot be read at the position."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.core.position import SourcePartition
from causeway.rules.integrity import Finding

LOOKS = 3
"""Fetch an unreadable batch this many times: bits may flip on the network as well as on a disk."""


@dataclass(frozen=True, slots=True)
class UnreadableLog:
    """Where a log could not be read: the next offset to replicate, failures in a row, the client's error."""

    offset: int
    times: int
    why: str


def unread(before: UnreadableLog | None, offset: int, why: str) -> UnreadableLog:
    """One more failure to read a log; failures at another offset do not count."""
    times = before.times if before is not None and before.offset == offset else 0
    return UnreadableLog(offset, times + 1, why)


def corrupt(
    source: SourcePartition, expected: int, unreadable: UnreadableLog | None, *, known: bool
) -> Finding | None:
    """What the source holds at the position cannot be read, however often it is fetched.

    `known`: the partition stopped for that before, so one more failure is enough. Continuing automatically
    would skip a whole batch of an unknown number of records: that number is part of what is damaged.
    """
    if unreadable is None or unreadable.offset != expected or unreadable.times < (1 if known else LOOKS):
        return None
    return Finding(
        "corrupt",
        f"{source} cannot be read at offset {expected}, which is next to replicate ({unreadable.why}):"
        " the source's log is damaged there",
        "restore the partition from an intact replica, and start again; or find where the batch ends"
        " (`kafka-dump-log.sh`), and continue without it: `causeway offsets skip --to` the offset after it",
        expected,
    )
