"""What the destination topics' limits mean for a shard's order."""

from __future__ import annotations

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.plan import Plan
from causeway.core.position import Place, SourcePartition
from causeway.core.task_order import Lane, SeenLedger, TaskOrder, ledger_topic
from causeway.planning.rules.batch_limits import LARGEST, small
from causeway.planning.task_assignment import MirrorRun, make_orders


def orders(limits: dict[str, int], shards: int = 1) -> list[TaskOrder]:
    mirror = MirrorSettings(name="m", source=["src"], destination="dst", topics=["t"])
    lanes = tuple(
        Lane(SourcePartition("c", name, 0), "id", Place(name, "id", 0), None, batch_limit=small(limit))
        for name, limit in limits.items()
        if not name.startswith("__")
    )
    run = MirrorRun(
        mirror=mirror,
        sources={"c": Cluster("src", {})},
        destination=Cluster("dst", {}),
        destination_id="d",
        filters=(),
        shards=shards,
        lease=1,
        generation=1,
        ledger_id="l",
    )
    return make_orders(run, Plan(lanes, (), limits), 1, positions={}, seen=lambda _shard: SeenLedger((), ()))


def test_a_small_limit_is_its_own_topics_alone() -> None:
    (order,) = orders({"a": 1_000, "b": 5_000_000, "c": 0})
    assert order.limits.batch_bytes == LARGEST
    assert {lane.place.topic: lane.batch_limit for lane in order.lanes} == {"a": 1_000, "b": None, "c": 0}
    assert TaskOrder.from_json(order.to_json()) == order


def test_a_limit_that_is_not_small_holds_for_its_shard() -> None:
    found = orders({name: 300_000 if name == "a" else 2_000_000 for name in "abcdefgh"}, shards=4)
    sizes = {order.limits.batch_bytes for order in found if "a" in {lane.place.topic for lane in order.lanes}}
    assert sizes == {300_000}
    assert LARGEST in {order.limits.batch_bytes for order in found}


def test_the_ledger_takes_what_is_written_to_it() -> None:
    (order,) = orders({"a": 1_000, ledger_topic("m"): 20_000})
    assert order.limits.batch_bytes == 20_000
