"""Compares a pool: many source partitions with the many destination partitions that they share.

The sides are equal if every replicated source record is there exactly once, nothing else is there, and
records of one source partition are in order in each place. Where the key chose a record's place, any place is
accepted. A record without a partner and without an explanation (allowed_differences.py) is

- changed: a missing record, and an unexpected one between the neighbours that it should have;
- duplicated, if the source holds its original;
- missing, lagging or unexpected otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from causeway.core.pool import Pool, PoolFindings
from causeway.verification.rules.allowed_differences import NEVER, MatchedSides, OmittedKeys
from causeway.verification.rules.fingerprints import LAGGING, REQUIRED, Ints, Rows, out_of_order
from causeway.verification.rules.pool_counts import PoolCounts

KEEP = 10
"""Differences that are reported with their coordinates, for each kind and member."""

LIMIT = 100_000
"""At most this many missing records are searched for among the unexpected ones."""


def compare_rows(
    pool: Pool,
    source: Rows,
    destination: Rows,
    *,
    omitted: OmittedKeys | None = None,
    keep: int = KEEP,
    limit: int = LIMIT,
) -> PoolFindings:
    """Classifies every difference; rows are numbered by the pool's members and places."""
    sides = MatchedSides(pool, source, destination)
    omitted = omitted or OmittedKeys()
    counts = PoolCounts(sides, keep)
    missing, extra = sides.unmatched(REQUIRED), np.flatnonzero(~sides.matching.matched)
    if pool.compacted:
        old_source = sides.superseded_on_source(missing, omitted)
        old_destination = sides.superseded_on_destination(extra, omitted)
        counts.add_superseded(missing[old_source], extra[old_destination])
        missing, extra = missing[~old_source], extra[~old_destination]
    preexisting = sides.preexisting(extra)
    counts.add_preexisting(extra[preexisting])
    extra = extra[~preexisting]
    originals_expired, copies_expired = sides.expired_on_source(extra), sides.expired_on_destination(missing)
    counts.add_expired_on_source(extra[originals_expired])
    counts.add_expired_on_destination(missing[copies_expired])
    missing, extra = missing[~copies_expired], extra[~originals_expired]
    duplicated = sides.matching.originals[extra] >= 0
    unexpected = extra[~duplicated]
    changed, changed_to = _changed(sides, missing[:limit], unexpected)
    counts.add("changed", changed, changed_to)
    counts.add("duplicated", sides.matching.originals[extra[duplicated]], extra[duplicated])
    counts.add("missing", np.setdiff1d(missing, changed))
    counts.add("lagging", sides.unmatched(LAGGING))
    counts.add_unexpected(np.setdiff1d(unexpected, changed_to))
    for rows in _certain_rows(sides):
        partners = sides.matching.partners[rows]
        wrong_place = not sides.feeds[source.owners[rows[0]], destination.owners[partners[0]]]
        moved = out_of_order(destination.offsets[partners]) | wrong_place
        counts.add("out_of_order", rows[moved], partners[moved])
    return counts.findings(approximate=len(missing) > limit and bool(len(unexpected)))


def _certain_rows(sides: MatchedSides) -> Iterator[Ints]:
    """Source rows whose partners are certain, by member and place, in the source's order."""
    bounds = np.searchsorted(sides.source.owners, np.arange(len(sides.pool.members) + 1))
    for start, end in pairwise(bounds.tolist()):
        rows = start + np.flatnonzero(sides.matching.certain[start:end])
        places = sides.destination.owners[sides.matching.partners[rows]]
        order = np.argsort(places, kind="stable")
        cuts = np.flatnonzero(np.diff(places[order])) + 1
        yield from (part for part in np.split(rows[order], cuts) if len(part))


def _changed(sides: MatchedSides, missing: Ints, unexpected: Ints) -> tuple[Ints, Ints]:
    """Missing source rows, and for each the unexpected destination row that is where it should be."""
    if not len(missing) or not len(unexpected):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    source, destination = sides.source, sides.destination
    free_rows = {
        place: _FreeRows(destination.offsets[rows], rows)
        for place, rows in _by_owner(destination, unexpected)
    }
    neighbours = {}
    for rows in _certain_rows(sides):
        partners = sides.matching.partners[rows]
        link = int(source.owners[rows[0]]), int(destination.owners[partners[0]])
        neighbours[link] = source.offsets[rows], destination.offsets[partners]
    no_neighbours = np.empty(0, np.int64), np.empty(0, np.int64)
    changed, changed_to = [], []
    for row in missing.tolist():
        member, offset = int(source.owners[row]), source.offsets[row]
        best: tuple[int, _FreeRows, int] | None = None  # the nearest neighbours prove most
        for place, free in free_rows.items():
            if not sides.feeds[member, place]:
                continue
            originals, copies = neighbours.get((member, place), no_neighbours)
            at = int(np.searchsorted(originals, offset))
            low = int(copies[at - 1]) if at else -1
            high = int(copies[at]) if at < len(copies) else NEVER
            index = free.between(low, high)
            if index is not None and (best is None or high - low < best[0]):
                best = high - low, free, index
        if best is not None:
            changed.append(row)
            changed_to.append(best[1].take(best[2]))
    return np.array(changed, np.int64), np.array(changed_to, np.int64)


class _FreeRows:
    """Unexpected rows of one place, which are taken one by one."""

    def __init__(self, offsets: Ints, rows: Ints) -> None:
        self._offsets = offsets
        self._rows = rows.tolist()
        self._next = list(range(len(self._rows) + 1))  # the first free index from this one on

    def between(self, low: int, high: int) -> int | None:
        """The index of the first free row after offset `low`, if it is before `high`."""
        at = int(np.searchsorted(self._offsets, low, "right"))
        while self._next[at] != at:
            self._next[at] = self._next[self._next[at]]
            at = self._next[at]
        return at if at < len(self._rows) and self._offsets[at] < high else None

    def take(self, index: int) -> int:
        self._next[index] = index + 1
        return int(self._rows[index])


def _by_owner(side: Rows, rows: Ints) -> Iterator[tuple[int, Ints]]:
    """Rows, ascending, by the partition they are in."""
    owners = side.owners[rows]
    for part in np.split(rows, np.flatnonzero(np.diff(owners)) + 1):
        if len(part):
            yield int(side.owners[part[0]]), part
