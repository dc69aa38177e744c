"""Which lanes of a shard may go on, and from where (step 3).

Positions come from the ledger. A partition that the ledger does not know starts where the order says;
that start is resolved once, and is in the ledger before the first fetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.intake import Intake
from causeway.kafka.lane import OpenLane
from causeway.kafka.outcome import Again
from causeway.model.order import Lane, Order
from causeway.model.position import Place, Position, SourcePartition
from causeway.model.record import Record, Stopped
from causeway.pipeline.memory import Memory, now_ms
from causeway.policy.integrity import Finding


@dataclass(slots=True)
class Opening:
    """Lanes to assign, and what the ledger must hear before that."""

    lanes: list[OpenLane] = field(default_factory=list)
    stopped: list[SourcePartition] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


def open_lanes(
    order: Order,
    intake: Intake,
    destination: ClusterView,
    positions: Mapping[SourcePartition, Position],
    stopped_before: Iterable[SourcePartition],
    memory: Memory,
) -> Opening:
    """Judge the lanes that wait. Raises CausewayError where the source does not answer."""
    waiting = dict(intake.waiting)
    try:
        places = destination.describe({lane.place.topic for lane in waiting.values()})
        fresh = {
            lane.place
            for source, lane in waiting.items()
            if (known := positions.get(source)) is None or known.place != lane.place
        }
        known_places = [(p.topic, p.partition) for p in fresh if p.topic in places and p.partition >= 0]
        ends = destination.offsets(known_places, "latest")
    except CausewayError as error:
        raise Again(str(error)) from None
    opening = Opening()
    for source, (finding, begin) in intake.judge(positions, places).items():
        lane = waiting[source]
        position = positions.get(source)
        if finding is not None:
            opening.stopped.append(source)
            opening.records.append(stopped(lane, finding))
            memory.stopped[source] = finding
            continue
        if position is None:
            if begin < 0:
                continue  # its start could not be resolved yet
            position = _first(order, lane, begin, _end(ends, lane.place))
            opening.records.append(position)
        elif position.place != lane.place:
            position = _moved(position, lane.place, _end(ends, lane.place))
        if source in stopped_before and source not in memory.barriers:
            opening.records.append(Stopped(*source, verdict="", what="", todo="", at=now_ms()))
        memory.stopped.pop(source, None)
        careful = memory.single or lane.shared or source in memory.careful
        opening.lanes.append(OpenLane(lane, position, careful, memory.barriers.get(source)))
    return opening


def stopped(lane: Lane, finding: Finding) -> Stopped:
    return Stopped(*lane.source, verdict=finding.verdict, what=finding.what, todo=finding.todo, at=now_ms())


def _end(ends: Mapping[tuple[str, int], int], place: Place) -> int:
    return ends.get((place.topic, place.partition), 0)


def _moved(position: Position, place: Place, place_start: int) -> Position:
    """From here on another partition of the same topic: the map changed, or `modulo` of a topic that grew."""
    place = place._replace(topic_id=position.place.topic_id)
    return replace(position, place=place, place_start=place_start, place_end=-1)


def _first(order: Order, lane: Lane, begin: int, place_start: int) -> Position:
    return Position(
        source=lane.source,
        topic_id=lane.topic_id,
        start=begin,
        offset=begin,
        epoch=-1,
        place=lane.place,
        place_start=place_start,
        place_end=-1,
        generation=order.generation,
        at=now_ms(),
    )
