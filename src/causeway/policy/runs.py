"""The offset map's runs: source offset → destination offset, for so many records.

Contiguous on both sides; cut wherever either side jumps. So the map is exact for every record.

    source       10 11 12 │ 15 16        13, 14: a transaction marker and an aborted record
    destination   7  8  9 │ 10 11
    runs        (10, 7, 3) (15, 10, 2)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Run(NamedTuple):
    source: int
    destination: int
    length: int


def join(runs: Iterable[Run]) -> list[Run]:
    """The same map in as few runs as it takes; runs come in source order."""
    joined: list[Run] = []
    for run in runs:
        if joined:
            last = joined[-1]
            if (last.source + last.length, last.destination + last.length) == (run.source, run.destination):
                joined[-1] = Run(last.source, last.destination, last.length + run.length)
                continue
        joined.append(run)
    return joined


def contiguous(first: int, last: int, length: int) -> bool:
    """Whether the records between two reported destination offsets can only lie side by side.

    Records of one producer keep their order in a partition. So when first and last report offsets that
    are just as far apart as their count says, nobody else's record lies between them.
    """
    return first >= 0 and last - first + 1 == length
