"""How many times each source offset was replicated: from a position, and from its moves without replication.

Filtered and quarantined records count as replicated here. Replication runs from `start` to the first move's
`begin`, from its `end` to the next move's `begin`, and so on up to the position. The number of these ranges
that contain an offset is the number of range starts at or before it, minus the range ends at or before it. So
the order of the moves is not needed, and no clock has to be trusted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from causeway.core.ledger_record import Gap
from causeway.core.position import Position
from causeway.core.topic import NO_TOPIC_ID

Ranges = tuple[tuple[int, int], ...]
"""From an offset up to another, ascending, separate from each other."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """From each of `offsets` up to the next, the log was replicated this many `times`; before them never."""

    offsets: tuple[int, ...]
    times: tuple[int, ...]
    position: int

    @property
    def begin(self) -> int:
        """The first offset to consider."""
        return self.offsets[0]

    @property
    def repeats(self) -> bool:
        return any(times > 1 for times in self.times)

    def at(self, offset: int) -> int:
        number = bisect_right(self.offsets, offset)
        return self.times[number - 1] if number else 0

    def skipped(self) -> Ranges:
        """Before the position, and never replicated. Offsets after the position are still to come."""
        return _joined(
            (begin, min(end, self.position))
            for begin, end, times in self._stretches()
            if times < 1 and begin < self.position
        )

    def within(self, low: int, high: int) -> int:
        """How many offsets from `low` up to `high` were replicated."""
        return sum(
            max(0, min(end, high) - max(begin, low)) for begin, end, times in self._stretches() if times > 0
        )

    def _stretches(self) -> Iterator[tuple[int, int, int]]:
        """From the last of `offsets` on, nothing was replicated."""
        for (begin, end), times in zip(pairwise(self.offsets), self.times, strict=False):
            yield begin, end, times


def of_topic(position: Position, gaps: Iterable[Gap]) -> Callable[[str], bool]:
    """Whether a gap or a quarantine label with this topic id is of the position's topic.

    A position that began without a topic id got one later, unless it restarted with a recreated topic. The
    nodes of a source pool have an id each, so there any id counts, except those of topics before a restart.
    """
    restarts = [gap for gap in gaps if gap.topic_id != gap.to_topic_id]
    if position.node:
        before = {gap.topic_id for gap in restarts}
        return lambda topic_id: topic_id not in before
    began_again = any(gap.to_topic_id == position.topic_id for gap in restarts)
    ids = {position.topic_id} if began_again else {position.topic_id, NO_TOPIC_ID}
    return ids.__contains__


def coverage_of(position: Position, gaps: Iterable[Gap]) -> Coverage:
    """Coverage of the position's topic; gaps of other topics of its name do not count."""
    steps = Counter({position.start: 1})
    steps[position.offset] -= 1
    gaps = list(gaps)
    counts = of_topic(position, gaps)
    for gap in gaps:
        if gap.topic_id == gap.to_topic_id and counts(gap.topic_id):
            steps[gap.end] += 1
            steps[gap.begin] -= 1
    offsets = sorted(steps)
    times, now = [], 0
    for offset in offsets:
        now += steps[offset]
        times.append(now)
    return Coverage(tuple(offsets), tuple(times), position.offset)


def quarantined_ranges(coverage: Coverage, labels: Mapping[int, int]) -> Ranges:
    """Offsets whose records are in quarantine, and therefore not on the destination.

    `labels`: how many times each offset is in quarantine. An offset that was replicated more often than that
    was delivered too. An offset that was never replicated was skipped, unless it is at or after the position:
    then its label is newer than the position.
    """
    apart = sorted(
        offset
        for offset, count in labels.items()
        if count >= (times := coverage.at(offset) + (offset >= coverage.position)) and times
    )
    return _joined((offset, offset + 1) for offset in apart)


@dataclass(frozen=True, slots=True)
class QuarantineMismatch:
    """Where the ledger's count of quarantined records and the quarantine itself disagree."""

    missing: int = 0  # counted, but not there
    uncounted: int = 0  # there, but not counted


def compare_quarantine(counted: int, labels: Mapping[int, int], position: int) -> QuarantineMismatch:
    """Labels at or after the position are not `uncounted`: they may be newer, or older than a move back."""
    below = sum(count for offset, count in labels.items() if offset < position)
    return QuarantineMismatch(max(0, counted - sum(labels.values())), max(0, below - counted))


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for begin, end in ranges:
        if begin >= end:
            continue
        if merged and merged[-1][1] == begin:
            begin = merged.pop()[0]
        merged.append((begin, end))
    return tuple(merged)
