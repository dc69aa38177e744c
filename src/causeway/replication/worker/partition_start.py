"""Which partitions of a shard may go on, and from where (step 3).

Positions come from the ledger. A partition that the ledger does not know starts at the log start, which is
committed to the ledger before the first fetch. The driver has resolved any other start to a position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from causeway.core.clock import now_ms
from causeway.core.ledger_record import LedgerRecord, Stopped
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, TaskOrder
from causeway.core.topic import TopicFacts
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.source_consumer import SourceConsumer
from causeway.kafka.task_errors import Again
from causeway.planning.rules.batch_limits import takes_nothing
from causeway.planning.rules.write_access import is_denied, no_access
from causeway.replication.worker.source_checks import is_still_lost
from causeway.replication.worker.task_state import TaskState
from causeway.rules.gaps import settle
from causeway.rules.holes import Hole, lost
from causeway.rules.integrity import Finding, LogFacts, diverged, with_ids
from causeway.rules.positions import first, known_record, on_node, resume
from causeway.rules.repeats import ATTEMPTS, Repeated
from causeway.rules.unreadable import corrupt

OF_ONE_NODE = ("gap", "truncated", "recreated", "deleted", "corrupt")
"""Verdicts on a source log."""


@dataclass(slots=True)
class PartitionStarts:
    """Partitions to assign, and the ledger records to commit before that."""

    lanes: list[PartitionState] = field(default_factory=list)
    closed: list[SourcePartition] = field(default_factory=list)  # stopped, or nothing left to replicate
    records: list[LedgerRecord] = field(default_factory=list)
    # Ledger records to commit once a partition that was stopped for its log goes on again: the last record
    # seen was recognized (truncated), or what could not be read was read (corrupt).
    doubtful: dict[SourcePartition, list[LedgerRecord]] = field(default_factory=dict)
    lost: str = ""  # what this source has lost: of a pool, another node may have it


def open_lanes(
    order: TaskOrder,
    consumer: SourceConsumer,
    destination: ClusterView,
    positions: Mapping[SourcePartition, Position],
    stopped_before: Mapping[SourcePartition, Stopped],
    task: TaskState,
) -> PartitionStarts:
    """Judge the waiting partitions. Raises CausewayError if the source does not respond."""
    waiting = dict(consumer.waiting)
    positions = _on_node(positions, consumer)
    try:
        denied: set[str] = set()
        topics = {lane.place.topic for lane in waiting.values()}
        places = destination.describe(topics, rights=True, denied=denied)
        spots = [
            (place.topic, place.partition)
            for place in {lane.place for lane in waiting.values()}
            if place.topic in places and 0 <= place.partition < places[place.topic].partitions
        ]
        ends = destination.offsets(spots, "latest")
    except CausewayError as error:
        raise Again(str(error)) from None
    starts = PartitionStarts()
    at = now_ms()
    for source, facts in consumer.log_facts(positions, places, ends).items():
        lane = waiting[source]
        if lane.place.topic in denied:  # nothing is known about its topic, so nothing else is judged
            position = positions.get(source)
            _close(starts, order, lane, _no_access(order, lane, "DESCRIBE", position), position, task)
            continue
        settled = settle(
            lane,
            positions.get(source),
            facts,
            on_gap=order.policies.on_gap,
            on_recreate=order.policies.on_recreate,
            at=at,
        )
        position, finding, before = settled.position, settled.finding, stopped_before.get(source)
        if settled.gaps:
            starts.lost = starts.lost or settled.gaps[0].why
            task.unreadable.pop(source, None)  # it was for another offset, or for another log
            task.holes.pop(source, None)
            task.explained.pop(source, None)
        elif finding is None and position is not None:
            finding = _truncated(position, facts, before, task) or _damaged(position, before, task)
        hole = _hole(order, consumer, position, before, task) if finding is None and position else None
        if hole is not None and position is not None and hole.expected == position.offset:
            finding = hole
        finding = finding or takes_nothing(lane, position)
        if finding is None and _is_denied(lane, places, before, task):
            finding = _no_access(order, lane, "WRITE", position)
        if finding is not None:
            _close(starts, order, lane, finding, position, task)
            starts.lost = starts.lost or lost_on_node(finding)
            continue
        if position is None:
            if facts.log_start < 0:
                continue  # its log start is not known yet
            position = first(
                lane, facts.log_start, _end(ends, lane.place), order.slice.generation, order.slice.lease, at
            )
            position = replace(position, node=consumer.node)
            starts.records.append(position)
        elif settled.gaps:
            position = replace(position, lease=order.slice.lease)
            starts.records += [*settled.gaps, position]  # without transactions a crash may come between
            if facts.missing:
                starts.closed.append(source)
                starts.records += _cleared(order, before, at)
                task.stopped.pop(source, None)
                continue
        if (known := with_ids(position, facts)) != position:
            position = replace(known, lease=order.slice.lease)
            # On another node of a pool only with its first commit, when its content is proved.
            starts.records += [position] if not consumer.node else []
        if position.place != lane.place:
            position = _moved(position, lane.place, _end(ends, lane.place))
        if before is not None and before.verdict == "refused":
            _expect(before, task)
        poison = _poison(order, position, before, task)
        if before is not None and before.verdict in ("truncated", "corrupt"):
            starts.doubtful[source] = _cleared(order, before, at)
        elif not poison:
            starts.records += _cleared(order, before, at)
        task.stopped.pop(source, None)
        report_each = task.single or lane.shared or source in task.report_each
        quarantine = order.quarantine if _quarantines(order, source, task) else ""
        resumed = resume(position, facts.log_start, compacted=source in task.compacted)
        proof = known_record(position, facts.log_start)
        resumed = (proof.offset, -1) if proof is not None else resumed
        _warn_of_expired_proof(position, facts.log_start, task)
        starts.lanes.append(
            PartitionState(lane, position, report_each, poison, quarantine, resumed, hole, proof)
        )
    return starts


def lost_on_node(finding: Finding) -> str:
    """What the source has lost, if that is why a partition stops; of a pool, another node may have it."""
    return finding.what if finding.verdict in OF_ONE_NODE else ""


def _warn_of_expired_proof(position: Position, log_start: int, task: TaskState) -> None:
    """Warn if the content of a pool's node cannot be compared, as the record for that is gone."""
    known = position.known
    if known is not None and position.epoch < 0 and known.offset < log_start:
        task.add_event(
            "warning",
            f"{position.source}: retention removed the record at offset {known.offset}, the last one that was"
            " read from another node, so the content of this node could not be compared",
        )


