"""How often each source offset was gone over: from a position, and from the moves that carried nothing.

Carrying goes from `start` to the first move's `begin`, from its `end` to the next one's `begin`, and so on
up to the position. An offset lies in as many of these stretches as there are starts at or before it, less
the ends at or before it; so the order of the moves is not needed, and no clock has to be believed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from causeway.model.position import Position
from causeway.model.record import Gap
from causeway.policy.integrity import NO_TOPIC_ID

Ranges = tuple[tuple[int, int], ...]
"""From an offset up to another, rising, apart from each other."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """From each of `offsets` on, up to the next, the log was gone over so many `times`; before them never."""

    offsets: tuple[int, ...]
    times: tuple[int, ...]
    position: int

    @property
    def begin(self) -> int:
        """The first offset that matters."""
        return self.offsets[0]

    @property
    def repeats(self) -> bool:
        return any(times > 1 for times in self.times)

    def at(self, offset: int) -> int:
        number = bisect_right(self.offsets, offset)
        return self.times[number - 1] if number else 0

    def skipped(self) -> Ranges:
        """Below the position, and never gone over. What lies behind the position is still to come."""
        return _joined(
            (begin, min(end, self.position))
            for begin, end, times in self._stretches()
            if times < 1 and begin < self.position
        )

    def within(self, low: int, high: int) -> int:
        """How many offsets between these were gone over."""
        return sum(
            max(0, min(end, high) - max(begin, low)) for begin, end, times in self._stretches() if times > 0
        )

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """Behind the last of `offsets` nothing was gone over."""
        for (begin, end), times in zip(pairwise(self.offsets), self.times, strict=False):
            yield begin, end, times


def ids_of(position: Position, gaps: Iterable[Gap]) -> set[str]:
    """The topic ids under which the books of a position were written.

    One that was begun without a topic id has got one since, unless it began again with another topic.
    """
    began_again = any(gap.topic_id != gap.to_topic_id == position.topic_id for gap in gaps)
    return {position.topic_id} if began_again else {position.topic_id, NO_TOPIC_ID}


def coverage_of(position: Position, gaps: Iterable[Gap]) -> Coverage:
    """Of the topic that the position is in; gaps of others of its name say nothing about it."""
    steps = Counter({position.start: 1})
    steps[position.offset] -= 1
    gaps = list(gaps)
    ids = ids_of(position, gaps)
    for gap in gaps:
        if gap.topic_id == gap.to_topic_id and gap.topic_id in ids:
            steps[gap.end] += 1
            steps[gap.begin] -= 1
    offsets = sorted(steps)
    times, now = [], 0
    for offset in offsets:
        now += steps[offset]
        times.append(now)
    return Coverage(tuple(offsets), tuple(times), position.offset)


def set_apart(coverage: Coverage, labels: Mapping[int, int]) -> Ranges:
    """Offsets whose records are in quarantine, and therefore not on the destination.

    `labels` says how often each is there. One that was gone over once more than that was delivered too. One
    that was never gone over was skipped; behind the position it is newer than that.
    """
    apart = sorted(
        offset
        for offset, count in labels.items()
        if count >= (times := coverage.at(offset) + (offset >= coverage.position)) and times
    )
    return _joined((offset, offset + 1) for offset in apart)


@dataclass(frozen=True, slots=True)
class Books:
    """Where the ledger's count of quarantined records and the quarantine itself do not agree."""

    absent: int = 0  # counted, and not there
    uncounted: int = 0  # there, and not counted


def quarantine_books(counted: int, labels: Mapping[int, int], position: int) -> Books:
    """Labels behind the position may be newer than it, or older than a move back: nobody can tell."""
    below = sum(count for offset, count in labels.items() if offset < position)
    return Books(max(0, counted - sum(labels.values())), max(0, below - counted))


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for begin, end in ranges:
        if begin >= end:
            continue
        if found and found[-1][1] == begin:
            begin = found.pop()[0]
        found.append((begin, end))
    return tuple(found)
