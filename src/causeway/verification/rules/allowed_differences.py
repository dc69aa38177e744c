"""Why a record may be on only one side of a pool without being a difference.

Compaction, retention, or records from before the mirror explain it. Explanations are bounded: no more records
are excused than can have been deleted, and only those that are older than what remains of the same source.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from causeway.core.pool import Pool
from causeway.verification.rules.fingerprints import (
    LAGGING,
    LATER,
    REQUIRED,
    Flags,
    Ints,
    Matching,
    Rows,
    Words,
    latest,
    match,
)

NEVER = int(np.iinfo(np.int64).max)
NO_KEYS: Words = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class OmittedKeys:
    """Keys of records that are not among the rows, but may have replaced others in compacted topics."""

    source: Words = field(default_factory=lambda: NO_KEYS)
    destination: Words = field(default_factory=lambda: NO_KEYS)


class MatchedSides:
    """Both sides of a pool, matched."""

    def __init__(self, pool: Pool, source: Rows, destination: Rows) -> None:
        self.pool = pool
        self.source = source
        self.destination = destination
        self.feeds = np.array(
            [[pool.feeds(member, place) for place in pool.places] for member in pool.members], np.bool_
        ).reshape(len(pool.members), len(pool.places))
        self.expired_source_offsets = np.array([member.source_expired for member in pool.members], np.int64)
        self.expired_place_offsets = np.array([place.expired for place in pool.places], np.int64)
        self.states = self._states()
        self.matching: Matching = match(
            source,
            self.states,
            destination,
            newest_source=bool(self.expired_place_offsets.any()),
            newest_destination=pool.preexisting
            or bool(pool.foreign_records)
            or bool(self.expired_source_offsets.any()),
        )
        self.matched = np.flatnonzero(self.matching.partners >= 0)
        partners = self.matching.partners[self.matched]
        links = source.owners[self.matched], destination.owners[partners]
        # The first record of each member in each place, by its source and its destination offset.
        self.first_source_offsets = self._first(links, source.offsets[self.matched])
        self.first_destination_offsets = self._first(links, destination.offsets[partners])

    def _states(self) -> npt.NDArray[np.uint8]:
        positions = np.array([member.position for member in self.pool.members], np.int64)
        ends = np.array([member.end for member in self.pool.members], np.int64)
        owners, offsets = self.source.owners, self.source.offsets
        states = np.full(len(offsets), LATER, np.uint8)
        states[offsets < ends[owners]] = LAGGING
        states[offsets < positions[owners]] = REQUIRED
        return states

    def _first(self, links: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]], offsets: Ints) -> Ints:
        first = np.full(self.feeds.shape, NEVER, np.int64)
        np.minimum.at(first, links, offsets)
        return first

    def unmatched(self, state: int) -> Ints:
        """Source rows without a partner."""
        return np.flatnonzero((self.matching.partners < 0) & (self.states == state))

    def superseded_on_source(self, rows: Ints, omitted: OmittedKeys) -> Flags:
        """Source rows of compacted topics that may be gone from the destination.

        A later record of the key follows, or the row is a tombstone; or the key has records in other source
        partitions too, and the destination has one of them.
        """
        source = self.source
        keys = source.keys[rows]
        holders = np.unique(np.stack([source.keys, source.owners.astype(np.uint64)]), axis=1)[0]
        shared, times = np.unique(holders, return_counts=True)
        replaced = np.isin(keys, shared[times > 1]) & np.isin(keys, source.keys[self.matched])
        return ~latest(source)[rows] | source.deletes[rows] | replaced | np.isin(keys, omitted.destination)

    def superseded_on_destination(self, rows: Ints, omitted: OmittedKeys) -> Flags:
        """Destination rows of compacted topics whose original may be gone from the source.

        A later record of the key follows, or the row is a tombstone; or the source has newer records of the
        key that were not replicated yet.
        """
        keys = self.destination.keys[rows]
        newer = np.concatenate([self.source.keys[self.states != REQUIRED], omitted.source])
        return ~latest(self.destination)[rows] | self.destination.deletes[rows] | np.isin(keys, newer)

    def preexisting(self, rows: Ints) -> Flags:
        """Destination rows before the mirror's first record, if the topic may have held records before."""
        first = self.first_destination_offsets.min(axis=0, initial=NEVER)
        flags: Flags = self.destination.offsets[rows] < first[self.destination.owners[rows]]
        return flags & self.pool.preexisting

    def expired_on_source(self, rows: Ints) -> Flags:
        """Destination rows whose originals retention deleted, or that come from sources not compared.

        They are older than what remains of a source that lost records. Rows that the source holds at
        another offset are excused last.
        """
        trimmed = self.feeds & (self.expired_source_offsets > 0)[:, None]
        limit = np.where(trimmed, self.first_destination_offsets, -1).max(axis=0, initial=-1)
        if self.pool.foreign_records:
            limit[:] = NEVER
        remaining = np.bincount(self.source.owners[self.states == REQUIRED], minlength=len(self.pool.members))
        delivered = np.array([member.delivered for member in self.pool.members], np.int64)
        deleted = np.minimum(self.expired_source_offsets, np.maximum(0, delivered - remaining)).sum()
        within = self.destination.offsets[rows] < limit[self.destination.owners[rows]]
        known = self.matching.originals[rows] >= 0
        candidates = np.concatenate([np.flatnonzero(within & ~known), np.flatnonzero(within & known)])
        return _flags(len(rows), candidates[: deleted + self.pool.foreign_records])

    def expired_on_destination(self, rows: Ints) -> Flags:
        """Source rows whose copies retention deleted: older than what a place that lost records has left."""
        trimmed = self.feeds & (self.expired_place_offsets > 0)[None, :]
        limit = np.where(trimmed, self.first_source_offsets, -1).max(axis=1, initial=-1)
        within = self.source.offsets[rows] < limit[self.source.owners[rows]]
        return _flags(len(rows), np.flatnonzero(within)[: self.expired_place_offsets.sum()])


def _flags(count: int, rows: Ints) -> Flags:
    flags = np.zeros(count, np.bool_)
    flags[rows] = True
    return flags
