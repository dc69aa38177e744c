"""A producer that is dropped during a transaction aborts it first, and the process continues."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from causeway.core.choices import CarrierChoice
from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.kafka.admin import ClusterView
from causeway.kafka.carrier import carrier
from causeway.kafka.producer import OBJECT, DestinationProducer
from causeway.kafka.transaction import Transaction
from support import drop_producers
from support.process import eventually
from support.world import World

LIMITS = Limits(1_000, 1 << 20, 1, 300, 1 << 24, 10_000, 100_000, 1)
CLUSTER = Cluster("destination", {"bootstrap.servers": "127.0.0.1:1"})
carriers = pytest.mark.parametrize("kind", ["native", "object"])


class Recorder:
    """A producer that records its calls."""

    fails = False

    def __init__(self, _properties: Any) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def called(*_given: Any) -> int:
            self.calls.append(name)
            if self.fails and name == "abort_transaction":
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            return 0

        return called


class FailingRecorder(Recorder):
    fails = True


def recorded(make: type[Recorder]) -> tuple[DestinationProducer, list[str]]:
    kind = OBJECT._replace(make_handle=make)
    made = DestinationProducer(CLUSTER, LIMITS, "none", Transaction("x"), kind=kind)
    return made, made.client.handle.calls


@pytest.mark.parametrize("make", [Recorder, FailingRecorder])
def test_an_open_transaction_is_aborted_before_the_producer_is_destroyed(make: type[Recorder]) -> None:
    """Whether or not the destination responds in time."""
    made, calls = recorded(make)
    made.begin()
    calls.clear()

    made.close()

    assert calls == ["abort_transaction", "purge"]
    assert not hasattr(made.client, "handle")


def test_without_an_open_transaction_nothing_is_aborted() -> None:
    made, calls = recorded(Recorder)
    made.commit([("ledger", 0, b"key", b"value")])
    calls.clear()

    made.close()

    assert calls == ["purge"]


@carriers
def test_a_dropped_producers_transaction_hides_no_later_record(world: World, kind: CarrierChoice) -> None:
    """Readers wait neither for the next fence nor for the transaction's timeout."""
    topic = world.topic("t", on="destination")
    destination = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    dropped = DestinationProducer(
        destination, LIMITS, "none", Transaction(topic), kind=carrier(kind, "").producer
    )
    dropped.fence()
    dropped.begin()
    dropped.client.handle.produce(topic, b"value", b"key", 0)
    dropped.drain()

    dropped.close()

    view, spots = ClusterView(destination), [(topic, 0)]
    eventually(
        lambda: view.all_offsets(spots, "stable") == view.all_offsets(spots, "latest"),
        "no transaction is open",
    )


@carriers
def test_dropping_producers_does_not_end_the_process(world: World, kind: CarrierChoice) -> None:
    """With open transactions the client failed an assertion after 2 to 130 of them."""
    topic = world.topic("t", on="destination")
    program = [sys.executable, drop_producers.__file__, world.servers["destination"], topic, kind, "150"]

    ended = subprocess.run(program, capture_output=True, text=True, timeout=200, check=False)

    assert ended.returncode == 0, ended.stderr
