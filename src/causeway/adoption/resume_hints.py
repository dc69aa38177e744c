"""Where the old tool reports that it stopped, for each source partition. Only where to start searching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from causeway.config import MirrorSettings
from causeway.core.handoff import Accept
from causeway.core.position import SourcePartition
from causeway.core.task_order import Lane
from causeway.errors import PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.groups import committed, members
from causeway.kafka.log_ends import offsets_of

Origin = Literal["group", "destination-end", "timestamp"]
MEMBERS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class HintRequest:
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

    def said(self, mirror: MirrorSettings) -> str:
        if self.origin == "timestamp":
            return f"timestamp {datetime.fromtimestamp(self.at / 1000, UTC).isoformat()}"
        if self.origin == "group":
            return f"group {', '.join(sorted({self.group_on(mirror, alias) for alias in mirror.source}))}"
        return self.origin


@dataclass(frozen=True, slots=True)
class Hint:
    offset: int
    said: str  # text that names its origin
    known: bool = True  # False: the old tool has no offset for the partition


def hints_of(
    asked: HintRequest,
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    lanes: Sequence[Lane],
    place_ends: Mapping[tuple[str, int], int],
) -> dict[SourcePartition, Hint]:
    """A hint for each lane. Raises PlanRefused if this kind of hint cannot be used for them."""
    if asked.origin == "destination-end":
        return _from_ends(lanes, place_ends)
    found: dict[SourcePartition, Hint] = {}
    for alias, view in sources.items():
        mine = [lane.source for lane in lanes if lane.source.cluster == view.cluster_id()]
        if not mine:
            continue
        if asked.origin == "timestamp":
            offsets = offsets_of(view, mine, asked.at)
            found |= {one: Hint(offset, "first record at that time") for one, offset in offsets.items()}
            continue
        group = asked.group_on(mirror, alias)
        _refuse_alive(view, group)
        found |= _from_group(mirror, view, group, mine)
    if not any(hint.known for hint in found.values()):
        raise PlanRefused(
            "the old tool's group has committed nothing for these topics",
            where=", ".join(
                f'group "{asked.group_on(mirror, alias)}" on cluster "{alias}"' for alias in sources
            ),
            todo="name it with --group, or use --from destination-end or --from timestamp",
        )
    return found


def _from_ends(
    lanes: Sequence[Lane], place_ends: Mapping[tuple[str, int], int]
) -> dict[SourcePartition, Hint]:
    """kaf-relay's own rule: the destination's end is the source's offset. Not if records are mixed."""
    mixed = sorted({lane.source.topic for lane in lanes if lane.shared})
    if mixed:
        raise PlanRefused(
            "the destination's ends say nothing of the source's offsets",
            why="records of several source partitions share a partition of the destination",
            problems=tuple(f"{topic}: its partitions do not have places of their own" for topic in mixed),
            todo="use --from group, or --from timestamp",
        )
    return {
        lane.source: Hint(place_ends[lane.place.topic, lane.place.partition], "end of the destination")
        for lane in lanes
    }


def _from_group(
    mirror: MirrorSettings, view: ClusterView, group: str, sources: Sequence[SourcePartition]
) -> dict[SourcePartition, Hint]:
    offsets = committed(view, group, [(one.topic, one.partition) for one in sources])
    start = mirror.for_source(view.cluster.alias).start_at
    begins = offsets_of(view, (one for one in sources if (one.topic, one.partition) not in offsets), start)
    return {
        one: Hint(offsets[one.topic, one.partition], "committed")
        if (one.topic, one.partition) in offsets
        else Hint(begins[one], "no commit: begins at `start`", known=False)
        for one in sources
    }


def _refuse_alive(view: ClusterView, group: str) -> None:
    alive = members(view, group)
    if not alive:
        return
    more = f" and {len(alive) - MEMBERS_SHOWN} more" if len(alive) > MEMBERS_SHOWN else ""
    raise PlanRefused(
        f'group "{group}" has live members: {", ".join(alive[:MEMBERS_SHOWN])}{more}',
        where=f'cluster "{view.cluster.alias}"',
        todo="stop the old tool first; one that was killed is counted until its session times out",
    )
