"""Makes the orders of one slice from a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.plan import Plan
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane, SeenLedger, TaskOrder, ledger_topic, offset_map_topic
from causeway.planning.clusters import group_of, limits_of
from causeway.planning.rules.batch_limits import LARGEST, batch_bytes
from causeway.rules.sharding import shard_of


def make_orders(
    mirror: MirrorSettings,
    plan: Plan,
    *,
    sources: dict[str, Cluster],
    destination: Cluster,
    destination_id: str,
    filters: tuple[FilterSpec, ...],
    shards: int,
    lease: int,
    generation: int,
    slice_number: int,
    ledger_id: str,
    until: Mapping[SourcePartition, int] | None,
    positions: Mapping[SourcePartition, Position],
    seen: Callable[[int], SeenLedger],
    after: int,
) -> list[TaskOrder]:
    """Make an order for each shard that has a partition. With `until` shards end there and do not tail."""
    ids = {cluster.alias: cluster_id for cluster_id, cluster in sources.items()}
    groups = {ids[alias]: group for alias in ids if (group := group_of(mirror, alias)) is not None}
    working = len({shard_of(lane.source, shards) for lane in plan.lanes})
    lanes = tuple(_reached(lane, positions.get(lane.source)) for lane in plan.lanes)
    if until is not None:
        lanes = tuple(replace(lane, until=until.get(lane.source, 0)) for lane in lanes)
    ledger, offset_map = ledger_topic(mirror.name), offset_map_topic(mirror.name)
    orders = []
    for shard in range(1, shards + 1):
        mine = tuple(lane for lane in lanes if shard_of(lane.source, shards) == shard)
        if mine:
            own = (plan.batch_limits.get(name, LARGEST) for name in (ledger, offset_map))
            places = {lane.place.topic for lane in mine}
            batch = min(batch_bytes(plan.batch_limits.get(name, LARGEST) for name in places), *own)
            orders.append(
                TaskOrder(
                    mirror=mirror.name,
                    shard=shard,
                    lease=lease,
                    generation=generation,
                    slice=slice_number,
                    delivery=mirror.delivery,
                    compression=mirror.compression,
                    sources=sources,
                    destination=destination,
                    ledger=ledger,
                    offset_map=offset_map,
                    groups=groups,
                    lanes=mine,
                    tail=None if until is not None else mirror.slice,
                    limits=limits_of(mirror, max(1, batch), working),
                    partitioner=f"{mirror.partitioner}_random",
                    provenance=mirror.provenance,
                    destination_id=destination_id,
                    filters=filters,
                    on_gap=mirror.on_gap,
                    on_recreate=mirror.on_recreate,
                    on_poison=mirror.on_poison,
                    carrier=mirror.carrier,
                    ledger_id=ledger_id,
                    after=after,
                    seen=seen(shard),
                )
            )
    return orders


def _reached(lane: Lane, position: Position | None) -> Lane:
    if position is None or position.topic_id != lane.topic_id:
        return lane
    return replace(lane, reached=position.offset)
