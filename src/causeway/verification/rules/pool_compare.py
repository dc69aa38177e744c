"""Compares a pool: many source partitions with the many destination partitions that they share.

The sides are equal if every replicated source record is there exactly once, nothing else is there, and
records of one source partition are in order in each place. Where the key chose a record's place, any place is
accepted. A record without a partner and without an explanation (allowed_differences.py) is

- changed: a lost record, and a strange one between the neighbours that it should have;
- duplicated, if the source holds its original;
- missing, behind or unexpected otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from causeway.core.pool import Pool, PoolFindings
from causeway.core.verify_report import Coordinates, DifferenceKind, Findings
from causeway.verification.rules.allowed_differences import NEVER, MatchedSides, Unseen
from causeway.verification.rules.fingerprints import BEHIND, OWED, Ints, Rows, displaced

KEEP = 10
"""Differences that are reported with their coordinates, for each kind and member."""

LIMIT = 100_000
"""At most this many lost records are searched for among the strange ones."""


def compare_pool(
    pool: Pool,
    source: Rows,
    destination: Rows,
    *,
    unseen: Unseen | None = None,
    keep: int = KEEP,
    limit: int = LIMIT,
) -> PoolFindings:
    """Classifies every difference; rows are numbered by the pool's members and places."""
    sides = MatchedSides(pool, source, destination)
    unseen = unseen or Unseen()
    tally = _Tally(sides, keep)
    lost, loose = sides.unmatched(OWED), np.flatnonzero(~sides.matching.matched)
    if pool.compacted:
        old_here, old_there = sides.superseded_here(lost, unseen), sides.superseded_there(loose, unseen)
        tally.superseded(lost[old_here], loose[old_there])
        lost, loose = lost[~old_here], loose[~old_there]
    before = sides.there_before(loose)
    tally.before(loose[before])
    loose = loose[~before]
    expired, faded = sides.expired(loose), sides.faded(lost)
    tally.expired(loose[expired])
    tally.faded(lost[faded])
    lost, loose = lost[~faded], loose[~expired]
    copies = sides.matching.originals[loose] >= 0
    strange = loose[~copies]
    changed, became = _changed(sides, lost[:limit], strange)
    tally.found("changed", changed, became)
    tally.found("duplicated", sides.matching.originals[loose[copies]], loose[copies])
    tally.found("missing", np.setdiff1d(lost, changed))
    tally.found("behind", sides.unmatched(BEHIND))
    tally.unexpected(np.setdiff1d(strange, became))
    for rows in _ways(sides):
        partners = sides.matching.partners[rows]
        elsewhere = not sides.feeds[source.owners[rows[0]], destination.owners[partners[0]]]
        moved = displaced(destination.offsets[partners]) | elsewhere
        tally.found("out_of_order", rows[moved], partners[moved])
    return tally.findings(guessed=len(lost) > limit and bool(len(strange)))


def _ways(sides: MatchedSides) -> Iterator[Ints]:
    """Source rows whose partners are certain, by member and place, in the source's order."""
    bounds = np.searchsorted(sides.source.owners, np.arange(len(sides.pool.members) + 1))
    for start, end in pairwise(bounds.tolist()):
        rows = start + np.flatnonzero(sides.matching.placed[start:end])
        places = sides.destination.owners[sides.matching.partners[rows]]
        order = np.argsort(places, kind="stable")
        cuts = np.flatnonzero(np.diff(places[order])) + 1
        yield from (part for part in np.split(rows[order], cuts) if len(part))


def _changed(sides: MatchedSides, lost: Ints, strange: Ints) -> tuple[Ints, Ints]:
    """Lost source rows, and for each the strange destination row that is where it should be."""
    if not len(lost) or not len(strange):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    source, destination = sides.source, sides.destination
    stands = {
        place: _Free(destination.offsets[rows], rows) for place, rows in _by_owner(destination, strange)
    }
    neighbours = {}
    for rows in _ways(sides):
        partners = sides.matching.partners[rows]
        way = int(source.owners[rows[0]]), int(destination.owners[partners[0]])
        neighbours[way] = source.offsets[rows], destination.offsets[partners]
    nobody = np.empty(0, np.int64), np.empty(0, np.int64)
    here, there = [], []
    for row in lost.tolist():
        member, offset = int(source.owners[row]), source.offsets[row]
        chosen: tuple[int, _Free, int] | None = None  # the nearest neighbours prove most
        for place, free in stands.items():
            if not sides.feeds[member, place]:
                continue
            before, after = neighbours.get((member, place), nobody)
            at = int(np.searchsorted(before, offset))
            low = int(after[at - 1]) if at else -1
            high = int(after[at]) if at < len(after) else NEVER
            found = free.between(low, high)
            if found is not None and (chosen is None or high - low < chosen[0]):
                chosen = high - low, free, found
        if chosen is not None:
            here.append(row)
            there.append(chosen[1].take(chosen[2]))
    return np.array(here, np.int64), np.array(there, np.int64)


