"""Checks the ledger against the offset map.

A ledger that lost its end, or that was restored from an older state, knows less than the map: with it, the
mirror would replicate records again. So it is never trusted then.

With transactions both are written in one: the ledger knows as much as the map. Without them (at-least-once)
the map is written first, and the process may be killed between the two writes. So such an entry names the
position that its commit started at. That position was in the ledger before, and it is all that the entry
proves:

    ledger   … 100 │          │     killed here: the ledger knows 100, and the entry does not contradict it
    map      … 100 │ 100–140  │     the entry contradicts a ledger that knows 99
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from causeway.core.ledger_record import Gap
from causeway.core.position import Position, SourcePartition
from causeway.core.topic import Spot
from causeway.rules.integrity import same_topic


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A map entry: a partition was replicated up to `end`, which filled its place up to `place_end`."""

    source: SourcePartition
    topic_id: str
    end: int
    place: Spot
    place_end: int
    base: int | None = None  # without a transaction: the position that the commit started at

    @property
    def known(self) -> int:
        """The lowest offset that the ledger must know because of this entry."""
        return self.end if self.base is None else self.base


def contradicted(
    entries: Iterable[MapEntry], positions: Mapping[SourcePartition, Position], gaps: Iterable[Gap]
) -> MapEntry | None:
    """A map entry that proves more than the ledger knows; None if there is none.

    An operator's move back explains it, and so does a restart with a recreated topic.
    """
    moves = list(gaps)
    for entry in entries:
        position = positions.get(entry.source)
        of_pool = position is not None and bool(position.node)  # each node has topic ids of its own
        if position is not None and position.offset >= entry.known:
            continue
        if position is not None and not of_pool and not same_topic(position.topic_id, entry.topic_id):
            continue
        if not any(_explains(move, entry, of_pool=of_pool) for move in moves):
            return entry
    return None


def _explains(move: Gap, entry: MapEntry, *, of_pool: bool) -> bool:
    if move.source != entry.source or not (of_pool or same_topic(move.topic_id, entry.topic_id)):
        return False
    if move.begin < entry.known:
        return False
    return move.to_topic_id != move.topic_id or move.end < entry.known
