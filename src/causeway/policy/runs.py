"""The offset map's runs: source offset → destination offset, for so many records.

Contiguous on both sides; cut wherever either side jumps. So the map is exact for every record.

    source       10 11 12 │ 15 16        13, 14: a transaction marker and an aborted record
    destination   7  8  9 │ 10 11
    runs        (10, 7, 3) (15, 10, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Run(NamedTuple):
    source: int
    destination: int
    length: int


def join(found: list[Run], more: Sequence[Run]) -> None:
    """Go on with a map, in source order: what was in as few runs as it takes on both sides stays so."""
    for number, run in enumerate(more):
        last = found[-1] if found else None
        if last is None or (last.source + last.length, last.destination + last.length) != run[:2]:
            found += more[number:]
            return
        found[-1] = Run(last.source, last.destination, last.length + run.length)


def contiguous(first: int, last: int, length: int) -> bool:
    """Whether the records between two reported destination offsets can only lie side by side.

    Records of one producer keep their order in a partition. So when first and last report offsets that
    are just as far apart as their count says, nobody else's record lies between them.
    """
    return first >= 0 and last - first + 1 == length
