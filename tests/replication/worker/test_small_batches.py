"""A topic that accepts only small batches gets them; the others' batches stay large."""

from __future__ import annotations

from dataclasses import replace

import pytest

from causeway.core.choices import CarrierChoice
from causeway.core.route import BY_KEY
from causeway.core.task_order import Limits
from causeway.replication.worker.task import serve_order
from support.ordering import Patience, order_of
from support.world import World

LIMITS = Limits(10_000, 1 << 24, 1, 10, 1 << 24, 50_000, 1_000_000, 1)
LIMIT = 1_000


@pytest.mark.parametrize(
    ("carrier", "by_key"), [("native", False), ("native", True), ("object", False)], ids=str
)
def test_both_topics_arrive_and_nothing_is_rejected(
    world: World, carrier: CarrierChoice, by_key: bool
) -> None:
    small, other = world.topic("small", 2), world.topic("other", 2)
    world.topic("small", 2, on="destination", config={"max.message.bytes": str(LIMIT)})
    world.topic("other", 2, on="destination")
    world.produce(small, world.numbers(3_000, 2))
    world.produce(other, world.numbers(20_000, 2))
    order = order_of(world, [small, other], 0, limits=LIMITS, carrier=carrier)
    ends = {small: 1_500, other: 10_000}
    lanes = [
        replace(
            lane,
            until=ends[lane.source.topic],
            batch_limit=LIMIT if lane.source.topic == small else None,
            shared=by_key,
            place=lane.place._replace(partition=BY_KEY) if by_key else lane.place,
        )
        for lane in order.lanes
    ]

    receipt = serve_order(replace(order, lanes=tuple(lanes)), pause=Patience(3))

    assert (receipt.outcome, receipt.records, receipt.restarts) == ("done", 23_000, 0)
    for topic in (small, other):
        if by_key:
            assert sum(map(len, world.read(topic).values())) == 2 * ends[topic]
        else:
            assert world.read(topic) == world.read(topic, "source")
