"""Which lanes of a shard may go on, and from where (step 3).

Positions come from the ledger. A partition that the ledger does not know starts at the log's start, which is
in the ledger before the first fetch; any other start was resolved by the driver, and is a position already.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from causeway.pipeline.source_checks import is_still_lost
from causeway.policy.batches import takes_nothing
from causeway.policy.gaps import settle
from causeway.policy.holes import Hole, lost
from causeway.policy.integrity import Finding, Found, corrupt, diverged, with_ids
from causeway.policy.positions import first, resume
from causeway.policy.repeats import ATTEMPTS, Repeated


@dataclass(slots=True)
class Opening:
    """Lanes to assign, and what the ledger must hear before that."""

    lanes: list[OpenLane] = field(default_factory=list)
    closed: list[SourcePartition] = field(default_factory=list)  # stopped, or with nothing to carry any more
    records: list[Record] = field(default_factory=list)
    # What the ledger must hear as soon as a partition that was stopped for its log goes on again: the last
    # record seen was recognized (truncated), or what could not be read was read (corrupt).
    doubtful: dict[SourcePartition, list[Record]] = field(default_factory=dict)


def open_lanes(
    order: Order,
    intake: Intake,
    destination: ClusterView,
    positions: Mapping[SourcePartition, Position],
    stopped_before: Mapping[SourcePartition, Stopped],
    memory: Memory,
) -> Opening:
    """Judge the lanes that wait. Raises CausewayError where the source does not answer."""
    waiting = dict(intake.waiting)
    try:
        places = destination.describe({lane.place.topic for lane in waiting.values()})
        spots = [
            (place.topic, place.partition)
            for place in {lane.place for lane in waiting.values()}
            if place.topic in places and 0 <= place.partition < places[place.topic].partitions
        ]
        ends = destination.offsets(spots, "latest")
    except CausewayError as error:
        raise Again(str(error)) from None
    opening = Opening()
    at = now_ms()
    for source, found in intake.look(positions, places, ends).items():
        lane = waiting[source]
        settled = settle(
            lane, positions.get(source), found, on_gap=order.on_gap, on_recreate=order.on_recreate, at=at
        )
        position, finding, before = settled.position, settled.finding, stopped_before.get(source)
        if settled.gaps:
            memory.unreadable.pop(source, None)  # another offset, or the same one of another log
            memory.holes.pop(source, None)
        elif finding is None and position is not None:
            finding = _cut_off(position, found, before, memory) or _damaged(position, before, memory)
        hole = _hole(order, intake, position, before, memory) if finding is None and position else None
        if hole is not None and position is not None and hole.expected == position.offset:
            finding = hole
        finding = finding or takes_nothing(lane, position)
        if finding is not None:
            opening.closed.append(source)
            opening.records.append(stopped(order, lane, finding, position))
            memory.stopped[source] = finding
            continue
        if position is None:
            if found.log_start < 0:
                continue  # its start could not be resolved yet
            position = first(lane, found.log_start, _end(ends, lane.place), order.generation, order.lease, at)
            opening.records.append(position)
        elif settled.gaps:
            position = replace(position, lease=order.lease)
            opening.records += [*settled.gaps, position]  # without transactions a crash may fall between them
            if found.missing:
                opening.closed.append(source)
                opening.records += _cleared(order, before, at)
                memory.stopped.pop(source, None)
                continue
        if (known := with_ids(position, found)) != position:
            position = replace(known, lease=order.lease)
            opening.records.append(position)
        if position.place != lane.place:
            position = _moved(position, lane.place, _end(ends, lane.place))
        if before is not None and before.verdict == "refused":
            _expect(before, memory)
        poison = _poison(order, position, before, memory)
        if before is not None and before.verdict in ("truncated", "corrupt"):
            opening.doubtful[source] = _cleared(order, before, at)
        elif not poison:
            opening.records += _cleared(order, before, at)
        memory.stopped.pop(source, None)
        careful = memory.single or lane.shared or source in memory.careful
        quarantine = order.quarantine if _quarantines(order, source, memory) else ""
        resumed = resume(position, found.log_start, compacted=source in memory.compacted)
        opening.lanes.append(OpenLane(lane, position, careful, poison, quarantine, resumed, hole))
    return opening


def stopped(order: Order, lane: Lane, finding: Finding, position: Position | None) -> Stopped:
    return Stopped(
        *lane.source,
        verdict=finding.verdict,
        what=finding.what,
        todo=finding.todo,
        at=now_ms(),
        expected=finding.expected,
        found=finding.found,
        gone=finding.gone,
        topic_id=position.topic_id if position else lane.topic_id,
        lease=order.lease,
    )


def _cut_off(position: Position, found: Found, before: Stopped | None, memory: Memory) -> Finding | None:
    """Whether the log was cut off under this position, although it may have grown beyond it since.

    The last record seen tells whether it is the old one again. Where that cannot be compared (it has no
    epoch, or retention took it) a verdict from before holds: nobody knows what lies before the position now.
    An operator's word clears it.
    """
    source = position.source
    if source in memory.truncated:
        return diverged(source, position.offset, memory.truncated[source])
    _, epoch = resume(position, found.log_start)
    if before is not None and before.verdict == "truncated" and epoch < 0:
        return Finding("truncated", before.what, before.todo, before.expected, before.found, before.gone)
    return None


def _damaged(position: Position, before: Stopped | None, memory: Memory) -> Finding | None:
    """Whether what the log holds at this position could not be read, often enough to say so."""
    known = before is not None and (before.verdict, before.expected) == ("corrupt", position.offset)
    return corrupt(position.source, position.offset, memory.unreadable.get(position.source), known=known)


def _hole(
    order: Order, intake: Intake, position: Position, before: Stopped | None, memory: Memory
) -> Finding | None:
    """Offsets at or after the position that the source lost, and before which the lane must stop.

    One that stopped the partition earlier is looked at once more: a replica that is whole may lead now.
    """
    source = position.source
    if order.on_gap == "continue":
        return None
    hole = memory.holes.get(source)
    if hole is None and before is not None and (before.verdict, before.expected) == ("gap", position.offset):
        hole = Hole(before.expected, before.found)
        if not is_still_lost(intake.view, source, hole):
            return None
    return lost(source, hole) if hole is not None and hole.begin >= position.offset else None


def _cleared(order: Order, before: Stopped | None, at: int) -> list[Record]:
    """It goes on again: the ledger must not say that it stands still."""
    if before is None:
        return []
    return [Stopped(*before.source, verdict="", what="", todo="", at=at, lease=order.lease)]


def _quarantines(order: Order, source: SourcePartition, memory: Memory) -> bool:
    return order.on_poison == "quarantine" and source not in memory.no_quarantine


def _expect(before: Stopped, memory: Memory) -> None:
    """A record that was rejected again and again in another slice is tried once, not as often as before."""
    memory.repeated.setdefault(before.source, Repeated(before.expected, "", ATTEMPTS - 1))


def _poison(order: Order, position: Position, before: Stopped | None, memory: Memory) -> dict[int, Finding]:
    """Records that the destination refused, as far as they still lie ahead.

    One that stopped the partition in an earlier slice of this run is known from the ledger: finding it
    again would hold up the whole shard. A new run tries again, the destination may have changed.
    """
    source = position.source
    if before is not None and before.verdict == "poison" and before.lease == order.lease:
        finding = Finding("poison", before.what, before.todo, before.expected)
        memory.poison.setdefault(source, {}).setdefault(before.expected, finding)
    known = memory.poison.get(source, {})
    return {offset: finding for offset, finding in known.items() if offset >= position.offset}


def _end(ends: Mapping[tuple[str, int], int], place: Place) -> int:
    return ends.get((place.topic, place.partition), 0)


def _moved(position: Position, place: Place, place_start: int) -> Position:
    """From here on another partition of the same topic: the map changed, or `modulo` of a topic that grew."""
    place = place._replace(topic_id=position.place.topic_id)
    return replace(position, place=place, place_start=place_start, place_end=-1)
