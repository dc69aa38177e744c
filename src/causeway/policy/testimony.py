"""What the offset map says about the ledger: both are written in one transaction.

A ledger that lost its end, or that somebody put back from an older day, knows less than the map: it would
carry again what was carried already. So it is never trusted then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from causeway.model.position import Position, SourcePartition
from causeway.model.record import Gap
from causeway.policy.integrity import same_topic

Spot = tuple[str, int]  # topic and partition


@dataclass(frozen=True, slots=True)
class Landed:
    """The map's word: a partition of a topic was carried up to here, which filled its place up to there."""

    source: SourcePartition
    topic_id: str
    end: int
    place: Spot
    place_end: int


def contradicted(
    said: Iterable[Landed], positions: Mapping[SourcePartition, Position], gaps: Iterable[Gap]
) -> Landed | None:
    """What was carried further than the ledger knows, if anything was.

    Moving back by an operator's word explains it, and so does a topic that was begun again.
    """
    moves = list(gaps)
    for carried in said:
        position = positions.get(carried.source)
        if position is not None and (
            not same_topic(position.topic_id, carried.topic_id) or position.offset >= carried.end
        ):
            continue
        if not any(_explains(move, carried) for move in moves):
            return carried
    return None


def _explains(move: Gap, carried: Landed) -> bool:
    if move.source != carried.source or not same_topic(move.topic_id, carried.topic_id):
        return False
    if move.begin < carried.end:
        return False
    return move.to_topic_id != move.topic_id or move.end < carried.end