def _on_node(
    positions: Mapping[SourcePartition, Position], consumer: SourceConsumer
) -> Mapping[SourcePartition, Position]:
    """The positions for the node that the consumer reads, if it reads a pool."""
    if not consumer.node:
        return positions
    return {source: on_node(position, consumer.node) for source, position in positions.items()}


def _close(
    starts: PartitionStarts,
    order: TaskOrder,
    lane: Lane,
    finding: Finding,
    position: Position | None,
    task: TaskState,
) -> None:
    starts.closed.append(lane.source)
    starts.records.append(stopped(order, lane, finding, position))
    task.stopped[lane.source] = finding


def stopped(order: TaskOrder, lane: Lane, finding: Finding, position: Position | None) -> Stopped:
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
        lease=order.slice.lease,
    )


def _truncated(
    position: Position, facts: LogFacts, before: Stopped | None, task: TaskState
) -> Finding | None:
    """Whether the log was truncated before this position, even if it has grown beyond it since.

    The last record seen shows whether it is the old log again. If that cannot be compared (the record has no
    epoch, or retention deleted it), an earlier verdict stays: what lies before the position now is unknown.
    An operator must clear it.
    """
    source = position.source
    if source in task.truncated:
        return diverged(source, position.offset, task.truncated[source])
    _, epoch = resume(position, facts.log_start)
    if known_record(position, facts.log_start) is not None:
        return None  # its content shows whether this node of a pool has what was replicated
    if before is not None and before.verdict == "truncated" and epoch < 0:
        return Finding("truncated", before.what, before.todo, before.expected, before.found, before.gone)
    return None


