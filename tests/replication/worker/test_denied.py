"""A destination topic that the mirror's user may not write to stops only its own partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation

from causeway.core.choices import CarrierChoice
from causeway.core.task_order import TaskOrder
from causeway.core.topic import TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.kafka.quarantine import ensure_quarantine
from causeway.local_kafka import EmbeddedCluster
from causeway.replication.worker.task import serve_order
from causeway.replication.worker.task_state import TaskState
from support.ordering import Patience, TooManyAttempts, order_of
from support.rights import Rights, cluster_with_rights, world_with
from support.world import World

COUNT = 20


@pytest.fixture(scope="module")
def rights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rights]:
    with cluster_with_rights("rights", tmp_path_factory.mktemp("rights")) as rights_cluster:
        yield rights_cluster


@pytest.fixture
def world(source: EmbeddedCluster, rights: Rights, tmp_path: Path) -> Iterator[World]:
    with world_with(rights, source, tmp_path) as world:
        yield world


def two_topics(world: World, rights: Rights, **more: Any) -> tuple[str, str, TaskOrder]:
    """Two topics in one shard, of which the first will be denied."""
    names = [world.topic(suffix, 2) for suffix in ("closed", "open")]
    for suffix, name in zip(("closed", "open"), names, strict=True):
        world.topic(suffix, 2, on="destination")
        world.produce(name, world.numbers(COUNT, 2))
    order = order_of(world, names, COUNT // 2, **more)
    return names[0], names[1], replace(order, destination=rights.as_user("destination"))


def next_slice(order: TaskOrder, until: int | None = None) -> TaskOrder:
    lanes = tuple(replace(lane, until=until or lane.until) for lane in order.lanes)
    return replace(order, slice=replace(order.slice, number=order.slice.number + 1), lanes=lanes)


def delivered(world: World, topic: str) -> list[int]:
    """Records in each partition; those that came twice count once."""
    there = world.read(topic)
    return [len(set(there[number])) for number in sorted(there)]


@pytest.mark.parametrize("carrier", ["native", "object"])
@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("right", ["WRITE", "DESCRIBE"])
def test_a_topic_without_write_permission_stops_alone_and_resumes_when_it_is_granted(
    world: World, rights: Rights, right: str, delivery: str, carrier: CarrierChoice
) -> None:
    closed, open_, order = two_topics(world, rights, delivery=delivery, carrier=carrier)
    rights.deny(closed, AclOperation[right])

    for _ in range(2):
        receipt = serve_order(order, pause=Patience(5))

        assert (receipt.outcome, receipt.stopped) == ("done", 2)
        for stopped in world.ledger().stopped.values():
            assert (stopped.topic, stopped.verdict) == (closed, "refused")
            assert f"topic {closed} on destination must not be written to" in stopped.what
            assert f"no {right} permission" in stopped.what
            assert f"--producer --topic {closed}" in stopped.todo
        assert (delivered(world, closed), delivered(world, open_)) == ([0, 0], [10, 10])
        order = next_slice(order)

    rights.grant(closed)
    receipt = serve_order(order, pause=Patience(5))

    assert (receipt.outcome, receipt.stopped) == ("done", 0)
    assert not any(stopped.verdict for stopped in world.ledger().stopped.values())
    assert (delivered(world, closed), delivered(world, open_)) == ([10, 10], [10, 10])
    if delivery == "exactly-once":
        world.assert_mirrored(closed, open_)


@pytest.mark.parametrize("right", ["WRITE", "DESCRIBE"])
@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_revoked_permission_stops_a_partition_that_was_replicated_before(
    world: World, rights: Rights, delivery: str, right: str
) -> None:
    closed, open_, order = two_topics(world, rights, delivery=delivery)
    assert serve_order(order, pause=Patience(5)).stopped == 0
    for name in (closed, open_):
        world.produce(name, world.numbers(COUNT, 2, COUNT))
    rights.deny(closed, AclOperation[right])

    receipt = serve_order(next_slice(order, COUNT), pause=Patience(5))

    assert (receipt.outcome, receipt.stopped) == ("done", 2)
    assert {stopped.expected for stopped in world.ledger().stopped.values()} == {COUNT // 2}
    assert (delivered(world, closed), delivered(world, open_)) == ([10, 10], [20, 20])


def test_a_quarantine_without_write_permission_stops_the_partition_instead(
    world: World, rights: Rights
) -> None:
    topic = world.topic("t", 1, config={"max.message.bytes": "4000000"})
    world.topic("t", 1, on="destination", config={"max.message.bytes": "500000"})
    world.produce(topic, world.numbers(5))
    world.produce(topic, world.numbers(1, size=1_000_000))
    order = order_of(world, topic, 6, on_poison="quarantine")
    ensure_quarantine(ClusterView(order.destination), world.mirror, 1, 0)
    rights.deny(order.quarantine)

    receipt = serve_order(replace(order, destination=rights.as_user("destination")), pause=Patience(10))

    assert (receipt.outcome, receipt.stopped) == ("done", 1)
    (stopped,) = world.ledger().stopped.values()
    assert (stopped.verdict, stopped.expected) == ("poison", 5)


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_an_offset_map_without_write_permission_is_named_and_repeats_nothing(
    world: World, rights: Rights, delivery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    monkeypatch.setattr(TaskState, "add_event", lambda _memory, _level, what: events.append(what))
    closed, open_, order = two_topics(world, rights, delivery=delivery)
    rights.deny(order.offset_map)

    with pytest.raises(TooManyAttempts):
        serve_order(order, pause=Patience(5))

    assert f"topic {order.offset_map} on destination must not be written to" in events[-1]
    there = [len(records) for topic in (closed, open_) for records in world.read(topic).values()]
    assert sum(there) <= 2 * COUNT, "no more than one attempt has produced them"
    rights.grant(order.offset_map)
    assert serve_order(order, pause=Patience(5)).outcome == "done"
    assert (delivered(world, closed), delivered(world, open_)) == ([10, 10], [10, 10])


def test_without_authorized_operations_from_the_brokers_the_clients_log_names_the_topic(
    world: World, rights: Rights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers before Kafka 2.3."""
    describe = ClusterView.describe

    def describe_without_rights(self: ClusterView, names: Any, **how: Any) -> dict[str, TopicFacts]:
        return {name: replace(facts, writable=None) for name, facts in describe(self, names, **how).items()}

    monkeypatch.setattr(ClusterView, "describe", describe_without_rights)
    closed, open_, order = two_topics(world, rights)
    rights.deny(closed)

    for _ in range(2):
        receipt = serve_order(order, pause=Patience(5))

        assert (receipt.outcome, receipt.stopped) == ("done", 2)
        assert (delivered(world, closed), delivered(world, open_)) == ([0, 0], [10, 10])
        order = next_slice(order)


def test_if_the_client_does_not_name_the_topic_the_brokers_do(
    world: World, rights: Rights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.kafka.producer_client.DENIED", re.compile("nothing"))
    closed, open_, order = two_topics(world, rights)
    rights.deny(closed)

    receipt = serve_order(order, pause=Patience(5))

    assert (receipt.outcome, receipt.stopped) == ("done", 2)
    assert (delivered(world, closed), delivered(world, open_)) == ([0, 0], [10, 10])