class _Free:
    """Strange rows of one place, which are taken one by one."""

    def __init__(self, offsets: Ints, rows: Ints) -> None:
        self._offsets = offsets
        self._rows = rows.tolist()
        self._next = list(range(len(self._rows) + 1))  # the first free one from here on

    def between(self, low: int, high: int) -> int | None:
        """The first free one after `low`, if it is before `high`."""
        at = int(np.searchsorted(self._offsets, low, "right"))
        while self._next[at] != at:
            self._next[at] = self._next[self._next[at]]
            at = self._next[at]
        return at if at < len(self._rows) and self._offsets[at] < high else None

    def take(self, at: int) -> int:
        self._next[at] = at + 1
        return int(self._rows[at])


def _by_owner(side: Rows, rows: Ints) -> Iterator[tuple[int, Ints]]:
    """Rows, ascending, by the partition they are in."""
    owners = side.owners[rows]
    for part in np.split(rows, np.flatnonzero(np.diff(owners)) + 1):
        if len(part):
            yield int(side.owners[part[0]]), part


class _Tally:
    """What was found, for each member; a destination row without a member goes to its place's first one."""

    def __init__(self, sides: MatchedSides, keep: int) -> None:
        self._sides = sides
        self._keep = keep
        count = len(sides.pool.members)
        self._hosts = sides.feeds.argmax(axis=0)
        self._counts: list[dict[DifferenceKind, int]] = [{} for _ in range(count)]
        self._first: list[dict[DifferenceKind, tuple[Coordinates, ...]]] = [{} for _ in range(count)]
        matched = self._members(sides.matched)
        self._here, self._there = matched.copy(), matched.copy()
        self._expired = np.zeros(count, np.int64)
        self._faded = np.zeros(count, np.int64)
        self._notes: list[str] = []

    def found(self, kind: DifferenceKind, rows: Ints, partners: Ints | None = None) -> None:
        """A difference in each of these source rows, with its destination row where there is one."""
        by_member = self._members(rows)
        if kind in ("changed", "missing", "behind"):
            self._here += by_member
        if kind in ("changed", "duplicated"):
            self._there += by_member
        self._enter(kind, self._sides.source.owners[rows], rows, partners)

    def unexpected(self, rows: Ints) -> None:
        self._there += self._hosted(rows)
        self._enter("unexpected", self._hosts[self._sides.destination.owners[rows]], None, rows)

    def superseded(self, here: Ints, there: Ints) -> None:
        self._here += self._members(here)
        self._there += self._hosted(there)
        if count := len(here) + len(there):
            self._notes.append(
                f"{count:,} records are on one side alone and not compared: newer ones of their keys were"
                " written, and compaction takes the older ones at its own time on each side"
            )

    def before(self, rows: Ints) -> None:
        self._there += self._hosted(rows)
        if len(rows):
            self._notes.append(
                f"{len(rows):,} records stand before the first one of this mirror: they were there before, or"
                " cannot be told from what was, and are not compared"
            )

    def expired(self, rows: Ints) -> None:
        self._expired = self._hosted(rows)
        self._there += self._expired
        strangers = self._sides.pool.strangers
        if len(rows) and strangers:
            self._notes.append(
                f"up to {strangers:,} records come from sources that are not compared, so they are not either"
            )

    def faded(self, rows: Ints) -> None:
        self._faded = self._members(rows)
        self._here += self._faded

    def findings(self, *, guessed: bool) -> PoolFindings:
        if twins := self._sides.matching.twins:
            self._notes.append(
                f"{twins:,} records have identical ones in other partitions: they are counted, their order is"
                " not compared"
            )
        members = tuple(
            Findings(
                source_records=int(self._here[number]),
                destination_records=int(self._there[number]),
                counts=self._counts[number],
                first=self._first[number],
                expired=int(self._expired[number]),
                faded=int(self._faded[number]),
                guessed=guessed and bool(self._counts[number]),
            )
            for number in range(len(self._counts))
        )
        return PoolFindings(members, tuple(self._notes))

    def _members(self, rows: Ints) -> npt.NDArray[np.int64]:
        return np.bincount(self._sides.source.owners[rows], minlength=len(self._sides.pool.members))

    def _hosted(self, rows: Ints) -> npt.NDArray[np.int64]:
        hosts = self._hosts[self._sides.destination.owners[rows]]
        return np.bincount(hosts, minlength=len(self._sides.pool.members))

    def _enter(
        self, kind: DifferenceKind, members: npt.NDArray[Any], here: Ints | None, there: Ints | None
    ) -> None:
        for member in np.unique(members).tolist():
            mine = np.flatnonzero(members == member)
            self._counts[member][kind] = self._counts[member].get(kind, 0) + len(mine)
            known = self._first[member].get(kind, ())
            more = (
                self._coordinates(
                    None if here is None else int(here[at]), None if there is None else int(there[at])
                )
                for at in mine[: self._keep].tolist()
            )
            self._first[member][kind] = (*known, *more)[: self._keep]

    def _coordinates(self, here: int | None, there: int | None) -> Coordinates:
        source, destination = self._sides.source, self._sides.destination
        return Coordinates(
            None if here is None else int(source.offsets[here]),
            None if there is None else int(destination.offsets[there]),
            partition=None if there is None else self._sides.pool.places[destination.owners[there]].partition,
        )
