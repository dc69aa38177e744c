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
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.source_consumer import SourceConsumer
from causeway.kafka.task_errors import Again
from causeway.replication.worker.partition_verdict import DestinationPlaces, judge_start, no_right
from causeway.replication.worker.task_state import TaskState
from causeway.rules.gaps import Settled, settle
from causeway.rules.integrity import Finding, LogFacts, with_ids
from causeway.rules.positions import first, known_record, on_node, resume
from causeway.rules.repeats import ATTEMPTS, Repeated

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


@dataclass(frozen=True, slots=True)
class Opening:
    """What judging and starting the waiting partitions of one attempt needs."""

    order: TaskOrder
    consumer: SourceConsumer
    places: DestinationPlaces
    task: TaskState
    starts: PartitionStarts
    at: int

    def open(self, lane: Lane, position: Position | None, facts: LogFacts, before: Stopped | None) -> None:
        """Assign the partition or close it; what the ledger needs before that goes to `starts.records`."""
        order, task, starts = self.order, self.task, self.starts
        if lane.place.topic in self.places.denied:  # nothing is known about it, so nothing else is judged
            self._close(lane, no_right(order, lane, "DESCRIBE", position), position)
            return
        policies = order.policies
        settled = settle(
            lane,
            position,
            facts,
            on_gap=policies.on_gap,
            on_recreate=policies.on_recreate,
            at=self.at,
        )
        if settled.gaps:
            starts.lost = starts.lost or settled.gaps[0].why
            task.unreadable.pop(lane.source, None)  # it was for another offset, or for another log
            task.holes.pop(lane.source, None)
            task.explained.pop(lane.source, None)
        verdict = judge_start(order, self.consumer, self.places, lane, settled, facts, before, task)
        if verdict.finding is not None:
            self._close(lane, verdict.finding, settled.position)
            starts.lost = starts.lost or lost_on_node(verdict.finding)
        elif (start := self._start(lane, settled, facts, before)) is not None:
            task.stopped.pop(lane.source, None)
            starts.lanes.append(self._state(lane, start, facts, before, verdict.hole))

    def _start(
        self, lane: Lane, settled: Settled, facts: LogFacts, before: Stopped | None
    ) -> Position | None:
        """The position to begin at; None if there is nothing to read, or the log start is not known yet."""
        position, lease, starts = settled.position, self.order.slice.lease, self.starts
        if position is None:
            if facts.log_start < 0:
                return None
            end, generation = self.places.end(lane.place), self.order.slice.generation
            position = first(lane, facts.log_start, end, generation, lease, self.at)
            position = replace(position, node=self.consumer.node)
            starts.records.append(position)
        elif settled.gaps:
            position = replace(position, lease=lease)
            starts.records += [*settled.gaps, position]  # without transactions a crash may come between
            if facts.missing:
                starts.closed.append(lane.source)
                starts.records += self._cleared(before)
                self.task.stopped.pop(lane.source, None)
                return None
        if (known := with_ids(position, facts)) != position:
            position = replace(known, lease=lease)
            # On another node of a pool only with its first commit, when its content is proved.
            starts.records += [position] if not self.consumer.node else []
        if position.place != lane.place:
            position = _moved(position, lane.place, self.places.end(lane.place))
        return position

    def _state(
        self,
        lane: Lane,
        position: Position,
        facts: LogFacts,
        before: Stopped | None,
        hole: Finding | None,
    ) -> PartitionState:
        order, task, source = self.order, self.task, lane.source
        if before is not None and before.verdict == "refused":
            _expect(before, task)
        poison = _poison(order, position, before, task)
        if before is not None and before.verdict in ("truncated", "corrupt"):
            self.starts.doubtful[source] = self._cleared(before)
        elif not poison:
            self.starts.records += self._cleared(before)
        report_each = task.single or lane.shared or source in task.report_each
        quarantine = order.quarantine if _quarantines(order, source, task) else ""
        resumed = resume(position, facts.log_start, compacted=source in task.compacted)
        proof = known_record(position, facts.log_start)
        resumed = (proof.offset, -1) if proof is not None else resumed
        _warn_of_expired_proof(position, facts.log_start, task)
        return PartitionState(lane, position, report_each, poison, quarantine, resumed, hole, proof)

    def _close(self, lane: Lane, finding: Finding, position: Position | None) -> None:
        self.starts.closed.append(lane.source)
        self.starts.records.append(stopped(self.order, lane, finding, position))
        self.task.stopped[lane.source] = finding

    def _cleared(self, before: Stopped | None) -> list[LedgerRecord]:
        """The ledger record that clears an earlier stop, for a partition that goes on again."""
        if before is None:
            return []
        lease = self.order.slice.lease
        return [Stopped(*before.source, verdict="", what="", todo="", at=self.at, lease=lease)]


def open_lanes(
    order: TaskOrder,
    consumer: SourceConsumer,
    destination: ClusterView,
    positions: Mapping[SourcePartition, Position],
    stopped_before: Mapping[SourcePartition, Stopped],
    task: TaskState,
) -> PartitionStarts:
    """Judge the waiting partitions.

    Raises CausewayError if the source does not respond, Again if the destination does not.
    """
    waiting = dict(consumer.waiting)
    positions = _on_node(positions, consumer)
    try:
        places = DestinationPlaces.of(destination, {lane.place for lane in waiting.values()})
    except CausewayError as error:
        raise Again(str(error)) from None
    opening = Opening(order, consumer, places, task, PartitionStarts(), now_ms())
    for source, facts in consumer.log_facts(positions, places.topics, places.ends).items():
        opening.open(waiting[source], positions.get(source), facts, stopped_before.get(source))
    return opening.starts


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


def _moved(position: Position, place: Place, place_start: int) -> Position:
    """Go on in another partition of the same topic: the partition map changed, or a `modulo` topic grew."""
    place = place._replace(topic_id=position.place.topic_id)
    return replace(position, place=place, place_start=place_start, place_end=-1)
