"""How much a consumer may fetch at once, given the memory that a fetch takes.

A fetch is limited in bytes as stored in the broker's log. The client decompresses a whole response, and zstd
can expand a hundred kilobytes into a gigabyte of zeros. The client checks the limit of its queue
(queued.max.messages.kbytes) only between two fetches, and counts values: no keys, no headers.

So the size of a fetch follows the memory that earlier fetches took. A worker starts with the smallest
fetches. They grow where records arrive fast and would still fit into the budget after growing. They shrink
where what was fetched ahead exceeds the budget. A size that was too large is not tried again for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from causeway.core.task_order import Limits

STEP = 16
FULL, SMALLEST = 0, 3
"""Levels: each fetches STEP times less than the one before."""

SMALLEST_FETCH = 1_000  # the client accepts no smaller limit; a larger batch is fetched nevertheless
SMALLEST_QUEUE = 10
BASE_BYTES = 128 << 20
FAST = 4
"""Records arrive fast if this many fetches of the current size arrive within a window."""
MIN_TAKES = 4
"""A window has at least this many takes, however long they last."""

RECORD_BYTES, HEADER_BYTES = 512, 64  # what the client keeps besides the contents of each
DECAY = 0.9


@dataclass(frozen=True, slots=True)
class Fetched:
    """What arrived within a window, and the most that was fetched ahead at one time, in bytes of memory."""

    takes: int = 0
    records: int = 0
    bytes: int = 0
    ahead: int = 0

    def and_then(self, records: int, size: int, ahead: int) -> Fetched:
        return Fetched(
            self.takes + 1, self.records + records, self.bytes + records * size, max(self.ahead, ahead)
        )


@dataclass(frozen=True, slots=True)
class RecordSize:
    """Mean size in memory of the latest records; old samples count less with each take."""

    bytes: float = 0.0
    weight: float = 0.0

    def and_then(self, samples: Iterable[int]) -> RecordSize:
        sizes = list(samples)
        return RecordSize(self.bytes * DECAY + sum(sizes), self.weight * DECAY + len(sizes))

    @property
    def mean(self) -> int:
        return int(self.bytes / self.weight) if self.weight else 0


def size_in_memory(value: int, key: int, headers: Iterable[tuple[int, int]]) -> int:
    """Bytes of a record in the client's queue, from the sizes of its parts, header names and values."""
    return RECORD_BYTES + value + key + sum(HEADER_BYTES + sum(header) for header in headers)


def budget(limits: Limits) -> int:
    """How many bytes of memory may be fetched ahead before fetches are too large."""
    return 4 * limits.queue_bytes + BASE_BYTES


def at_level(limits: Limits, level: int) -> Limits:
    """What a consumer may fetch at this level."""
    divisor = STEP**level
    return replace(
        limits,
        fetch_bytes=max(min(limits.fetch_bytes, SMALLEST_FETCH), limits.fetch_bytes // divisor),
        queue_records=max(min(limits.queue_records, SMALLEST_QUEUE), limits.queue_records // divisor),
        queue_bytes=limits.queue_bytes // divisor,
    )


def next_level(level: int, largest: int, fetched: Fetched, limits: Limits) -> int:
    """The next level; fetches get no larger than at the level `largest`. `limits` are those of FULL."""
    most, ahead = budget(limits), fetched.ahead
    if ahead > most:
        while ahead > most and level < SMALLEST:
            level, ahead = level + 1, ahead // STEP
        return level
    fits = (ahead + 1) * STEP <= most  # `ahead` is rounded down
    if level > largest and fits and _is_fast(fetched, at_level(limits, level)):
        return level - 1
    return level


def _is_fast(fetched: Fetched, limits: Limits) -> bool:
    enough = fetched.records >= FAST * limits.queue_records or fetched.bytes >= FAST * limits.fetch_bytes
    return enough and fetched.takes >= MIN_TAKES
