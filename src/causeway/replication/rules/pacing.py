"""How large a transaction may grow. Pure.

Under light load a transaction is committed as soon as no more records wait; under heavy load it grows, since
each costs a few milliseconds whatever it holds. Three rules keep a slow link from failing the same
transaction for ever: every attempt starts small; it starts smaller still if the attempt before committed
nothing; and the size follows the measured speed of the flush, so that a flush stays well below the
transaction timeout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST_RECORDS = 1_000
FIRST_BYTES = 1024 * 1024
SMALLEST = 1


@dataclass(frozen=True, slots=True)
class Pace:
    """The limits in force now, and the upper limits."""

    records: int
    bytes: int
    max_records: int
    max_bytes: int
    max_seconds: float
    slow_seconds: float  # a flush that takes longer was too large

    def full(self, records: int, size: int, seconds: float) -> bool:
        return records >= self.records or size >= self.bytes or seconds >= self.max_seconds


def first_pace(
    max_records: int,
    max_bytes: int,
    max_seconds: float,
    transaction_timeout: float,
    fruitless: int = 0,
) -> Pace:
    """The limits that an attempt begins with, after `fruitless` attempts in a row that committed nothing.

    A megabyte is too much for a link of 70 kB/s and a timeout of 15 s: attempts that always began with the
    same size would fail there for ever, since what an attempt learns is lost when it fails.
    """
    smaller = 2 * fruitless
    return Pace(
        records=max(SMALLEST, min(FIRST_RECORDS, max_records) >> smaller),
        bytes=max(SMALLEST, min(FIRST_BYTES, max_bytes) >> smaller),
        max_records=max_records,
        max_bytes=max_bytes,
        max_seconds=max_seconds,
        slow_seconds=transaction_timeout / 4,
    )


def next_pace(pace: Pace, records: int, size: int, flush_seconds: float) -> Pace:
    """The limits for the next transaction, after one of this size took `flush_seconds` to flush."""
    if flush_seconds > pace.slow_seconds:
        return replace(
            pace,
            records=max(SMALLEST, min(pace.records, records) // 2),
            bytes=max(SMALLEST, min(pace.bytes, size) // 2),
        )
    if flush_seconds > pace.slow_seconds / 2:
        return pace
    return replace(
        pace,
        records=min(pace.max_records, pace.records * 2) if records * 2 >= pace.records else pace.records,
        bytes=min(pace.max_bytes, pace.bytes * 2) if size * 2 >= pace.bytes else pace.bytes,
    )
