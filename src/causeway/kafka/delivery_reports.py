"""What the destination reports about produced records: where they landed, or why they were rejected."""

from __future__ import annotations

from typing import Any, Protocol

from confluent_kafka import KafkaError

from causeway.core.route import BY_KEY
from causeway.rules.offset_runs import OffsetRun, contiguous, join
from causeway.rules.positions import Waits


class Stretch:
    """Contiguous source records of one partition; the first and the last report where they landed."""

    __slots__ = ("error", "first", "first_at", "last", "last_at", "length", "partition", "source")

    def __init__(self, source: int) -> None:
        self.source = source
        self.length = 0
        self.partition = -1  # where it landed, if its only record reported it
        self.first = -1
        self.last = -1
        self.first_at = 0
        self.last_at = 0
        self.error: KafkaError | None = None

    def report_first(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.first = message.offset()

    def report_last(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.last = message.offset()

    def report_only(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.first = self.last = message.offset()
        self.partition = message.partition()

    @property
    def timestamps(self) -> tuple[int, int]:
        return self.first_at, self.last_at

    def rejected(self) -> list[tuple[int, KafkaError]]:
        return [(self.source, self.error)] if self.error is not None else []

    def collect(self, place: int, at: int, runs: dict[int, list[OffsetRun]], waits: Waits) -> None:
        if not contiguous(self.first, self.last, self.length):
            raise Unmapped
        landed = self.partition if place == BY_KEY else place
        join(runs.setdefault(landed, []), [OffsetRun(self.source, self.first, self.length)])
        # Two records represent the stretch: a report for each record would cost more than producing it.
        half = self.length // 2
        waits.add(at - self.first_at, half)
        waits.add(at - self.last_at, self.length - half)


class ProducedRecords(Protocol):
    """Produced records of one partition, and what the destination reports about them."""

    @property
    def timestamps(self) -> tuple[int, int]:
        """The timestamps of the first and the last record."""

    def rejected(self) -> list[tuple[int, KafkaError]]:
        """Return source offset and error of each rejected record."""

    def collect(self, place: int, at: int, runs: dict[int, list[OffsetRun]], waits: Waits) -> None:
        """Add where they landed, by partition, and how long they took. Raises Unmapped."""


class QuarantineReport:
    """A record that goes to the quarantine instead of its place."""

    __slots__ = ("error", "size", "source")

    def __init__(self, source: int, size: int) -> None:
        self.source = source
        self.size = size
        self.error: KafkaError | None = None

    def report(self, error: KafkaError | None, _message: Any) -> None:
        self.error = error


class Unmapped(Exception):
    """Another producer wrote between our records: each one must report where it landed."""
