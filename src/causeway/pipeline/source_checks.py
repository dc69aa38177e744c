"""Questions to a source before a verdict on its log, asked only when something is amiss."""

from __future__ import annotations

from causeway.errors import AccessDenied
from causeway.kafka.admin import ClusterView
from causeway.kafka.lane import OpenLane
from causeway.pipeline.memory import Memory


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
