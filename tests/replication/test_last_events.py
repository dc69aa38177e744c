"""A short run: its shards' only records in the ledger may be read after its last slice."""

from __future__ import annotations

from causeway.config import load
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Event, Heartbeat, Stopped, encode
from causeway.core.snapshot import EventView
from causeway.core.task_order import Limits, ledger_topic
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.producer import DestinationProducer
from causeway.replication.driver import Driver
from support.world import World

LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)


def test_the_last_events_of_shards_are_reported_and_a_mirror_that_is_done_stays_done(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    settings = load(world.config(shards=1), environ={})
    events: list[EventView] = []
    driver = Driver(settings, settings.mirrors[0], True, lambda _mirror, event: events.append(event))
    driver.prepare(1)
    assert len(driver.orders()) == 1
    lease = world.ledger().newest_lease()
    cluster_id = driver._setup.sources["src"].cluster_id()

    destination = Cluster("dst", {"bootstrap.servers": world.servers["destination"]})
    producer = DestinationProducer(destination, LIMITS, "none", AtLeastOnce())
    records = (
        Event(1, 1, 1, "warning", "first"),
        Event(1, 1, 2, "warning", "second, under the same key"),
        Stopped(cluster_id, topic, 0, "gap", "offsets are gone", "", 1, 0, 5, 5),
        Heartbeat(1, lease, 1, 1, "h", 1, "native"),
    )
    producer.commit([(ledger_topic(world.mirror), 1, *encode(record)) for record in records])
    producer.close()
    driver.settle("done")
    driver.finish()

    whats = [event.what for event in events]
    assert whats[-4:-2] == ["first", "second, under the same key"]
    assert "stopped (gap)" in whats[-2]
    assert whats[-1] == "carrier: native"
    assert (driver.state, driver.status.progress.state) == ("done", "done")
