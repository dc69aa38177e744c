"""Records that the destination rejected: those that it will never accept get a verdict, once identified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from causeway.kafka.failures import is_poison, is_refusal, may_not
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.record_findings import rejected_by_destination
from causeway.kafka.task_errors import Again, Refused
from causeway.replication.worker.task_state import TaskState
from causeway.rules.repeats import rejected


class RejectedRecord(NamedTuple):
    state: PartitionState
    offset: int
    error: Any  # the client's

    def __str__(self) -> str:
        return f"{self.state.lane.source} offset {self.offset} was rejected: {self.error.str()}"


def check_reports(states: Sequence[PartitionState], producer: DestinationProducer, task: TaskState) -> None:
    """Raise Again or Refused if any record failed.

    Their transaction fails as a whole, so records of other partitions may be reported as failed too.
    """
    for state in states:
        for error in filter(is_poison, state.quarantine_errors()):
            task.no_quarantine.add(state.lane.source)
            raise Again(f"the quarantine rejected a record of {state.lane.source}: {error.str()}")
    failed = [RejectedRecord(state, *record) for state in states for record in state.rejected()]
    if not failed:
        return
    _check_rights(failed, task)
    poisonous = [record for record in failed if is_poison(record.error)]
    if poisonous and task.single:
        for record in poisonous:
            verdicts = task.poison.setdefault(record.state.lane.source, {})
            verdicts[record.offset] = rejected_by_destination(*record)
        task.single = False
        raise Again(str(poisonous[0]))
    refusals = [record for record in failed if is_refusal(record.error)]
    if task.single and _count(refusals, task):
        raise Again(str((poisonous or failed)[0]))
    kind = Refused if poisonous or refusals or producer.client.rejected_a_record else Again
    raise kind(str((poisonous or refusals or failed)[0]))


def _check_rights(failed: Sequence[RejectedRecord], task: TaskState) -> None:
    """A missing permission concerns the topic, so there is no record to isolate."""
    topics = set()
    for state, offset, error in failed:
        if may_not(error):
            quarantined = any(offset == report.source for report in state.quarantined)
            topics.add(state.quarantine if quarantined else state.lane.place.topic)
    if topics:
        task.denied |= topics
        task.single = False
        raise Again(f"no permission to write to: {', '.join(sorted(topics))}")


def _count(refusals: Sequence[RejectedRecord], task: TaskState) -> bool:
    """Count what brokers rejected; returns whether a record has its verdict now.

    With one record per batch, an error concerns that record alone. Only the first one of each partition
    counts: those after it are rejected with it, and would restart the count each time.
    """
    first: dict[PartitionState, RejectedRecord] = {}
    for record in refusals:
        if record.state not in first or record.offset < first[record.state].offset:
            first[record.state] = record
    decided = False
    for state, offset, error in first.values():
        source, topic = state.lane.source, state.lane.place.topic
        decided |= task.count_failure(rejected(source, offset, topic, error.code(), error.str()))
    return decided
