"""A fenced producer whose client drops the fatal error: it must end, not fence the newer one in turn."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.producer import OBJECT, DestinationProducer
from causeway.kafka.task_errors import Again, Fenced, Refused
from causeway.kafka.transaction import Transaction
from support.world import World

LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 10)


class Forgetful(Producer):  # type: ignore[misc]
    """As observed when a log line comes in the same call as a fatal error."""

    lost = 0

    def flush(self, *given: Any) -> Any:
        try:
            return super().flush(*given)
        except (KafkaException, SystemError):
            self.lost += 1
            raise SystemError("flush returned NULL without setting an exception") from None

    def poll(self, *given: Any) -> Any:
        try:
            return super().poll(*given)
        except (KafkaException, SystemError):
            return 0


KIND = OBJECT._replace(make_handle=Forgetful)


def test_a_fenced_producer_is_fenced_although_the_client_lost_the_error(world: World) -> None:
    topic = world.topic("t", 1, on="destination")
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    older, newer = (
        DestinationProducer(cluster, LIMITS, "none", Transaction(f"{world.mirror}.id"), kind=KIND)
        for _ in range(2)
    )
    older.fence()
    older.commit([(topic, 0, b"k", b"older")])
    newer.fence()

    with pytest.raises(Fenced):
        older.commit([(topic, 0, b"k", b"too late")])

    assert older.client.handle.lost == 1, "the client lost the error"
    newer.commit([(topic, 0, b"k", b"newer")])
    for producer in (older, newer):
        producer.close()


def test_a_rejection_without_a_transaction_counts_although_the_client_lost_the_error(world: World) -> None:
    """The producer waits for the record's own report: it names the record."""
    topic = world.topic("t", 1, on="destination", config={"max.message.bytes": "200"})
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    producer = DestinationProducer(cluster, LIMITS, "none", AtLeastOnce(), kind=KIND)

    with pytest.raises(Refused, match=r"writing the ledger.*Message size too large"):
        producer.commit([(topic, 0, b"k", b"x" * 10_000)])

    assert producer.client.handle.lost == 1, "the client lost the error"
    producer.close()


def test_any_other_lost_error_is_retried(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    producer = DestinationProducer(cluster, LIMITS, "none", Transaction(f"{world.mirror}.id"), kind=KIND)
    producer.fence()

    error = producer.client.failure(
        "testing", SystemError("flush returned NULL without setting an exception")
    )

    assert isinstance(error, Again)
    producer.close()
