"""Watches how much memory fetched records take, and chooses the fetch size (`rules/fetch_sizes.py`).

It counts what the client holds: the number of queued records, times the mean size of the records that came
last, headers included. The resident memory of the process would show less: the producer, filters and compiled
code add to it too, and freed memory that the allocator keeps hides what the next fetches take.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Iterable
from typing import Any

from causeway.core.task_order import Limits, TaskOrder
from causeway.kafka.source_consumer import SourceConsumer
from causeway.rules.fetch_sizes import FULL, MIN_TAKES, SMALLEST, Fetched, RecordSize, at_level, next_level

WINDOW_SECONDS = 1.0
SHUN_SECONDS = 600.0
"""How long a size that was too large is not tried again. It bounds how often consumers are recreated."""
SAMPLES = 8
"""About how many records of a take are measured."""

_levels: dict[tuple[str, int], int] = {}
_shunned: dict[tuple[str, int], tuple[int, float]] = {}
"""By mirror and shard, for the lifetime of this worker: the level; the largest one allowed, and until when.

A worker that is killed for its memory loses both, so the next one starts with the smallest fetches.
"""


class FetchWatch:
    def __init__(self, order: TaskOrder) -> None:
        self._key = (order.slice.mirror, order.shard)
        self._limits = order.limits
        self._level = _levels.get(self._key, SMALLEST)
        self._sizes: dict[SourceConsumer, RecordSize] = {}
        self._ahead: dict[SourceConsumer, int] = {}
        self._fetched = Fetched()
        self._window_ends = 0.0

    @property
    def limits(self) -> Limits:
        return at_level(self._limits, self._level)

    def polled(self, consumer: SourceConsumer, records: Any) -> None:
        """Measure records that were taken and are not produced yet."""
        now = time.monotonic()
        if now > self._window_ends and self._fetched.takes >= MIN_TAKES:
            # If a commit takes long, takes are far apart: too few of them show nothing about the backlog.
            self._fetched, self._window_ends = Fetched(), now + WINDOW_SECONDS
        try:
            samples = consumer.sizes(records, SAMPLES)
        except BaseException:
            consumer.release(records)
            raise
        size = self._sizes.get(consumer, RecordSize()).and_then(samples)
        self._sizes[consumer] = size
        self._ahead[consumer] = (len(records) + consumer.ahead) * size.mean
        self._fetched = self._fetched.and_then(len(records), size.mean, sum(self._ahead.values()))

    def changed(self) -> bool:
        """Whether the fetch size changes now: then the caller commits everything and calls `renew`."""
        if not self._fetched.takes:
            return False
        now = time.monotonic()
        largest, until = _shunned.get(self._key, (FULL, 0.0))
        level = next_level(self._level, largest if now < until else FULL, self._fetched, self._limits)
        if level == self._level:
            return False
        if level > self._level:
            _shunned[self._key] = (level, now + SHUN_SECONDS)
        self._level = _levels[self._key] = level
        return True

    def renew(self, consumers: Iterable[SourceConsumer]) -> None:
        """Recreate the consumers with the new size; partitions wait to be opened again at their positions."""
        limits, smaller = self.limits, False
        for consumer in consumers:
            smaller |= limits.fetch_bytes < consumer.limits.fetch_bytes
            consumer.renew(limits)
        self._fetched, self._ahead, self._window_ends = Fetched(), {}, 0.0
        if smaller:
            with contextlib.suppress(AttributeError, OSError):
                ctypes.CDLL(None).malloc_trim(0)  # return the old consumers' memory to the system
