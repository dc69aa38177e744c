"""A broker that forgets the end of a transaction while it starts again (seen with Kafka 4.3.1).

The coordinator is there before the broker counts as one that leads anything. Where it has to end one by then,
which ran out of time or was being committed, it takes the partitions for deleted ones, and writes no markers.
The transaction stays open until the next one under the same id ends, and ends as that does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.embedded import EmbeddedCluster
from causeway.kafka.admin import ClusterView
from causeway.model.cluster import Cluster
from causeway.model.order import ledger_topic, offset_map_topic, transactional_id
from causeway.model.record import Heartbeat, encode
from causeway.policy.positions import Carried, Waits, advance
from faults.mirrors import CausewayMirror
from support.process import eventually
from support.records import read_all

pytestmark = pytest.mark.deep

Entry = tuple[str, int, bytes, bytes]  # topic, partition, key and value

ENDED_WITHIN_MS = 1_500
BRISK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}


@pytest.fixture
def single(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster.start("single", directory=tmp_path / "single", config=BRISK) as cluster:
        yield cluster


def writer(cluster: EmbeddedCluster, name: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name,
            "transaction.timeout.ms": ENDED_WITHIN_MS, "log_level": 0,
        }
    )  # fmt: skip
    producer.init_transactions(30)
    return producer


def leave_open(cluster: EmbeddedCluster, name: str, *entries: Entry) -> None:
    """A transaction whose broker is killed, and which runs out of time before that is back."""
    producer = writer(cluster, name)
    producer.begin_transaction()
    for topic, partition, key, value in entries:
        producer.produce(topic, value, key, partition)
    assert producer.flush(10) == 0
    (broker,) = cluster.brokers
    broker.kill()
    broker.start()

    def left_out() -> int:
        return broker.log.read_text().count("likely deleted already")

    eventually(lambda: left_out() >= len(entries), "its end is left out", 30)


def look(cluster: EmbeddedCluster) -> ClusterView:
    """New eyes: a broker that was away is not found at once by those that saw it go."""
    view = ClusterView(Cluster("it", {"bootstrap.servers": cluster.bootstrap_servers}))
    view.connect()
    return view


def is_open(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> bool:
    view, spot = look(cluster), [(topic, partition)]
    return view.all_offsets(spot, "stable") != view.all_offsets(spot, "latest")


def test_the_next_transaction_under_the_id_decides_what_becomes_of_it(
    single: EmbeddedCluster, topic_name: str
) -> None:
    assert look(single).create_topic(topic_name, 1, 1, {})
    leave_open(single, "x", (topic_name, 0, b"k", b"left behind"))

    producer = writer(single, "x")
    assert is_open(single, topic_name), "the fence was answered, and the transaction before it has no end"
    producer.begin_transaction()
    producer.produce(topic_name, b"thrown away", b"k", 0)
    assert producer.flush(10) == 0
    producer.abort_transaction(10)

    eventually(lambda: not is_open(single, topic_name), "an abort ends both")
    assert read_all(single.bootstrap_servers, topic_name) in ({}, {0: []})


class Scene:
    """A mirror of one partition that has carried a record; then a broker forgets a transaction of its shard."""

    def __init__(self, directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster) -> None:
        self.destination = destination
        self.mirror = CausewayMirror(directory, source, destination, shards=1)
        self.topic = f"{self.mirror.name}.t"
        self._sender = Producer({"bootstrap.servers": source.bootstrap_servers})
        assert look(source).create_topic(self.topic, 1, 1, {})
        self.send(b"before")
        self.carry()

    def send(self, value: bytes) -> None:
        self._sender.produce(self.topic, value, b"k", 0)
        assert self._sender.flush(10) == 0

    def carry(self) -> None:
        assert self.mirror.start("--stop-at-end").wait() == 0, self.mirror.output

    def place(self, value: bytes) -> Entry:
        """The record at its destination."""
        return self.topic, 0, b"k", value

    def books(self) -> tuple[Entry, Entry]:
        """What the ledger and the offset map get with the next record."""
        ((source, known),) = self.mirror.ledger().positions.items()
        at = look(self.destination).all_offsets([(self.topic, 0)], "latest")[self.topic, 0]
        carried = Carried(known.offset + 1, known.epoch, delivered=1, place_end=at + 1, waits=Waits())
        position = advance(known, carried, known.at)
        runs = {"v": 1, "topic_id": known.topic_id, "to": list(known.place), "runs": [(known.offset, at, 1)]}
        key = f"{source.cluster}|{source.topic}|{source.partition}"
        return (
            (ledger_topic(self.mirror.name), 1, *encode(position)),
            (offset_map_topic(self.mirror.name), 1, key.encode(), json.dumps(runs).encode()),
        )

    def commit(self, *entries: Entry) -> None:
        producer = Producer({"bootstrap.servers": self.destination.bootstrap_servers})
        for topic, partition, key, value in entries:
            producer.produce(topic, value, key, partition)
        assert producer.flush(10) == 0

    def forget(self, *entries: Entry) -> None:
        leave_open(self.destination, transactional_id(self.mirror.name, 1), *entries)
        assert all(is_open(self.destination, *entry[:2]) for entry in entries)

    @property
    def found(self) -> list[bytes | None]:
        return [record.value for record in read_all(self.destination.bootstrap_servers, self.topic)[0]]


@pytest.fixture
def scene(source: EmbeddedCluster, single: EmbeddedCluster, tmp_path: Path) -> Scene:
    return Scene(tmp_path, source, single)


@pytest.mark.parametrize(
    ("committed", "forgotten"),
    [
        ("", "place"),  # it had not come to the ledger
        ("", "place ledger map"),  # it was to be committed, or not: nobody has seen anything of it
        ("place", "ledger map"),  # it was committed, as the place shows
        ("place map", "ledger"),
        ("ledger map", "place"),  # it was committed, as the ledger shows
        ("ledger place", "map"),
    ],
)
def test_a_record_is_there_once_whatever_was_forgotten(scene: Scene, committed: str, forgotten: str) -> None:
    scene.send(b"amid")
    entries = dict(zip(("ledger", "map", "place"), (*scene.books(), scene.place(b"amid")), strict=True))
    scene.commit(*(entries[part] for part in committed.split()))
    scene.forget(*(entries[part] for part in forgotten.split()))

    scene.send(b"behind")
    scene.carry()

    assert scene.found == [b"before", b"amid", b"behind"]
    assert scene.mirror.ledger().positions.popitem()[1].offset == 3
    assert not is_open(scene.destination, offset_map_topic(scene.mirror.name), 1)


def test_what_the_driver_left_open_holds_nobody_up(scene: Scene) -> None:
    ledger, shard = ledger_topic(scene.mirror.name), 0
    leave_open(
        scene.destination,
        transactional_id(scene.mirror.name, shard),
        (ledger, shard, *encode(Heartbeat(0, 1, 1, 0, "host", 1))),
    )
    assert is_open(scene.destination, ledger, shard)

    scene.send(b"behind")
    scene.carry()

    assert scene.found == [b"before", b"behind"]
