"""The offset map's runs: source offset → destination offset, for a number of records.

A run is contiguous on both sides, and ends where either side jumps. So the map is exact for every record.

    source       10 11 12 │ 15 16        13, 14: a transaction marker and an aborted record
    destination   7  8  9 │ 10 11
    runs        (10, 7, 3) (15, 10, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class OffsetRun(NamedTuple):
    source: int
    destination: int
    length: int


def join(runs: list[OffsetRun], more: Sequence[OffsetRun]) -> None:
    """Append runs in source order. If both lists have as few runs as possible, so has the result."""
    for number, run in enumerate(more):
        last = runs[-1] if runs else None
        if last is None or (last.source + last.length, last.destination + last.length) != run[:2]:
            runs += more[number:]
            return
        runs[-1] = OffsetRun(last.source, last.destination, last.length + run.length)


def contiguous(first: int, last: int, length: int) -> bool:
    """Whether the records between two reported destination offsets must be contiguous.

    Records of one producer keep their order in a partition. So if the first and the last offset are exactly
    as far apart as the record count says, no record of another producer lies between them.
    """
    return first >= 0 and last - first + 1 == length
