"""Hanging transactions, which have no marker in a partition, and how to end them. Pure.

A broker that restarts can respond to a fence without having written the markers of the transactions that it
fenced, in some partitions or in all (tests/faults/test_markers.py). Their records stay open and hidden until
the next transaction under the same id ends in that partition; that marker commits or aborts them too:

    offset   7 … 9 │ 10     │ 11 … 13          │
             ours  │ marker │ without a marker │ end
                              ↑ last stable offset

Commit is right if the transaction was committed, abort is right otherwise. No broker can tell which it was,
but what readers have already seen can:

    open in                                 it was      action
    a place, after the end that ledger and  aborted     abort: the records are replicated again
    offset map know
    a place, before that end                committed   none: the next transaction commits it, or it belongs
                                                        to another producer. It may be aborted instead: the
                                                        ledger records it as hidden, and it is checked when
                                                        nothing is open there any more
    the offset map, and the ledger counts   committed   write it again, and commit both
    it
    the offset map, and the ledger does     aborted     abort
    not count it
    the ledger, and its records are         committed   write it again, and commit both
    visible in the offset map or at their
    places
    the ledger, and none of them is         either      abort
    visible
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from causeway.core.ledger_record import Hidden
from causeway.core.position import Position, SourcePartition
from causeway.core.topic import Spot
from causeway.rules.integrity import same_topic
from causeway.rules.ledger_consistency import MapEntry


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """The end of the replicated records at a place, and the source of the last one."""

    end: int
    source: SourcePartition
    offset: int  # the next source offset after it

    @staticmethod
    def of(landed: MapEntry) -> KnownPlace:
        return KnownPlace(landed.place_end, landed.source, landed.end)

    def hidden(self, spot: Spot, at: int) -> Hidden:
        cluster, topic, partition = self.source
        return Hidden(*spot, self.end, cluster, topic, partition, self.offset, at)


def known_to(positions: Iterable[Position]) -> dict[Spot, KnownPlace]:
    """What the ledger knows of each place; with placement by key it knows no place."""
    known: dict[Spot, KnownPlace] = {}
    for position in positions:
        spot = (position.place.topic, position.place.partition)
        if position.place_end >= 0 and (spot not in known or known[spot].end < position.place_end):
            known[spot] = KnownPlace(position.place_end, position.source, position.offset)
    return known


def to_abort(open_from: Mapping[Spot, int], known: Mapping[Spot, KnownPlace]) -> dict[Spot, int]:
    """The places whose open transaction must be aborted: none of it counts as replicated."""
    return {
        spot: offset for spot, offset in open_from.items() if spot not in known or known[spot].end <= offset
    }


def counts(landed: MapEntry, positions: Mapping[SourcePartition, Position]) -> bool:
    """Whether the ledger counts as replicated what this record of the offset map names."""
    position = positions.get(landed.source)
    if position is None or not same_topic(position.topic_id, landed.topic_id):
        return False
    return position.offset >= landed.end
