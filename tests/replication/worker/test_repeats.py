"""A record that makes every attempt fail gets a verdict; the other partitions continue.

The tasks get a number of retries: without a verdict they would use all of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from causeway.core.choices import CarrierChoice
from causeway.core.filtering import FilterSpec
from causeway.core.ledger_record import Stopped
from causeway.core.task_order import Limits, TaskOrder
from causeway.kafka.admin import ClusterView
from causeway.kafka.quarantine import ensure_quarantine
from causeway.replication.worker.task import serve_order
from support.ordering import Patience, order_of
from support.records import Rec
from support.world import World, now_ms

LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 24, 10_000, 100_000, 1)
SMALL_QUEUE = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 10_000, 100_000, 1)
LARGE = {"max.message.bytes": "4000000"}
BEFORE, AFTER = 5, 7


@dataclass(frozen=True)
class Case:
    name: str
    message: str
    todo: str
    size: int = 1_500_000
    config: Mapping[str, str] = field(default_factory=dict)  # of the destination topic
    producer: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = LIMITS

    def __str__(self) -> str:
        return self.name


SEGMENT = Case(
    "segment", "Message batch larger than configured server segment size", "segment.bytes",
    config={"segment.bytes": "1048576"},
)  # fmt: skip
CLIENT = Case(
    "client", "it is larger than the client property message.max.bytes", "raise message.max.bytes",
    producer={"message.max.bytes": "1000000"},
)  # fmt: skip
QUEUE = Case("queue", "does not fit into queue_bytes (1,048,576)", "raise queue_bytes", limits=SMALL_QUEUE)


def bad_order(world: World, case: Case, **more: Any) -> TaskOrder:
    """One partition with a bad record in its middle, and one of only good records."""
    topic = world.topic("t", 2, config=LARGE)
    world.topic("t", 2, on="destination", config={**LARGE, **case.config})
    bad = [(0, Rec(b"k", random.randbytes(case.size), (("h", b"v"),), now_ms()))]
    world.produce(topic, world.numbers(2 * BEFORE, 2), **{"message.max.bytes": "4000000"})
    world.produce(topic, bad, **{"message.max.bytes": "4000000"})
    world.produce(topic, world.numbers(2 * AFTER, 2, 100))
    until = BEFORE + AFTER
    return order_of(world, topic, until, limits=case.limits, producer=case.producer, **more)


def stopped(world: World) -> Stopped:
    (record,) = world.ledger().stopped.values()
    return record


@pytest.mark.parametrize("carrier", ["native", "object"])
@pytest.mark.parametrize("case", [SEGMENT, CLIENT, QUEUE], ids=str)
def test_a_record_that_can_never_arrive_is_named(world: World, case: Case, carrier: CarrierChoice) -> None:
    order = bad_order(world, case, carrier=carrier)

    receipt = serve_order(order, pause=Patience(20))

    assert (receipt.outcome, receipt.stopped) == ("done", 1)
    record = stopped(world)
    assert (record.verdict, record.partition, record.expected) == ("poison", 0, BEFORE)
    assert case.message in record.what
    assert case.todo in record.todo
    there = world.read(order.lanes[0].place.topic)
    assert [len(there[0]), len(there[1])] == [BEFORE, BEFORE + AFTER]


def test_a_record_that_the_client_rejects_stops_the_partition_although_there_is_a_quarantine(
    world: World,
) -> None:
    """The client would reject it there as well."""
    order = bad_order(world, CLIENT, on_poison="quarantine")
    ensure_quarantine(ClusterView(order.destination), world.mirror, 1, 0)

    receipt = serve_order(order, pause=Patience(20))

    assert (receipt.outcome, receipt.stopped) == ("done", 1)
    assert (stopped(world).verdict, stopped(world).expected) == ("poison", BEFORE)


def test_a_record_larger_than_a_segment_is_quarantined(world: World) -> None:
    order = bad_order(world, SEGMENT, on_poison="quarantine")
    ensure_quarantine(ClusterView(order.destination), world.mirror, 1, 0)

    receipt = serve_order(order, pause=Patience(20))

    assert (receipt.outcome, receipt.stopped) == ("done", 0)
    tallies = {source.partition: position.tally for source, position in world.ledger().positions.items()}
    assert (tallies[0].delivered, tallies[0].quarantined) == (BEFORE + AFTER, 1)
    assert tallies[1].delivered == BEFORE + AFTER


LOUD = """\
class Loud:
    def __init__(self, config):
        pass

    def keep(self, record):
        if record.headers:
            raise ValueError("é" * 2_000_000)
        return True
"""


def test_a_filters_error_message_fits_into_the_ledger(world: World) -> None:
    loud = FilterSpec("loud.py:Loud", {}, "stop", LOUD)
    order = bad_order(world, Case("filter", "", "", size=10), filters=(loud,), carrier="object")

    receipt = serve_order(order, pause=Patience(5))

    assert (receipt.outcome, receipt.stopped) == ("done", 1)
    assert (stopped(world).verdict, stopped(world).expected) == ("filter", BEFORE)
    assert "loud.py:Loud raised" in stopped(world).what
    assert "é" in stopped(world).what


@pytest.mark.parametrize("policy", ["stop", "quarantine"])
def test_an_error_that_names_no_record_is_traced_to_it(
    world: World, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """Whichever error a record causes in the code that handles it."""

    def fail_at(headers: Any, origin: bytes) -> Any:
        if headers:
            raise ZeroDivisionError("of this record")
        return [("origin", origin)]

    monkeypatch.setattr("causeway.rules.added_headers.marked", fail_at)
    case = Case("unknown", "", "", size=10)
    order = bad_order(world, case, provenance="d", on_poison=policy)
    if policy == "quarantine":
        ensure_quarantine(ClusterView(order.destination), world.mirror, 1, 0)

    receipt = serve_order(order, pause=Patience(40))

    assert receipt.outcome == "done"
    tallies = {source.partition: position.tally for source, position in world.ledger().positions.items()}
    assert tallies[1].delivered == BEFORE + AFTER
    if policy == "stop":
        record = stopped(world)
        assert (record.verdict, record.expected) == ("poison", BEFORE)
        assert "ZeroDivisionError: of this record" in record.what
    else:
        assert (tallies[0].delivered, tallies[0].quarantined) == (BEFORE + AFTER, 1)


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_rejection_for_an_unknown_reason_stops_only_its_partition(
    world: World, monkeypatch: pytest.MonkeyPatch, delivery: str
) -> None:
    """Brokers may reject records with unknown codes, for reasons outside of the record."""
    monkeypatch.setattr("causeway.replication.worker.rejected_records.is_poison", lambda _error: False)
    order = bad_order(world, SEGMENT, delivery=delivery, on_poison="quarantine")
    ensure_quarantine(ClusterView(order.destination), world.mirror, 1, 0)

    receipt = serve_order(order, pause=Patience(40))

    assert (receipt.outcome, receipt.stopped) == ("done", 1)
    record = stopped(world)
    assert (record.verdict, record.partition, record.expected) == ("refused", 0, BEFORE)
    assert SEGMENT.message in record.what
    tallies = {source.partition: position.tally for source, position in world.ledger().positions.items()}
    assert (tallies[0].delivered, tallies[0].quarantined) == (BEFORE, 0)
    assert tallies[1].delivered == BEFORE + AFTER
