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
from causeway.planning.clusters import limits_of
from causeway.planning.registries import schema_policy
from causeway.planning.rules.batch_limits import LARGEST, batch_bytes
from causeway.rules.sharding import shard_of


@dataclass(frozen=True, slots=True)
class MirrorRun:
    """What all orders of one run of a mirror have in common: it is known once the lease is taken."""

    mirror: MirrorSettings
    sources: Mapping[str, SourceCluster]  # by cluster id
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
    nodes: Mapping[int, Mapping[str, str]] | None = None,
    executed: Callable[[int], Mapping[str, int]] = lambda _shard: {},
) -> list[TaskOrder]:
    """Make an order for each shard that has a partition. With `until` shards end there and do not tail.

    `nodes`: the node that each shard has read a pool from, by shard and the pool's name.
    `executed`: the time of the latest request for a node that a shard has executed, by the pool's name.
    """
    nodes = nodes or {}
    mirror = run.mirror
    lanes: dict[int, list[Lane]] = {}
    for lane in plan.lanes:
        lane = _reached(lane, positions.get(lane.source), run.sources[lane.source.cluster])
        if until is not None:
            lane = replace(lane, until=until.get(lane.source, 0))
        lanes.setdefault(shard_of(lane.source, run.shards), []).append(lane)
    return [
        TaskOrder(
            slice=SliceId(mirror.name, run.lease, run.generation, slice_number),
            shard=shard,
            lanes=tuple(mine),
            tail=None if until is not None else mirror.slice,
            sources=_on_nodes(run.sources, nodes.get(shard, {}), executed(shard)),
            destination=run.destination,
            ledger_id=run.ledger_id,
            limits=_limits(mirror, plan, mine, len(lanes)),
            produce=ProduceSettings(
                mirror.delivery,
                mirror.compression,
                f"{mirror.partitioner}_random",
                mirror.carrier,
                mirror.timings,
            ),
            policies=Policies(mirror.on_gap, mirror.on_recreate, mirror.on_poison),
            filters=run.filters,
            provenance=run.destination_id if mirror.provenance else None,
            after=after,
            seen=seen(shard),
            schemas=schema_policy(mirror, [lane.source.topic for lane in mine]),
        )
        for shard, mine in sorted(lanes.items())
    ]


def _limits(mirror: MirrorSettings, plan: Plan, lanes: list[Lane], shards: int) -> Limits:
    """The limits of one of `shards` shards. Its batches must fit into every topic that it writes to."""
    own = (plan.batch_limits.get(name, LARGEST) for name in (*_own_topics(mirror), *plan.timings))
    places = {lane.place.topic for lane in lanes}
    batch = min(batch_bytes(plan.batch_limits.get(name, LARGEST) for name in places), *own)
    return limits_of(mirror, max(1, batch), shards)


def _own_topics(mirror: MirrorSettings) -> tuple[str, str]:
    return ledger_topic(mirror.name), offset_map_topic(mirror.name)


def _on_nodes(
    sources: Mapping[str, SourceCluster], nodes: Mapping[str, str], executed: Mapping[str, int]
) -> dict[str, SourceCluster]:
    """The sources, pools with the node to go on with."""
    result = dict(sources)
    for cluster_id, source in sources.items():
        if source.pool is not None:
            name = source.pool.name
            result[cluster_id] = replace(source, node=nodes.get(name, ""), request=executed.get(name, 0))
    return result


def _reached(lane: Lane, position: Position | None, source: SourceCluster) -> Lane:
    if position is not None and source.pool is not None:
        lane = replace(
            lane, topic_id=position.topic_id
        )  # of the node that was read: a pool has no ids of its own
    if position is None or position.topic_id != lane.topic_id:
        return lane
    return replace(lane, reached=position.offset)
