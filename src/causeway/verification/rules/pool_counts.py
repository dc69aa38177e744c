"""Counts the records and differences of a pool, for each of its members."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from causeway.core.plural import counted, is_are
from causeway.core.pool import PoolFindings
from causeway.core.verify_report import Coordinates, DifferenceKind, Findings
from causeway.verification.rules.allowed_differences import MatchedSides
from causeway.verification.rules.fingerprints import Ints


class PoolCounts:
    """Destination rows that belong to no member count for the first member that may write to their place."""

    def __init__(self, sides: MatchedSides, keep: int) -> None:
        self._sides = sides
        self._keep = keep
        members = len(sides.pool.members)
        self._first_members = sides.feeds.argmax(axis=0)  # of each place
        self._counts: list[dict[DifferenceKind, int]] = [{} for _ in range(members)]
        self._first: list[dict[DifferenceKind, tuple[Coordinates, ...]]] = [{} for _ in range(members)]
        matched = self._by_member(sides.matched)
        self._source_records, self._destination_records = matched.copy(), matched.copy()
        self._expired_on_source = np.zeros(members, np.int64)
        self._expired_on_destination = np.zeros(members, np.int64)
        self._notes: list[str] = []

    def add(self, kind: DifferenceKind, rows: Ints, partners: Ints | None = None) -> None:
        """A difference in each of these source rows, with its destination row where there is one."""
        by_member = self._by_member(rows)
        if kind in ("changed", "missing", "lagging"):
            self._source_records += by_member
        if kind in ("changed", "duplicated"):
            self._destination_records += by_member
        self._add(kind, self._sides.source.owners[rows], rows, partners)

    def add_unexpected(self, rows: Ints) -> None:
        self._destination_records += self._by_place(rows)
        self._add("unexpected", self._first_members[self._sides.destination.owners[rows]], None, rows)

    def add_superseded(self, source_rows: Ints, destination_rows: Ints) -> None:
        self._source_records += self._by_member(source_rows)
        self._destination_records += self._by_place(destination_rows)
        if count := len(source_rows) + len(destination_rows):
            self._notes.append(
                f"not compared: {counted(count, 'record')} on one side only, with newer records of the same"
                " key; each side is compacted at its own time"
            )

    def add_preexisting(self, rows: Ints) -> None:
        self._destination_records += self._by_place(rows)
        if len(rows):
            self._notes.append(
                f"not compared: {counted(len(rows), 'record')} before the first record of this mirror; the"
                " topic may have held records before"
            )

    def add_expired_on_source(self, rows: Ints) -> None:
        self._expired_on_source = self._by_place(rows)
        self._destination_records += self._expired_on_source
        foreign = self._sides.pool.foreign_records
        if len(rows) and foreign:
            self._notes.append(
                f"not compared: up to {counted(foreign, 'record')} from sources that are not compared"
            )

    def add_expired_on_destination(self, rows: Ints) -> None:
        self._expired_on_destination = self._by_member(rows)
        self._source_records += self._expired_on_destination

    def findings(self, *, approximate: bool) -> PoolFindings:
        if count := self._sides.matching.interchangeable:
            self._notes.append(
                f"{counted(count, 'record')} {is_are(count)} identical to others in other partitions:"
                " counted, but their order is not compared"
            )
        members = tuple(
            Findings(
                source_records=int(self._source_records[number]),
                destination_records=int(self._destination_records[number]),
                counts=self._counts[number],
                first=self._first[number],
                expired_on_source=int(self._expired_on_source[number]),
                expired_on_destination=int(self._expired_on_destination[number]),
                approximate=approximate and bool(self._counts[number]),
            )
            for number in range(len(self._counts))
        )
        return PoolFindings(members, tuple(self._notes))

    def _by_member(self, rows: Ints) -> npt.NDArray[np.int64]:
        """How many of these source rows each member has."""
        return np.bincount(self._sides.source.owners[rows], minlength=len(self._sides.pool.members))

    def _by_place(self, rows: Ints) -> npt.NDArray[np.int64]:
        """How many of these destination rows count for each member."""
        members = self._first_members[self._sides.destination.owners[rows]]
        return np.bincount(members, minlength=len(self._sides.pool.members))

    def _add(
        self,
        kind: DifferenceKind,
        members: npt.NDArray[Any],
        source_rows: Ints | None,
        destination_rows: Ints | None,
    ) -> None:
        for member in np.unique(members).tolist():
            indexes = np.flatnonzero(members == member)
            self._counts[member][kind] = self._counts[member].get(kind, 0) + len(indexes)
            known = self._first[member].get(kind, ())
            more = (
                self._coordinates(
                    None if source_rows is None else int(source_rows[index]),
                    None if destination_rows is None else int(destination_rows[index]),
                )
                for index in indexes[: self._keep].tolist()
            )
            self._first[member][kind] = (*known, *more)[: self._keep]

    def _coordinates(self, source_row: int | None, destination_row: int | None) -> Coordinates:
        source, destination, places = self._sides.source, self._sides.destination, self._sides.pool.places
        if destination_row is None:
            return Coordinates(None if source_row is None else int(source.offsets[source_row]), None)
        return Coordinates(
            None if source_row is None else int(source.offsets[source_row]),
            int(destination.offsets[destination_row]),
            partition=places[destination.owners[destination_row]].partition,
        )
