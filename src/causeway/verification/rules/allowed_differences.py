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
    BEHIND,
    LATER,
    OWED,
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
class Unseen:
    """Keys of records that are not among the rows, but may have replaced others in compacted topics."""

    here: Words = field(default_factory=lambda: NO_KEYS)
    there: Words = field(default_factory=lambda: NO_KEYS)


class MatchedSides:
    """Both sides of a pool, matched."""

    def __init__(self, pool: Pool, source: Rows, destination: Rows) -> None:
        self.pool = pool
        self.source = source
        self.destination = destination
        self.feeds = np.array(
            [[pool.feeds(member, place) for place in pool.places] for member in pool.members], np.bool_
        ).reshape(len(pool.members), len(pool.places))
        self.taken_here = np.array([member.source_taken for member in pool.members], np.int64)
        self.taken_there = np.array([place.taken for place in pool.places], np.int64)
        self.standing = self._standing()
        self.matching: Matching = match(
            source,
            self.standing,
            destination,
            newest_here=bool(self.taken_there.any()),
            newest_there=pool.held_before or bool(pool.strangers) or bool(self.taken_here.any()),
        )
        self.matched = np.flatnonzero(self.matching.partners >= 0)
        partners = self.matching.partners[self.matched]
        ways = source.owners[self.matched], destination.owners[partners]
        # The first record of each member in each place, by its source and its destination offset.
        self.first_here = self._first(ways, source.offsets[self.matched])
        self.first_there = self._first(ways, destination.offsets[partners])

    def _standing(self) -> npt.NDArray[np.uint8]:
        settled = np.array([member.settled for member in self.pool.members], np.int64)
        ends = np.array([member.end for member in self.pool.members], np.int64)
        owners, offsets = self.source.owners, self.source.offsets
        standing = np.full(len(offsets), LATER, np.uint8)
        standing[offsets < ends[owners]] = BEHIND
        standing[offsets < settled[owners]] = OWED
        return standing

    def _first(self, ways: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]], offsets: Ints) -> Ints:
        found = np.full(self.feeds.shape, NEVER, np.int64)
        np.minimum.at(found, ways, offsets)
        return found

    def unmatched(self, standing: int) -> Ints:
        """Source rows without a partner."""
        return np.flatnonzero((self.matching.partners < 0) & (self.standing == standing))

    def superseded_here(self, rows: Ints, unseen: Unseen) -> Flags:
        """Source rows of compacted topics that may be gone from the destination.

        A later record of the key follows, or the row is a tombstone; or the key has records in other source
        partitions too, and one of them is there.
        """
        source = self.source
        keys = source.keys[rows]
        holders = np.unique(np.stack([source.keys, source.owners.astype(np.uint64)]), axis=1)[0]
        shared, times = np.unique(holders, return_counts=True)
        replaced = np.isin(keys, shared[times > 1]) & np.isin(keys, source.keys[self.matched])
        return ~latest(source)[rows] | source.deletes[rows] | replaced | np.isin(keys, unseen.there)

    def superseded_there(self, rows: Ints, unseen: Unseen) -> Flags:
        """Destination rows of compacted topics whose original may be gone from the source.

        A later record of the key follows, or the row is a tombstone; or the source has newer records of the
        key that were not replicated yet.
        """
        keys = self.destination.keys[rows]
        newer = np.concatenate([self.source.keys[self.standing != OWED], unseen.here])
        return ~latest(self.destination)[rows] | self.destination.deletes[rows] | np.isin(keys, newer)

    def there_before(self, rows: Ints) -> Flags:
        """Destination rows before the mirror's first record, if the topic may have held records before."""
        first = self.first_there.min(axis=0, initial=NEVER)
        flags: Flags = self.destination.offsets[rows] < first[self.destination.owners[rows]]
        return flags & self.pool.held_before

    def expired(self, rows: Ints) -> Flags:
        """Destination rows whose originals retention deleted, or that come from sources not compared.

        They are older than what remains of a source that lost records. Rows that the source holds at
        another offset are excused last.
        """
        trimmed = self.feeds & (self.taken_here > 0)[:, None]
        zone = np.where(trimmed, self.first_there, -1).max(axis=0, initial=-1)
        if self.pool.strangers:
            zone[:] = NEVER
        remaining = np.bincount(self.source.owners[self.standing == OWED], minlength=len(self.pool.members))
        delivered = np.array([member.delivered for member in self.pool.members], np.int64)
        gone = np.minimum(self.taken_here, np.maximum(0, delivered - remaining)).sum()
        within = self.destination.offsets[rows] < zone[self.destination.owners[rows]]
        known = self.matching.originals[rows] >= 0
        candidates = np.concatenate([np.flatnonzero(within & ~known), np.flatnonzero(within & known)])
        return _flags(len(rows), candidates[: gone + self.pool.strangers])

    def faded(self, rows: Ints) -> Flags:
        """Source rows whose copies retention deleted: older than what a place that lost records has left."""
        trimmed = self.feeds & (self.taken_there > 0)[None, :]
        limit = np.where(trimmed, self.first_here, -1).max(axis=1, initial=-1)
        within = self.source.offsets[rows] < limit[self.source.owners[rows]]
        return _flags(len(rows), np.flatnonzero(within)[: self.taken_there.sum()])


def _flags(count: int, rows: Ints) -> Flags:
    flags = np.zeros(count, np.bool_)
    flags[rows] = True
    return flags
