"""Snapshots made by hand: a mirror's state without a mirror."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from causeway.core.pool_snapshot import NodeView
from causeway.core.snapshot import GapView, MirrorView, PartitionView, ShardView, Snapshot

NOW = 1_769_846_400_000

_PARTITION = PartitionView(
    cluster="paris",
    topic="orders",
    partition=0,
    to_topic="orders",
    to_partition=0,
    shard=1,
    start=0,
    position=0,
    log_start=0,
    log_end=0,
    to_end=-1,
    committed_at=-1,
)
_SHARD = ShardView(number=1, host="h", pid=1, carrier="native", slice=1, heartbeat_at=NOW, partitions=1)
_MIRROR = MirrorView(
    name="m",
    state="running",
    state_since=NOW,
    sources=("paris",),
    destination="tokyo",
    delivery="exactly-once",
    lease=1,
    slice=1,
    partitions=(),
    shards=(),
    events=(),
    gaps=(),
)
_GAP = GapView(NOW, "paris", "orders", 0, "gap", 10, 20, 'on_gap = "continue"', "told", "", 10)


def partition(number: int = 0, **changes: Any) -> PartitionView:
    return replace(_PARTITION, partition=number, to_partition=number, **changes)


def shard(number: int = 1, **changes: Any) -> ShardView:
    return replace(_SHARD, number=number, **changes)


def node(name: str, **changes: Any) -> NodeView:
    return replace(NodeView(name, f"{name}-id", "fit", "", True, NOW, 0), **changes)


def gap(verdict: str) -> GapView:
    return replace(_GAP, verdict=verdict)


def mirror(*partitions: PartitionView, **changes: Any) -> MirrorView:
    return replace(_MIRROR, partitions=partitions, **changes)


def snapshot(*mirrors: MirrorView, **changes: Any) -> Snapshot:
    return replace(Snapshot(NOW, "0.1.0", "h", 1, NOW - 60_000, ()), mirrors=mirrors, **changes)
