"""Holes: source offsets for which the consumer got no record. What explains them, and what does not.

A read_committed consumer gets neither transaction markers nor aborted records. Compaction removes records.
Everything else that is missing was lost, for instance with a segment file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from causeway.core.position import SourcePartition
from causeway.rules.integrity import Finding

FEW = 16
"""A hole of aborted records makes its size ordinary in a partition only up to this many offsets."""


class Hole(NamedTuple):
    """Offsets from `begin` up to, but without, `end`."""

    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


class LogBatch(NamedTuple):
    """A batch of a log, of records or of one marker: its first offset and its last."""

    first: int
    last: int
    marker: bool


def holes_between(begin: int, end: int, taken: Iterable[tuple[int, int]]) -> list[Hole]:
    """The parts of a range that the given pieces (first offset and length, in any order) do not cover."""
    parts, at = [], begin
    for first, length in sorted(taken):
        if first > at:
            parts.append(Hole(at, first))
        at = max(at, first + length)
    if at < end:
        parts.append(Hole(at, end))
    return parts


def unexplained(hole: Hole, batches: Iterable[LogBatch]) -> list[Hole]:
    """The parts of a hole that none of these batches explains."""
    return holes_between(
        *hole,
        (
            (max(batch.first, hole.begin), min(batch.last + 1, hole.end) - max(batch.first, hole.begin))
            for batch in batches
            if batch.last >= hole.begin and batch.first < hole.end
        ),
    )


def ordinary(hole: Hole, batches: Sequence[LogBatch]) -> int:
    """The size up to which holes of this partition need no check any more, now that this one was explained.

    Markers of several producers are often adjacent, so a number of them that was found once is ordinary.
    Aborted transactions may have any size, and are checked each time unless they are small.
    """
    markers_only = all(batch.marker for batch in batches if hole.begin <= batch.first < hole.end)
    return hole.size if markers_only or hole.size <= FEW else 0


def lost(source: SourcePartition, hole: Hole) -> Finding:
    """Offsets in the middle of a log are missing."""
    return Finding(
        "gap",
        f"{source} has no records at offsets {hole.begin} to {hole.end - 1} ({hole.size:,}): the topic is not"
        " compacted, and no transaction marker or aborted record is there",
        "the source lost them (a segment file?): make an intact replica the leader, and start again; to"
        f' continue without them: `causeway offsets skip --to {hole.end}`, or on_gap = "continue"',
        hole.begin,
        hole.end,
        hole.size,
    )
