"""Where the sources' partitions begin and end."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.model.order import Lane
from causeway.model.plan import Plan
from causeway.model.position import Position, SourcePartition

LEADER_SECONDS = 60.0


def source_ends(
    views: Mapping[str, ClusterView], sources: Iterable[SourcePartition], at: At
) -> dict[SourcePartition, int]:
    """The ends of those partitions that exist and have a leader.

    Behind an open transaction "latest" lies ahead of "stable": what waits there is lag, too.
    """
    wanted = list(sources)
    ends = {}
    for view in views.values():
        cluster_id = view.cluster_id()
        mine = [source for source in wanted if source.cluster == cluster_id]
        found = view.offsets([(source.topic, source.partition) for source in mine], at)
        ends.update({s: found[s.topic, s.partition] for s in mine if (s.topic, s.partition) in found})
    return ends


def ends_of_now(
    views: Mapping[str, ClusterView], sources: Sequence[SourcePartition], gone: Collection[SourcePartition]
) -> dict[SourcePartition, int]:
    """Where a run with an end has to come to.

    A partition that nobody leads is waited for: to leave it out would be to skip it. Those that are gone have
    no end; their lanes are there to be judged.
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
    """Where that point is in each partition; raises Unreachable where one has no leader."""
    wanted = list(sources)
    found = view.all_offsets([(one.topic, one.partition) for one in wanted], at)
    return {one: found[one.topic, one.partition] for one in wanted}


def all_there(
    plan: Plan,
    positions: Mapping[SourcePartition, Position],
    until: Mapping[SourcePartition, int],
    destination: ClusterView,
) -> bool:
    """Whether nothing is left to carry, and nothing to judge: then a run with an end need not begin.

    Only what stands exactly at its end, in the very topics it was carried between, needs no look, and only
    while the destination has not lost it again. One thing is not seen: a source log that was cut off and has
    grown to exactly the same length since. Whoever carries on behind it sees that.
    """
    if plan.gone or not all(_at_end(lane, positions.get(lane.source), until) for lane in plan.lanes):
        return False  # what is gone is there to be judged
    carried = [positions[lane.source] for lane in plan.lanes if lane.source in positions]
    known = [one for one in carried if one.place_end >= 0]
    ends = destination.offsets([(one.place.topic, one.place.partition) for one in known], "latest")
    # Where nobody answers, -1 is behind everything: whoever judges waits for an answer.
    return all(ends.get((one.place.topic, one.place.partition), -1) >= one.place_end for one in known)


def _at_end(lane: Lane, position: Position | None, until: Mapping[SourcePartition, int]) -> bool:
    end = until.get(lane.source)
    if position is None:
        return end == 0
    return (position.offset, position.topic_id, position.place) == (end, lane.topic_id, lane.place)
