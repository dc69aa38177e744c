"""Reading a ledger to its end, and following it, come to the same."""

from __future__ import annotations

from dataclasses import replace

from causeway.kafka.admin import ClusterView
from causeway.kafka.delivery import IdempotentDelivery
from causeway.kafka.ledger import LedgerReader, ensure_topics
from causeway.model.cluster import Cluster
from causeway.model.order import Limits, ledger_topic
from causeway.model.position import Place, Position, SourcePartition
from causeway.model.record import CONTROL, Event, Lease, Record, Stopped, encode
from support.process import eventually
from support.world import World

SOURCE = SourcePartition("c", "t", 0)


def test_the_newest_record_of_each_key_is_what_all_of_them_come_to(world: World) -> None:
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    ensure_topics(ClusterView(cluster), world.mirror, 2, 1)
    following = LedgerReader(cluster, world.mirror, range(3))
    position = Position(SOURCE, "id", 0, 0, -1, Place("t", "id", 0), 0, -1, 1, 0)
    stopped = Stopped("c", "t", 0, "gap", "what", "todo", 1, lease=1)
    written: list[tuple[int, Record]] = [
        (CONTROL, Lease(1, "a", "h", 1, 1)),
        (CONTROL, Lease(2, "b", "h", 1, 2)),
        *[(1, replace(position, offset=offset, at=offset)) for offset in range(50)],
        (2, replace(position, source=SOURCE._replace(partition=1), offset=7)),
        (1, stopped),
        (1, replace(stopped, verdict="", at=2)),
        *[(1, Event(1, number, number, "info", f"event {number}")) for number in range(40)],
    ]
    limits = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)
    delivery = IdempotentDelivery(cluster, limits, "none")
    try:
        entries = [(ledger_topic(world.mirror), number, *encode(record)) for number, record in written]
        delivery.commit(entries)
    finally:
        delivery.close()

    heard: list[Record] = []

    def all_heard() -> bool:
        heard.extend(following.poll(0.2))
        return len(heard) == len(written)

    eventually(all_heard, "all of it is heard")
    reader = LedgerReader(cluster, world.mirror, range(3))
    image = reader.read_to_end(30)
    reader.close()
    following.close()

    assert image == following.image
    assert image.positions[SOURCE].offset == 49
    assert image.newest_lease() == 2
    assert not image.stopped
    assert {event.number for event in image.events.values()} == set(range(8, 40)), "the rest has rotated away"
