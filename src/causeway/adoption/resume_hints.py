"""Where the old tool reports that it stopped, for each source partition. Only where to start searching."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from causeway.config import MirrorSettings
from causeway.core.handoff import Accept
from causeway.core.position import SourcePartition
from causeway.core.task_order import Lane
from causeway.errors import PlanRefused, Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.groups import committed, members
from causeway.kafka.log_ends import offsets_of
from causeway.kafka.pool_view import PoolView

Origin = Literal["group", "destination-end", "timestamp"]
MEMBERS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """The operator's options."""

    origin: Origin
    group: str = ""  # empty: the mirror's source group
    at: int = 0  # milliseconds, for a timestamp
    window: int = 1_000
    values_only: bool = False  # leave keys out of the comparison
    accept: Accept = ""
    unchecked: bool = False

    def group_on(self, mirror: MirrorSettings, alias: str) -> str:
        return self.group or mirror.for_source(alias).source_group_name

    def origin_text(self, mirror: MirrorSettings) -> str:
        if self.origin == "timestamp":
            return f"timestamp {datetime.fromtimestamp(self.at / 1000, UTC).isoformat()}"
        if self.origin == "group":
            return f"group {', '.join(sorted({self.group_on(mirror, alias) for alias in mirror.source}))}"
        return self.origin


@dataclass(frozen=True, slots=True)
class Hint:
    offset: int
    origin_text: str  # text that names its origin
    known: bool = True  # False: the old tool has no offset for the partition


def hints_of(
    options: AdoptOptions,
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    lanes: Sequence[Lane],
    place_ends: Mapping[tuple[str, int], int],
) -> dict[SourcePartition, Hint]:
    """A hint for each lane. Raises PlanRefused if this kind of hint cannot be used for them."""
    if options.origin == "destination-end":
        return _from_ends(lanes, place_ends)
    hints: dict[SourcePartition, Hint] = {}
    for alias, view in sources.items():
        partitions = [lane.source for lane in lanes if lane.source.cluster == view.cluster_id()]
        if not partitions:
            continue
        if options.origin == "timestamp":
            offsets = offsets_of(view, partitions, options.at)
            hints |= {source: Hint(offset, "first record at that time") for source, offset in offsets.items()}
            continue
        group = options.group_on(mirror, alias)
        if isinstance(view, PoolView):
            _use_node_of(view, group, partitions)
        else:
            _refuse_live_group(view, group)
        start = mirror.for_source(alias).start_at
        hints |= _from_group(view, group, start, partitions)
    if not any(hint.known for hint in hints.values()):
        raise PlanRefused(
            "the old tool's group has no committed offsets for these topics",
            where=", ".join(
                f'group "{options.group_on(mirror, alias)}" on cluster "{alias}"' for alias in sources
            ),
            todo="name the group with --group, or use --from destination-end or --from timestamp",
        )
    return hints


def _from_ends(
    lanes: Sequence[Lane], place_ends: Mapping[tuple[str, int], int]
) -> dict[SourcePartition, Hint]:
    """kaf-relay's own rule: the destination's end is the source's offset. Not if records are mixed."""
    mixed = sorted({lane.source.topic for lane in lanes if lane.shared})
    if mixed:
        raise PlanRefused(
            "--from destination-end cannot be used: the destination's end offsets differ from the source's",
            why="records of several source partitions share a destination partition",
            problems=tuple(f"{topic}: its partitions share destination partitions" for topic in mixed),
            todo="use --from group or --from timestamp",
        )
    return {
        lane.source: Hint(place_ends[lane.place.topic, lane.place.partition], "end of the destination")
        for lane in lanes
    }


def _from_group(
    view: ClusterView, group: str, start: At, sources: Sequence[SourcePartition]
) -> dict[SourcePartition, Hint]:
    offsets = committed(view, group, [(source.topic, source.partition) for source in sources])
    uncommitted = (source for source in sources if (source.topic, source.partition) not in offsets)
    starts = offsets_of(view, uncommitted, start)
    return {
        source: Hint(offsets[source.topic, source.partition], "committed")
        if (source.topic, source.partition) in offsets
        else Hint(starts[source], "no commit: starts at `start`", known=False)
        for source in sources
    }


def _use_node_of(view: PoolView, group: str, sources: Sequence[SourcePartition]) -> None:
    """Use the node on which the group has committed offsets. It must have no live members on any node."""
    spots = [(source.topic, source.partition) for source in sources]
    nodes = {}
    for name, node in view.node_views().items():
        with contextlib.suppress(Unreachable):
            _refuse_live_group(node, group)
            nodes[name] = committed(node, group, spots)
    if with_commits := [name for name, offsets in nodes.items() if offsets]:
        view.use(with_commits[0])


def _refuse_live_group(view: ClusterView, group: str) -> None:
    live = members(view, group)
    if not live:
        return
    more = f" and {len(live) - MEMBERS_SHOWN} more" if len(live) > MEMBERS_SHOWN else ""
    raise PlanRefused(
        f'group "{group}" has live members: {", ".join(live[:MEMBERS_SHOWN])}{more}',
        where=f'cluster "{view.cluster.alias}"',
        todo="stop the old tool first; a killed member counts until its session times out",
    )
