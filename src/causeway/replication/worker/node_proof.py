"""Proves by content that a node of a source pool has what was read from another one.

The last record read is part of the position, as a digest. The next node is read from that record on: it must
come first, and be equal. Nothing of the partition is produced before.
"""

from __future__ import annotations

from typing import Any

from causeway.core.position import KnownRecord
from causeway.core.topic import Spot
from causeway.kafka.digest_reader import digest_of
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.polled import Polled
from causeway.kafka.source_consumer import SourceConsumer
from causeway.kafka.task_errors import Again
from causeway.replication.worker.source_checks import is_compacted
from causeway.replication.worker.task_state import TaskState


def note_last(consumer: SourceConsumer, records: Any) -> None:
    """Keep a digest of the last of these records of each partition, for the position."""
    for spot, index in _last_ones(consumer, records).items():
        state = consumer.open.get(spot)
        if state is not None and state.finding is None:
            message = consumer.at(records, index)
            state.digests.append(KnownRecord(message.offset(), digest_of(message)))


def unproved(consumer: SourceConsumer, polled: Polled, task: TaskState) -> tuple[Polled, str]:
    """Check the partitions that wait for their proof.

    Returns what may be used of the poll, and why the node's content is not the pool's; "" if it may be.
    """
    waiting = {spot: state for spot, state in consumer.open.items() if state.proof is not None}
    if not waiting:
        return polled, ""
    index = 0
    for run in consumer.runs(polled.records) if polled.records else ():
        state = waiting.pop(run.at, None)
        if state is not None and (why := _compare(consumer, state, run.first, polled.records, index, task)):
            return polled, why
        index += run.length
    # An end before the record proves nothing: after an election it may lag for a moment.
    ends = [
        (state, offset) for state, offset in polled.ends if state.proof is None or _has_passed(state, offset)
    ]
    for state, offset in ends:
        instead = f"the log goes on to offset {offset}"
        if state.proof is not None and (why := _absent(consumer, state, instead, task)):
            return polled, why
    return polled._replace(ends=ends), ""


def _compare(
    consumer: SourceConsumer, state: PartitionState, first: int, records: Any, index: int, task: TaskState
) -> str:
    proof = state.proof
    assert proof is not None
    if first != proof.offset:
        return _absent(consumer, state, f"the first one is at offset {first}", task)
    if digest_of(consumer.at(records, index)) != proof.digest:
        return (
            f"{state.lane.source} has another record at offset {proof.offset} than the one replicated before"
        )
    state.proved()
    return ""


def _has_passed(state: PartitionState, end: int) -> bool:
    return state.proof is not None and end > state.proof.offset


def _absent(consumer: SourceConsumer, state: PartitionState, instead: str, task: TaskState) -> str:
    """The record does not come: compaction or retention removed it, or this is another log."""
    source, proof = state.lane.source, state.proof
    assert proof is not None
    spot: Spot = (source.topic, source.partition)
    log_start = consumer.view.offsets([spot], "earliest").get(spot)
    if log_start is None:
        raise Again(f"{source}: the log start is not known, so the content of its node cannot be judged")
    expired = log_start > proof.offset
    if expired or is_compacted(consumer.view, source.topic) is not False:
        cause = "retention" if expired else "compaction"
        task.add_event(
            "warning",
            f"{source}: {cause} removed the record at offset {proof.offset} from {consumer.cluster.alias},"
            " so its content could not be compared",
        )
        state.proved()
        return ""
    return f"{source} has no record at offset {proof.offset}, which was read before: {instead}"


def _last_ones(consumer: SourceConsumer, records: Any) -> dict[Spot, int]:
    last: dict[Spot, int] = {}
    index = 0
    for run in consumer.runs(records):
        index += run.length
        last[run.at] = index - 1
    return last
