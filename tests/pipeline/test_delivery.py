"""What delivery says of a record that the destination refuses, whoever reports."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from causeway.kafka.failures import is_poison
from causeway.kafka.lane import OpenLane
from causeway.kafka.outcome import Refused
from causeway.kafka.transaction import TransactionalDelivery
from causeway.model.cluster import Cluster
from causeway.model.order import Lane, Limits
from causeway.model.position import Place, Position, SourcePartition
from support.process import eventually
from support.records import Rec
from support.world import World, now_ms

COUNT = 200
MOST = 40_000
"""What the destination takes; a batch of the others is smaller."""


def consumed(servers: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "delivery", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Any] = []
    while len(found) < count:
        messages = consumer.consume(count, 30)
        assert messages, f"{len(found)} of {count} records"
        found += messages
    consumer.close()
    return found


class Carried:
    """Records of one partition, in one transaction, the refused one somewhere among them."""

    def __init__(self, world: World, refused: int, *, single: bool) -> None:
        source = world.topic("t")
        place = world.topic("t", on="destination", config={"max.message.bytes": str(MOST)})
        values = [b"x" * (2 * MOST if number == refused else 100) for number in range(COUNT)]
        world.produce(source, [(0, Rec(None, value, (), now_ms())) for value in values])
        self._source, self._place, self._single = source, place, single
        self.delivery = TransactionalDelivery(
            Cluster("dst", {"bootstrap.servers": world.servers["destination"]}),
            Limits(10_000, 10_000_000, 1, 10, 10_000_000, 10_000, 5_000, 1),
            "none",
            transactional_id=world.mirror,
            single=single,
        )
        self.delivery.fence()
        self._messages = consumed(world.servers["source"], source, COUNT)
        self.once_more()

    def once_more(self) -> None:
        at, to = SourcePartition("c", self._source, 0), Place(self._place, "id", 0)
        position = Position(at, "id", 0, 0, -1, to, 0, -1, 1, 0)
        self.lane = OpenLane(Lane(at, "id", to, "earliest", None), position, careful=self._single)
        self.delivery.carry(self._messages, {(self._source, 0): self.lane})


@pytest.mark.parametrize("refused", [0, 1, COUNT // 2, COUNT - 1])
def test_a_refused_record_is_heard_of_wherever_it_lies(world: World, refused: int) -> None:
    """Only the ends of a stretch report: of a record between them only the client's log tells."""
    carried = Carried(world, refused, single=False)
    try:
        carried.delivery.flush()
        assert carried.delivery.refused
        with pytest.raises(Refused):
            carried.delivery.commit([])
    finally:
        carried.delivery.close()


@pytest.mark.parametrize("refused", [0, COUNT // 2, COUNT - 1])
def test_one_by_one_the_refused_record_itself_reports(world: World, refused: int) -> None:
    """Those behind it were on their way, and wait for their turn in vain: they are not waited for."""
    carried = Carried(world, refused, single=True)
    try:
        carried.delivery.flush()
        found = [offset for offset, error in carried.lane.refused() if is_poison(error)]
        assert found == [refused]
    finally:
        carried.delivery.close()


def test_what_is_produced_into_a_transaction_that_failed_is_a_refusal_too(world: World) -> None:
    """The client only says that it is in an erroneous state; its log says why."""
    carried = Carried(world, COUNT // 2, single=False)
    try:
        with pytest.raises(Refused):
            eventually(carried.once_more, "the client takes no more", 30)
    finally:
        carried.delivery.close()
