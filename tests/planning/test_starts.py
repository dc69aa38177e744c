"""Where a mirror begins: one moment, committed to the ledger before the mirror is ready."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from causeway.config import load
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, RouteClaim
from causeway.core.position import SourcePartition
from causeway.core.route import ClusterTopic, Placement, Route
from causeway.core.topic import TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.planning.starts import met_later, wanted_starts
from causeway.replication.run import Run
from causeway.rules.ledger_state import LedgerState
from support.records import Rec
from support.world import World, now_ms


def prepared(config: Path) -> None:
    """Make the mirror ready, and end before Spark and the shards would start."""
    run = Run(load(config, environ={}), [], False, lambda _mirror, _event: None)
    run.prepare()
    assert run.snapshot().prepared
    for driver in run._drivers:
        driver.leave()


def offsets(world: World) -> list[tuple[int, int, int]]:
    """Partition, start and next offset of each position, in order."""
    positions = world.ledger().positions
    return sorted(
        (source.partition, position.start, position.offset) for source, position in positions.items()
    )


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("start", ["latest", "timestamp"])
def test_records_written_once_the_mirror_is_ready_are_not_skipped(
    world: World, start: str, delivery: str
) -> None:
    """The shards begin seconds later, or only after the next start: the first position holds."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(10, 2))
    later = datetime.now(UTC) + timedelta(hours=1)
    config = world.config(
        start="latest" if start == "latest" else later.isoformat(timespec="milliseconds"),
        delivery=delivery,
        shards=2,
    )

    prepared(config)

    assert offsets(world) == [(0, 5, 5), (1, 5, 5)]
    world.produce(topic, world.numbers(50, 2, 100))
    prepared(config)
    assert offsets(world) == [(0, 5, 5), (1, 5, 5)], "a restart before the first commit resolves it again"
    if (start, delivery) == ("latest", "exactly-once"):
        world.carry_all(config)
        assert [len(records) for records in world.read(topic).values()] == [25, 25]
        assert world.carried() == 50


def test_a_transaction_that_is_open_at_the_start_arrives_whole(world: World) -> None:
    """ "latest" is the last stable offset: what is committed from then on arrives."""
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    producer = Producer(
        {"bootstrap.servers": world.servers["source"], "transactional.id": f"open-{world.mirror}"}
    )
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"first of two", partition=0)
    assert producer.flush(10) == 0

    prepared(world.config(start="latest"))

    producer.produce(topic, b"second of two", partition=0)
    producer.commit_transaction(10)
    assert offsets(world) == [(0, 10, 10)]


@pytest.mark.parametrize("refused", [False, True])
def test_a_topic_that_appeared_while_the_mirror_ran_keeps_its_beginning(world: World, refused: bool) -> None:
    """A restart comes before its first position; or it was refused, and then the settings were changed."""
    old, new = world.name("old"), world.name("new")
    world.topic("old")
    run = Run(load(world.config(start="latest"), environ={}), [], False, lambda _mirror, _event: None)
    run.prepare()
    (driver,) = run._drivers
    world.topic("new")
    world.produce(new, world.numbers(10))
    if refused:
        world.topic("new", on="destination")
        world.produce(new, world.numbers(1), on="destination")
    driver._planner.make_plan(driver._ready.ledger, starting=True)
    assert bool(driver._planner.plan.refusals) is refused
    driver.leave()

    prepared(world.config(start="latest", on_existing_records="append"))

    assert {source.topic for source in world.ledger().positions} == {old}
    assert [claim.topic for claim in world.ledger().claims.values() if claim.later] == [new]


def test_which_topics_begin_at_latest() -> None:
    """Topics that are new to the ledger, and did not appear while the mirror ran."""
    view: Any = SimpleNamespace(cluster_id=lambda: "paris")
    mirror: Any = SimpleNamespace(for_source=lambda _alias: SimpleNamespace(start_at="latest"))
    routes = {("src", name): Route("src", TopicFacts(name, name, 1, 1), name, Placement()) for name in "abc"}
    image = LedgerState()
    assert met_later(routes, {"src": view}, image, {ClusterTopic("paris", name) for name in "abc"}) == []
    (claim,) = met_later(
        routes, {"src": view}, image, {ClusterTopic("paris", "a"), ClusterTopic("paris", "c")}
    )
    image.apply(CONTROL, claim)
    image.apply(CONTROL, RouteClaim("paris", "c", "c", "c", provenance=False, settled=True, at=1))
    assert met_later(routes, {"src": view}, image, {ClusterTopic("paris", "a")}) == []
    assert wanted_starts(mirror, routes, {"src": view}, image) == {
        SourcePartition("paris", "a", 0): "stable",
        SourcePartition("paris", "c", 0): "stable",
    }


class Busy:
    """An admin client of a cluster where a record is written after each request for offsets."""

    def __init__(self, admin: Any, world: World, topic: str) -> None:
        self._admin, self._world, self._topic = admin, world, topic

    def __getattr__(self, name: str) -> Any:
        return getattr(self._admin, name)

    def list_offsets(self, *asked: Any, **more: Any) -> Any:
        futures = self._admin.list_offsets(*asked, **more)
        for future in futures.values():
            future.result()
        self._world.produce(self._topic, [(0, Rec(b"k", b"new", (), now_ms()))])
        return futures


def test_a_record_that_comes_while_a_timestamp_is_resolved_is_not_skipped(world: World) -> None:
    """A broker has no record at or after the time, then one is written, then the log end is requested."""
    topic = world.topic("t", 1)
    since = now_ms() - 1_000
    world.produce(topic, [(0, Rec(b"k", b"old", (), since - 60_000))])
    view = ClusterView(Cluster("src", {"bootstrap.servers": world.servers["source"]}))
    view.connect()
    view._admin._client = cast(Any, Busy(view._admin.client, world, topic))

    offset = view.offsets([(topic, 0)], since)

    assert offset == {(topic, 0): 1}, "the first record at or after the time is at offset 1"
