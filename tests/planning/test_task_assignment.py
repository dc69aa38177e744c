"""Which partitions, settings and limits a shard's order has."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.plan import Plan
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import (
    Lane,
    Policies,
    ProduceSettings,
    SeenLedger,
    SliceId,
    SourceCluster,
    TaskOrder,
    ledger_topic,
)
from causeway.planning.clusters import group_of
from causeway.planning.rules.batch_limits import LARGEST, small
from causeway.planning.task_assignment import MirrorRun, make_orders
from causeway.rules.sharding import shard_of

LANES = tuple(Lane(SourcePartition("c", "t", n), "id", Place("t", "there", n), None) for n in range(8))


def run(shards: int = 1, **mirror: Any) -> MirrorRun:
    settings = {"name": "m", "source": ["src"], "destination": "dst", "topics": ["t"], **mirror}
    chosen = MirrorSettings(**settings)
    return MirrorRun(
        mirror=chosen,
        sources={"c": SourceCluster(Cluster("src", {}), group_of(chosen, "src"))},
        destination=Cluster("dst", {}),
        destination_id="d",
        filters=(),
        shards=shards,
        lease=7,
        generation=5,
        ledger_id="l",
    )


def made(of: MirrorRun, lanes: tuple[Lane, ...] = LANES, **more: Any) -> list[TaskOrder]:
    known: dict[str, Any] = {"positions": {}, "seen": lambda _shard: SeenLedger(((0, 4),), ())}
    return make_orders(of, Plan(lanes, (), {}), 3, **known | more)


def orders(limits: dict[str, int], shards: int = 1) -> list[TaskOrder]:
    lanes = tuple(
        Lane(SourcePartition("c", name, 0), "id", Place(name, "id", 0), None, batch_limit=small(limit))
        for name, limit in limits.items()
        if not name.startswith("__")
    )
    return make_orders(
        run(shards), Plan(lanes, (), limits), 1, positions={}, seen=lambda _shard: SeenLedger((), ())
    )


def test_each_partition_is_in_the_order_of_its_shard() -> None:
    every = made(run(shards=3))
    assert [order.shard for order in every] == sorted({shard_of(lane.source, 3) for lane in LANES}), (
        "no order for a shard without a partition"
    )
    for order in every:
        assert order.slice == SliceId("m", lease=7, generation=5, number=3)
        assert {shard_of(lane.source, 3) for lane in order.lanes} == {order.shard}
        assert (order.after, order.seen) == (None, SeenLedger(((0, 4),), ()))
    assert sorted(lane.source for order in every for lane in order.lanes) == [lane.source for lane in LANES]


def test_a_bounded_run_stops_at_its_ends_and_does_not_tail() -> None:
    (order,) = made(run(), until={LANES[0].source: 9})
    assert order.tail is None
    assert [lane.until for lane in order.lanes] == [9] + [0] * 7
    (tailing,) = made(run(slice="60s"), after=2)
    assert (tailing.tail, tailing.after) == (60, 2)
    assert {lane.until for lane in tailing.lanes} == {None}


def test_a_lane_has_the_position_that_the_driver_has_read_of_the_same_topic() -> None:
    known, recreated, *_ = LANES
    positions = {
        lane.source: Position(lane.source, topic_id, 0, 5, -1, lane.place, 0, 5, 1, 0)
        for lane, topic_id in ((known, "id"), (recreated, "another"))
    }
    (order,) = made(run(), positions=positions)
    assert [lane.reached for lane in order.lanes] == [5] + [None] * 7


@pytest.mark.parametrize("chosen", [False, True])
def test_the_settings_reach_the_shard(chosen: bool) -> None:
    settings: dict[str, Any] = {
        "provenance": True,
        "source_group": False,
        "delivery": "at-least-once",
        "compression": "zstd",
        "partitioner": "fnv1a",
        "carrier": "object",
        "on_gap": "continue",
        "on_recreate": "restart",
        "on_poison": "quarantine",
    }
    (order,) = made(run(**settings if chosen else {}))
    assert order.provenance == ("d" if chosen else None)
    assert (order.sources["c"].group is None) is chosen
    if chosen:
        assert order.produce == ProduceSettings("at-least-once", "zstd", "fnv1a_random", "object")
        assert order.policies == Policies("continue", "restart", "quarantine")
    assert TaskOrder.from_json(order.to_json()) == order


def test_a_small_limit_applies_only_to_its_topic() -> None:
    (order,) = orders({"a": 1_000, "b": 5_000_000, "c": 0})
    assert order.limits.batch_bytes == LARGEST
    assert {lane.place.topic: lane.batch_limit for lane in order.lanes} == {"a": 1_000, "b": None, "c": 0}
    assert TaskOrder.from_json(order.to_json()) == order


def test_a_limit_that_is_not_small_holds_for_its_shard() -> None:
    every = orders({name: 300_000 if name == "a" else 2_000_000 for name in "abcdefgh"}, shards=4)
    sizes = {order.limits.batch_bytes for order in every if "a" in {lane.place.topic for lane in order.lanes}}
    assert sizes == {300_000}
    assert LARGEST in {order.limits.batch_bytes for order in every}


def test_the_ledger_accepts_what_is_written_to_it() -> None:
    (order,) = orders({"a": 1_000, ledger_topic("m"): 20_000})
    assert order.limits.batch_bytes == 20_000
