"""Checks against a source before a verdict on its log, made only if something looks wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from causeway.core.ledger_record import Gap
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import TaskOrder
from causeway.errors import AccessDenied
from causeway.kafka.admin import ClusterView
from causeway.kafka.batches import Unread, batches_between
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.task_errors import Again
from causeway.replication.worker.task_state import TaskState
from causeway.rules.gaps import passed_holes
from causeway.rules.holes import Hole, LogBatch, holes_between, lost, ordinary, unexplained
from causeway.rules.offset_runs import OffsetRun

LOOKS_SHARE = 0.25
"""The share of the transaction timeout that a commit may spend on checking holes in source logs."""


def is_cut_off(view: ClusterView, state: PartitionState, task: TaskState) -> bool:
    """Whether the last record seen, which the fetch did not return, is gone because its log was truncated.

    Retention deletes records too, perhaps between the check of the log start and the fetch: then the
    partition is opened again, and nothing is left to check. Compaction also removes records, once a newer
    record has the same key. Then the record proves nothing, and the partition is opened again with the
    client's validation of its epoch. The policy is read now, not when the order was made: it may have changed
    since.

    Raises CausewayError if the source does not respond: no verdict without a response.
    """
    source = state.lane.source
    spot = (source.topic, source.partition)
    log_start = view.offsets([spot], "earliest").get(spot)
    if log_start is None or log_start >= state.seen:
        return False
    if is_compacted(view, source.topic) is False:
        state.absent = False  # confirmed: it was truncated
        return True
    task.compacted.add(source)
    return False


def is_compacted(view: ClusterView, topic: str) -> bool | None:
    """Whether compaction may remove records of a topic; None if this user may not read its configuration."""
    try:
        config = view.configs([topic]).get(topic, {})
    except AccessDenied:
        return None
    return "compact" in config.get("cleanup.policy", "")


def looks_until(order: TaskOrder) -> float:
    """The deadline, on the monotonic clock, of hole checks that begin now."""
    return time.monotonic() + order.limits.transaction_timeout * LOOKS_SHARE


def look_ahead(
    order: TaskOrder, view: ClusterView, holes: Iterable[tuple[PartitionState, Hole]], task: TaskState
) -> None:
    """Without transactions: check holes before anything after them is produced, as it is visible at once.

    Raises Again as `check_holes` does. With on_gap = "continue" no check is needed.
    """
    if order.policies.on_gap == "continue":
        return
    task.looks, deadline = 0, looks_until(order)
    for state, hole in holes:
        source = state.lane.source
        if hole.size <= state.position.ordinary or not _unknown(hole, source, task):
            continue
        if task.compacted_topics.get((source.cluster, source.topic), False):
            continue
        if _takes_records(view, source, task):
            continue
        for part in _unknown(hole, source, task):
            missing, usual = _look_into(view, source, part, task, deadline)
            if missing and not _takes_records(view, source, task):
                task.holes[source] = missing[0]
                raise Again(lost(source, missing[0]).what)
            if part == hole:
                ordinary_now = max(state.position.ordinary, usual)
                state.position = replace(state.position, ordinary=ordinary_now)


def check_holes(
    order: TaskOrder,
    view: ClusterView,
    state: PartitionState,
    position: Position,
    runs: Mapping[int, Sequence[OffsetRun]],
    task: TaskState,
    deadline: float,
) -> tuple[Position, list[Gap]]:
    """Check that something explains the offsets without records that this position passes.

    Returns the position to commit, and the gaps to write with it. If on_gap is "stop" and nothing explains
    them, raises Again: nothing of the transaction is kept, and the next attempt stops the partition before
    them.

    Checks take time while the transaction is open, and it must not time out. So after the deadline, and at
    least one check, the attempt restarts. The task remembers what was explained, inside a hole too, so the
    next attempt gets further: one hole may hold thousands of aborted transactions.
    """
    source = position.source
    if task.compacted_topics.get((source.cluster, source.topic), False):
        return position, []
    large = [hole for hole in state.holes(runs) if hole.size > position.ordinary]
    large = [hole for hole in large if _unknown(hole, source, task)]
    if not large or _takes_records(view, source, task):
        return position, []
    missing: list[Hole] = []
    for hole in large:
        if hole.size > position.ordinary:
            for part in _unknown(hole, source, task):
                lost_parts, usual = _look_into(view, source, part, task, deadline)
                missing += lost_parts
                if part == hole:
                    position = replace(position, ordinary=max(position.ordinary, usual))
        if missing and order.policies.on_gap != "continue":
            break
    # Check again, now that it matters: the topic may have become compacted a moment ago.
    if not missing or _takes_records(view, source, task):
        return position, []
    if order.policies.on_gap == "continue":
        return passed_holes(position, missing)
    task.holes[source] = missing[0]
    raise Again(lost(source, missing[0]).what)


def _takes_records(view: ClusterView, source: SourcePartition, task: TaskState) -> bool:
    """Whether compaction may explain what is missing. If the policy cannot be read: warn, and return True."""
    compacted = is_compacted(view, source.topic)
    if compacted is None:
        denied = f"no permission to read the configuration of {source.topic}"
        task.add_event("warning", f"{denied}: what its log lost may pass for compaction")
    task.compacted_topics[source.cluster, source.topic] = compacted is not False
    return compacted is not False


def _unknown(hole: Hole, source: SourcePartition, task: TaskState) -> list[Hole]:
    """The parts of a hole that are not explained yet."""
    known = task.explained.get(source, ())
    return unexplained(hole, [LogBatch(part.begin, part.end - 1, False) for part in known])


def _look_into(
    view: ClusterView, source: SourcePartition, hole: Hole, task: TaskState, deadline: float
) -> tuple[list[Hole], int]:
    """The parts of a hole that nothing explains, and the size up to which holes are ordinary there.

    Raises Again after the deadline; what was read until then is remembered.
    """
    begin, missing = hole.begin, list[Hole]()
    batches: list[LogBatch] = []
    while begin < hole.end:
        if task.looks and time.monotonic() > deadline:
            task.looks = 0
            raise Again(f"offsets without records of {source} are compared with its log, up to {begin}")
        task.looks += 1
        try:
            read = batches_between(view.cluster, source.topic, source.partition, begin, hole.end, deadline)
        except Unread as error:
            raise Again(f"offsets {begin} to {hole.end - 1} of {source} were not read: {error}") from None
        if read is None:
            task.add_event(
                "warning", "this version of the client does not report what holes of source logs consist of"
            )
            return [], 0
        lost_here = unexplained(Hole(begin, read.end), read.batches)
        explained = holes_between(begin, read.end, ((part.begin, part.size) for part in lost_here))
        task.explained.setdefault(source, []).extend(explained)
        missing += lost_here
        batches += read.batches
        begin = read.end
    return missing, 0 if missing else ordinary(hole, batches)


def is_still_lost(view: ClusterView, source: SourcePartition, hole: Hole) -> bool:
    """Whether a hole that stopped a partition is still there: yes, unless the log shows what fills it."""
    try:
        read = batches_between(view.cluster, source.topic, source.partition, *hole)
    except Unread:
        return True
    if read is None or not unexplained(hole, read.batches):
        return False
    return is_compacted(view, source.topic) is False
