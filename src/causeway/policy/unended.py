"""Transactions that lost their end, and what may be done about them. Pure.

A broker that starts again can answer a fence without having written the markers of what it fenced, in some
partitions or in all (tests/faults/test_markers.py). What is open there stays hidden until the next
transaction under the same id ends in that partition, and then shares its fate:

    offset   7 … 9 │ 10     │ 11 … 13          │
             ours  │ marker │ without a marker │ end
                              ↑ stable

To commit would be right if the transaction was one that commits, and to abort otherwise. Nobody can be asked
which it was, but what others have seen already tells:

    open                                    it was      so
    a place, behind what ledger and map     aborted     abort: it is carried again
    know
    a place, before that                    committed   the next transaction commits it, or it belongs to
                                                        somebody else. It may come otherwise: it is written
                                                        down as hidden, and looked for when nothing is open
                                                        there any more
    the map, and the ledger counts it       committed   write it again, and commit both
    the map, and the ledger does not        aborted     abort
    the ledger, and its records in the map  committed   write it again, and commit both
    or at their places can be seen
    the ledger, and none can be seen        all the     abort
                                            same
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from causeway.model.position import Position, SourcePartition
from causeway.model.record import Hidden
from causeway.policy.integrity import same_topic
from causeway.policy.testimony import Landed, Spot


@dataclass(frozen=True, slots=True)
class Known:
    """How far a place is filled with what was carried, and which record was the last of it."""

    end: int
    source: SourcePartition
    offset: int  # the next one behind it

    @staticmethod
    def of(landed: Landed) -> Known:
        return Known(landed.place_end, landed.source, landed.end)

    def hidden(self, spot: Spot, at: int) -> Hidden:
        cluster, topic, partition = self.source
        return Hidden(*spot, self.end, cluster, topic, partition, self.offset, at)


def known_to(positions: Iterable[Position]) -> dict[Spot, Known]:
    """What the ledger knows of each place; where keys choose it knows none."""
    known: dict[Spot, Known] = {}
    for position in positions:
        spot = (position.place.topic, position.place.partition)
        if position.place_end >= 0 and (spot not in known or known[spot].end < position.place_end):
            known[spot] = Known(position.place_end, position.source, position.offset)
    return known


def to_abort(open_from: Mapping[Spot, int], known: Mapping[Spot, Known]) -> dict[Spot, int]:
    """Of places with something open, and from where: those in which nothing of it counts as carried."""
    return {
        spot: offset for spot, offset in open_from.items() if spot not in known or known[spot].end <= offset
    }


def counts(landed: Landed, positions: Mapping[SourcePartition, Position]) -> bool:
    """Whether the ledger counts what this record of the map says as carried."""
    position = positions.get(landed.source)
    if position is None or not same_topic(position.topic_id, landed.topic_id):
        return False
    return position.offset >= landed.end
