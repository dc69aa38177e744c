"""Whether a partition may go on at its position: its log, and its place at the destination."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from causeway.core.ledger_record import Stopped
from causeway.core.position import Place, Position
from causeway.core.task_order import Lane, TaskOrder
from causeway.core.topic import Spot, TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.kafka.source_consumer import SourceConsumer
from causeway.planning.rules.batch_limits import takes_nothing
from causeway.planning.rules.write_access import is_denied, no_access
from causeway.replication.worker.source_checks import is_still_lost
from causeway.replication.worker.task_state import TaskState
from causeway.rules.gaps import Settled
from causeway.rules.holes import Hole, lost
from causeway.rules.integrity import Finding, LogFacts, diverged
from causeway.rules.positions import known_record, resume
from causeway.rules.unreadable import corrupt


@dataclass(frozen=True, slots=True)
class DestinationPlaces:
    """What the destination says about the places of the waiting partitions."""

    topics: Mapping[str, TopicFacts]
    denied: Collection[str]  # topics that may not even be described
    ends: Mapping[Spot, int]

    @staticmethod
    def of(destination: ClusterView, places: Collection[Place]) -> DestinationPlaces:
        """Raises CausewayError if the destination does not respond."""
        denied: set[str] = set()
        topics = destination.describe({place.topic for place in places}, rights=True, denied=denied)
        spots = [
            (place.topic, place.partition)
            for place in places
            if place.topic in topics and 0 <= place.partition < topics[place.topic].partitions
        ]
        return DestinationPlaces(topics, denied, destination.offsets(spots, "latest"))

    def end(self, place: Place) -> int:
        return self.ends.get((place.topic, place.partition), 0)


@dataclass(frozen=True, slots=True)
class StartVerdict:
    """Why the partition must stop, if it must; and the lost offsets before which it must stop later."""

    finding: Finding | None
    hole: Finding | None


def judge_start(
    order: TaskOrder,
    consumer: SourceConsumer,
    places: DestinationPlaces,
    lane: Lane,
    settled: Settled,
    facts: LogFacts,
    before: Stopped | None,
    task: TaskState,
) -> StartVerdict:
    """`settled`: the position after the policies; `before`: why the partition was stopped, if it was."""
    position, finding = settled.position, settled.finding
    if not settled.gaps and finding is None and position is not None:
        finding = _truncated(position, facts, before, task) or _damaged(position, before, task)
    hole = _hole(order, consumer, position, before, task) if finding is None and position else None
    if hole is not None and position is not None and hole.expected == position.offset:
        finding = hole
    finding = finding or takes_nothing(lane, position)
    if finding is None and _is_denied(lane, places.topics, before, task):
        finding = no_right(order, lane, "WRITE", position)
    return StartVerdict(finding, hole)


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


def no_right(order: TaskOrder, lane: Lane, rights: str, position: Position | None) -> Finding:
    offset = position.offset if position else -1
    return no_access(lane.place.topic, order.destination.alias, rights, offset)
