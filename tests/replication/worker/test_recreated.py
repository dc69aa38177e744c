"""A broker that lags the controller does not know that a source topic was recreated; the fetch does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.choices import CarrierChoice
from causeway.kafka.admin import ClusterView
from causeway.replication.worker.task import serve_order
from support.ordering import Patience, TooManyAttempts, order_of
from support.topics import delete_topic
from support.world import World


@pytest.mark.parametrize("carrier", ["native", "object"])
def test_records_of_a_recreated_topic_are_not_committed_although_a_broker_describes_the_old_one(
    world: World, monkeypatch: pytest.MonkeyPatch, carrier: CarrierChoice
) -> None:
    topic = world.topic("t", 1)
    world.topic("t", 1, on="destination")
    world.produce(topic, world.numbers(5))
    order = order_of(world, topic, 5, carrier=carrier)
    assert serve_order(order, pause=Patience(3)).outcome == "done"
    delete_topic(world.admin(), topic)
    world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    described = ClusterView.descriptions

    def stale(view: ClusterView, asked: Any, **how: Any) -> Any:
        return {
            name: replace(facts, topic_id=order.lanes[0].topic_id)
            if view.cluster.alias == "source"
            else facts
            for name, facts in described(view, asked, **how).items()
        }

    monkeypatch.setattr(ClusterView, "descriptions", stale)
    lanes = tuple(replace(lane, until=10) for lane in order.lanes)

    with pytest.raises(TooManyAttempts):
        serve_order(replace(order, lanes=lanes, slice=replace(order.slice, number=2)), pause=Patience(3))

    assert len(world.read(topic)[0]) == 5
    (position,) = world.ledger().positions.values()
    assert position.offset == 5