def _damaged(position: Position, before: Stopped | None, task: TaskState) -> Finding | None:
    """The verdict on a log that could not be read at this position, if that happened often enough."""
    known = before is not None and (before.verdict, before.expected) == ("corrupt", position.offset)
    return corrupt(position.source, position.offset, task.unreadable.get(position.source), known=known)


def _hole(
    order: TaskOrder, consumer: SourceConsumer, position: Position, before: Stopped | None, task: TaskState
) -> Finding | None:
    """Lost offsets at or after the position, before which the partition must stop.

    A hole that stopped the partition earlier is checked again: an intact replica may be the leader now.
    """
    source = position.source
    if order.policies.on_gap == "continue":
        return None
    hole = task.holes.get(source)
    if hole is None and before is not None and (before.verdict, before.expected) == ("gap", position.offset):
        hole = Hole(before.expected, before.found)
        if not is_still_lost(consumer.view, source, hole):
            return None
    return lost(source, hole) if hole is not None and hole.begin >= position.offset else None


def _is_denied(lane: Lane, places: Mapping[str, TopicFacts], before: Stopped | None, task: TaskState) -> bool:
    facts = places.get(lane.place.topic)
    refused_before = before is not None and before.verdict == "refused"
    writable = facts.writable if facts else None
    return is_denied(lane.place.topic, writable, task.denied, refused_before=refused_before)


def _no_access(order: TaskOrder, lane: Lane, rights: str, position: Position | None) -> Finding:
    offset = position.offset if position else -1
    return no_access(lane.place.topic, order.destination.alias, rights, offset)


def _cleared(order: TaskOrder, before: Stopped | None, at: int) -> list[LedgerRecord]:
    """The ledger record that clears an earlier stop, for a partition that goes on again."""
    if before is None:
        return []
    return [Stopped(*before.source, verdict="", what="", todo="", at=at, lease=order.slice.lease)]


def _quarantines(order: TaskOrder, source: SourcePartition, task: TaskState) -> bool:
    barred = source in task.no_quarantine or order.quarantine in task.denied
    return order.policies.on_poison == "quarantine" and not barred


def _expect(before: Stopped, task: TaskState) -> None:
    """Try a record that was rejected repeatedly in another slice only once, not as often as before."""
    task.repeated.setdefault(before.source, Repeated(before.expected, "", ATTEMPTS - 1))


def _poison(
    order: TaskOrder, position: Position, before: Stopped | None, task: TaskState
) -> dict[int, Finding]:
    """Rejected records at or after the position, by offset.

    A record that stopped the partition in an earlier slice of this run is known from the ledger: isolating it
    again would hold up the whole shard. A new run tries it again: the destination may have changed.
    """
    source = position.source
    if before is not None and before.verdict == "poison" and before.lease == order.slice.lease:
        finding = Finding("poison", before.what, before.todo, before.expected)
        task.poison.setdefault(source, {}).setdefault(before.expected, finding)
    known = task.poison.get(source, {})
    return {offset: finding for offset, finding in known.items() if offset >= position.offset}


def _end(ends: Mapping[tuple[str, int], int], place: Place) -> int:
    return ends.get((place.topic, place.partition), 0)


def _moved(position: Position, place: Place, place_start: int) -> Position:
    """Go on in another partition of the same topic: the partition map changed, or a `modulo` topic grew."""
    place = place._replace(topic_id=position.place.topic_id)
    return replace(position, place=place, place_start=place_start, place_end=-1)
