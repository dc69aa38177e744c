"""Log start and log end offsets of source partitions."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from causeway.core.plan import Plan
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView

LEADER_SECONDS = 60.0


def source_ends(
    views: Mapping[str, ClusterView], sources: Iterable[SourcePartition], at: At
) -> dict[SourcePartition, int]:
    """Return this offset of each partition that exists and has a leader.

    With an open transaction "latest" is after "stable": the records between them are lag, too.
    """
    wanted = list(sources)
    ends = {}
    for view in views.values():
        cluster_id = view.cluster_id()
        own = [source for source in wanted if source.cluster == cluster_id]
        offsets = view.offsets([(source.topic, source.partition) for source in own], at)
        ends.update({s: offsets[s.topic, s.partition] for s in own if (s.topic, s.partition) in offsets})
    return ends


def target_offsets(
    views: Mapping[str, ClusterView], sources: Sequence[SourcePartition], gone: Collection[SourcePartition]
) -> dict[SourcePartition, int]:
    """Return the offset that a run with an end must reach in each partition.

    Waits for partitions without a leader: to leave one out would be to skip it. Partitions that are gone have
    no end; they are included to get a verdict.
    """
    deadline = time.monotonic() + LEADER_SECONDS
    while True:
        ends = source_ends(views, sources, "stable")
        unled = [source for source in sources if source not in ends and source not in gone]
        if not unled:
            return {source: ends.get(source, 0) for source in sources}
        if time.monotonic() > deadline:
            raise Unreachable(f"partitions have no leader: {', '.join(map(str, unled[:10]))}")
        time.sleep(0.1)


def offsets_of(view: ClusterView, sources: Iterable[SourcePartition], at: At) -> dict[SourcePartition, int]:
    """Return the offset of that point in each partition; raises Unreachable where one has no leader."""
    wanted = list(sources)
    offsets = view.all_offsets([(source.topic, source.partition) for source in wanted], at)
    return {source: offsets[source.topic, source.partition] for source in wanted}


def nothing_left(
    plan: Plan,
    positions: Mapping[SourcePartition, Position],
    until: Mapping[SourcePartition, int],
    destination: ClusterView,
) -> bool:
    """Whether nothing is left to replicate or to judge: then a run with an end need not start.

    A partition needs no check only if its position is exactly at its end, both topics are still the same,
    and the destination has not lost what was replicated. One case is not detected: a source log that was
    truncated and has grown to exactly the same length since. A task that resumes after it detects that.
    """
    if plan.gone or not all(_at_end(lane, positions.get(lane.source), until) for lane in plan.lanes):
        return False  # a partition that is gone needs its verdict
    started = [positions[lane.source] for lane in plan.lanes if lane.source in positions]
    known = [position for position in started if position.place_end >= 0]
    ends = destination.offsets([(p.place.topic, p.place.partition) for p in known], "latest")
    # Without a response the end is -1, before everything: the run starts, and its check waits for a response.
    return all(ends.get((p.place.topic, p.place.partition), -1) >= p.place_end for p in known)


def _at_end(lane: Lane, position: Position | None, until: Mapping[SourcePartition, int]) -> bool:
    end = until.get(lane.source)
    if position is None:
        return end == 0
    return (position.offset, position.topic_id, position.place) == (end, lane.topic_id, lane.place)
