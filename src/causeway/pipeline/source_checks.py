"""Questions to a source before a verdict on its log, asked only when something is amiss."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.errors import AccessDenied
from causeway.kafka.admin import ClusterView
from causeway.kafka.batches import Unread, batches_between
from causeway.kafka.lane import OpenLane
from causeway.kafka.outcome import Again
from causeway.model.order import Order
from causeway.model.position import Position, SourcePartition
from causeway.model.record import Gap
from causeway.pipeline.memory import Memory
from causeway.policy.gaps import passed_holes
from causeway.policy.holes import Hole, lost, ordinary, unexplained
from causeway.policy.runs import Run


def is_cut_off(view: ClusterView, lane: OpenLane, memory: Memory) -> bool:
    """Whether the last record seen, which did not come, is gone because its log was truncated.

    Retention takes records too, perhaps between the look at the log's start and the fetch: then the lane is
    opened again, and there is nothing left to check. So does compaction, once a newer record has its key.
    There the record proves nothing, and the lane is opened again with the client's validation of its epoch.
    The policy is read now, and not when the order was made: it may have changed since.

    Raises CausewayError where the source does not return an answer: no verdict without one.
    """
    source = lane.lane.source
    spot = (source.topic, source.partition)
    log_start = view.offsets([spot], "earliest").get(spot)
    if log_start is None or log_start >= lane.seen:
        return False
    if is_compacted(view, source.topic) is False:
        lane.absent = False  # that is settled
        return True
    memory.compacted.add(source)
    return False


def is_compacted(view: ClusterView, topic: str) -> bool | None:
    """Whether compaction may take records of a topic; None where its configuration must not be read."""
    try:
        config = view.configs([topic]).get(topic, {})
    except AccessDenied:
        return None
    return "compact" in config.get("cleanup.policy", "")


def check_holes(
    order: Order,
    view: ClusterView,
    lane: OpenLane,
    position: Position,
    runs: Mapping[int, Sequence[Run]],
    memory: Memory,
    deadline: float,
) -> tuple[Position, list[Gap]]:
    """Whether something explains the offsets without records that this position passes.

    Answers the position to commit, and the gaps to write with it. Where on_gap is "stop" and nothing explains
    them, raises Again: nothing of the transaction is kept, and the next attempt stops the lane before them.

    Looks take time while the transaction is open, and it must not time out. So after the deadline, and at
    least one look, the attempt starts again. It remembers what was explained, and gets further.
    """
    source = position.source
    if memory.compacted_topics.get((source.cluster, source.topic), False):
        return position, []
    known = memory.explained.get(source, set())
    large = [hole for hole in lane.holes(runs) if hole.size > position.ordinary and hole not in known]
    if not large or _takes_records(view, source, memory):
        return position, []
    missing: list[Hole] = []
    for hole in large:
        if hole.size > position.ordinary:
            if memory.looks and time.monotonic() > deadline:
                memory.looks = 0
                raise Again(
                    f"offsets without records of {source} are compared with its log, up to {hole.begin}"
                )
            memory.looks += 1
            found, usual = _look_into(view, source, hole, memory)
            position = replace(position, ordinary=max(position.ordinary, usual))
            missing += found
    # Once more, now that it matters: the topic may be compacted since a moment ago.
    if not missing or _takes_records(view, source, memory):
        return position, []
    if order.on_gap == "continue":
        return passed_holes(position, missing)
    memory.holes[source] = missing[0]
    raise Again(lost(source, missing[0]).what)


def _takes_records(view: ClusterView, source: SourcePartition, memory: Memory) -> bool:
    """Whether compaction explains what is missing; where nothing tells, that is said, and it may."""
    compacted = is_compacted(view, source.topic)
    if compacted is None:
        what = (
            f"the configuration of {source.topic} must not be read: what its log lost may pass for compaction"
        )
        memory.say("warning", what)
    memory.compacted_topics[source.cluster, source.topic] = compacted is not False
    return compacted is not False


def _look_into(
    view: ClusterView, source: SourcePartition, hole: Hole, memory: Memory
) -> tuple[list[Hole], int]:
    """What of a hole nothing explains, and up to which size holes are ordinary there."""
    try:
        batches = batches_between(view.cluster, source.topic, source.partition, *hole)
    except Unread as error:
        raise Again(f"offsets {hole.begin} to {hole.end - 1} of {source} were not read: {error}") from None
    if batches is None:
        memory.say("warning", "this version of the client does not tell what holes of source logs consist of")
        return [], 0
    missing = unexplained(hole, batches)
    if missing:
        return missing, 0
    memory.explained.setdefault(source, set()).add(hole)
    return [], ordinary(hole, batches)


def is_still_lost(view: ClusterView, source: SourcePartition, hole: Hole) -> bool:
    """Whether a hole that stopped a partition is still there: so it is unless the log shows what fills it."""
    try:
        batches = batches_between(view.cluster, source.topic, source.partition, *hole)
    except Unread:
        return True
    if batches is None or not unexplained(hole, batches):
        return False
    return is_compacted(view, source.topic) is False
