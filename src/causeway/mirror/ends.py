"""Where the sources' partitions begin and end."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from causeway.errors import Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.model.position import SourcePartition

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
