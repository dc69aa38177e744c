"""Records that would come back to the topic they came from."""

from __future__ import annotations

from collections.abc import Iterable

from causeway.model.route import Edge, Spot


def way(edges: Iterable[Edge], start: Spot, end: Spot) -> list[Spot]:
    """A way from one topic to another along the edges, both included; empty if there is none."""
    nexts: dict[Spot, list[Spot]] = {}
    for here, there in edges:
        nexts.setdefault(here, []).append(there)
    came_from: dict[Spot, Spot | None] = {start: None}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        if here == end:
            path: list[Spot] = [here]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for there in sorted(nexts.get(here, ())):
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return []
