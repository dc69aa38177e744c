"""Finds loops: routes by which records would come back to the topic they came from."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.core.route import ClusterTopic, Edge


def way(edges: Iterable[Edge], start: ClusterTopic, end: ClusterTopic) -> list[ClusterTopic]:
    """A path from one topic to another along the edges, both included; empty if there is none."""
    nexts: dict[ClusterTopic, list[ClusterTopic]] = {}
    for here, there in edges:
        nexts.setdefault(here, []).append(there)
    came_from: dict[ClusterTopic, ClusterTopic | None] = {start: None}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        if here == end:
            path: list[ClusterTopic] = [here]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for there in sorted(nexts.get(here, ())):
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return []
