"""Compares the last records that two nodes of a source pool have in common, by content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.range_reader import ReadProgress, last_digests, no_progress, read_digests
from causeway.rules.same_records import LogComparison, compare_logs


def compare_nodes(
    first: ClusterView,
    other: ClusterView,
    spots: Iterable[Spot],
    most: int,
    before: Mapping[Spot, int] | None = None,
    progress: ReadProgress = no_progress,
) -> dict[Spot, LogComparison]:
    """Compare up to `most` records of each partition, before these offsets if given.

    Partitions that one of them does not have are absent. Raises IntegrityError where records expire
    meanwhile, and Unreachable where a node does not respond.
    """
    wanted = list(spots)
    starts = [view.offsets(wanted, "earliest") for view in (first, other)]
    ends = [view.offsets(wanted, "stable") for view in (first, other)]
    known = [spot for spot in wanted if all(spot in offsets for offsets in (*starts, *ends))]
    limits, apart = {}, {}
    for spot in known:
        own = starts[0][spot], ends[0][spot] if before is None else min(ends[0][spot], before[spot])
        begin, end = limits[spot] = max(own[0], starts[1][spot]), min(own[1], ends[1][spot])
        if end <= begin and own[0] < own[1]:
            apart[spot] = (
                f"has offsets {starts[1][spot]} to {ends[1][spot]}, and none of {own[0]} to {own[1]}"
                f" of {first.cluster.alias}"
            )
    some = {spot: (begin, end) for spot, (begin, end) in limits.items() if begin < end}
    here = last_digests(first.cluster, some, most, progress)
    there = read_digests(
        other.cluster, {spot: (ending.begin, ending.end) for spot, ending in here.items()}, progress
    )
    compacted = compacted_topics((first, other), {topic for topic, _ in some})
    name = first.cluster.alias
    return {
        spot: compare_logs(here[spot].seen, there[spot], name, compacted=spot[0] in compacted)
        if spot in some
        else LogComparison(apart=apart.get(spot, ""))
        for spot in known
    }


def compacted_topics(views: Iterable[ClusterView], topics: Collection[str]) -> set[str]:
    """Topics that any of these clusters compacts."""
    return {
        name
        for view in views
        for name, config in view.configs(topics).items()
        if "compact" in config.get("cleanup.policy", "")
    }
