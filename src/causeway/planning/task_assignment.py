"""Makes the task orders of one slice from a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.plan import Plan
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import (
    Lane,
    Limits,
    Policies,
    ProduceSettings,
    SeenLedger,
    SliceId,
    SourceCluster,
    TaskOrder,
    ledger_topic,
    offset_map_topic,
)
from causeway.planning.clusters import group_of, limits_of
from causeway.planning.rules.batch_limits import LARGEST, batch_bytes
from causeway.rules.sharding import shard_of


@dataclass(frozen=True, slots=True)
class MirrorRun:
    """What all orders of one run of a mirror have in common: it is known once the lease is taken."""

    mirror: MirrorSettings
    sources: Mapping[str, Cluster]  # by cluster id
    destination: Cluster
    destination_id: str
    filters: tuple[FilterSpec, ...]
    shards: int
    lease: int
    generation: int
    ledger_id: str  # topic id of the ledger


def make_orders(
    run: MirrorRun,
    plan: Plan,
    slice_number: int,
    *,
    positions: Mapping[SourcePartition, Position],
    seen: Callable[[int], SeenLedger],
    until: Mapping[SourcePartition, int] | None = None,
    after: int | None = None,
) -> list[TaskOrder]:
    """Make an order for each shard that has a partition. With `until` shards end there and do not tail."""
    mirror = run.mirror
    lanes: dict[int, list[Lane]] = {}
    for lane in plan.lanes:
        lane = _reached(lane, positions.get(lane.source))
        if until is not None:
            lane = replace(lane, until=until.get(lane.source, 0))
        lanes.setdefault(shard_of(lane.source, run.shards), []).append(lane)
    sources = {
        cluster_id: SourceCluster(cluster, group_of(mirror, cluster.alias))
        for cluster_id, cluster in run.sources.items()
    }
    return [
        TaskOrder(
            slice=SliceId(mirror.name, run.lease, run.generation, slice_number),
            shard=shard,
            lanes=tuple(mine),
            tail=None if until is not None else mirror.slice,
            sources=sources,
            destination=run.destination,
            ledger_id=run.ledger_id,
            limits=_limits(mirror, plan, mine, len(lanes)),
            produce=ProduceSettings(
                mirror.delivery, mirror.compression, f"{mirror.partitioner}_random", mirror.carrier
            ),
            policies=Policies(mirror.on_gap, mirror.on_recreate, mirror.on_poison),
            filters=run.filters,
            provenance=run.destination_id if mirror.provenance else None,
            after=after,
            seen=seen(shard),
        )
        for shard, mine in sorted(lanes.items())
    ]


def _limits(mirror: MirrorSettings, plan: Plan, lanes: list[Lane], shards: int) -> Limits:
    """The limits of one of `shards` shards. Its batches must fit into every topic that it writes to."""
    own = (plan.batch_limits.get(name, LARGEST) for name in _own_topics(mirror))
    places = {lane.place.topic for lane in lanes}
    batch = min(batch_bytes(plan.batch_limits.get(name, LARGEST) for name in places), *own)
    return limits_of(mirror, max(1, batch), shards)


def _own_topics(mirror: MirrorSettings) -> tuple[str, str]:
    return ledger_topic(mirror.name), offset_map_topic(mirror.name)


def _reached(lane: Lane, position: Position | None) -> Lane:
    if position is None or position.topic_id != lane.topic_id:
        return lane
    return replace(lane, reached=position.offset)
