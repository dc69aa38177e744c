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

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Heartbeat, encode
from causeway.core.task_order import Limits, ledger_topic, offset_map_topic, transactional_id
from causeway.kafka.admin import ClusterView
from causeway.kafka.hanging_transactions import abort, commit_again, written_from
from causeway.kafka.hanging_transactions import look as seen
from causeway.kafka.task_errors import Again, Fenced
from causeway.local_kafka import EmbeddedCluster
from causeway.rules.positions import Replicated, Waits, advance
from faults.mirrors import CausewayMirror, failing
from support.process import Causeway, eventually
from support.records import read_all

deep = pytest.mark.deep

Entry = tuple[str, int, bytes, bytes]  # topic, partition, key and value

ENDED_WITHIN_MS = 1_500
TRIES = 3
LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)
BRISK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}


@pytest.fixture
def single(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster.start("single", directory=tmp_path / "single", config=BRISK) as cluster:
        yield cluster


def writer(cluster: EmbeddedCluster, name: str, timeout_ms: int = ENDED_WITHIN_MS) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name,
            "transaction.timeout.ms": timeout_ms, "log_level": 0,
        }
    )  # fmt: skip
    producer.init_transactions(30)
    return producer


def leave_open(cluster: EmbeddedCluster, name: str, *entries: Entry) -> bool:
    """A transaction whose broker is killed, and which runs out of time before that is back.

    Returns whether the broker forgot its end, as it mostly does; otherwise nothing is left of it.
    """
    producer = writer(cluster, name)
    producer.begin_transaction()
    for topic, partition, key, value in entries:
        producer.produce(topic, value, key, partition)
    assert producer.flush(10) == 0
    (broker,) = cluster.brokers
    broker.kill()
    logged = broker.log.stat().st_size
    broker.start()

    def left_out() -> bool:
        log = broker.log.read_bytes()[logged:].decode()
        said = [line for line in log.splitlines() if "likely deleted already" in line]
        return all(any(f"{topic}-{number}" in line for line in said) for topic, number, *_ in entries)

    spots = [entry[:2] for entry in entries]
    eventually(lambda: left_out() or not any(is_open(cluster, *spot) for spot in spots), "it is ended", 30)
    writer(cluster, name)  # returns once the coordinator is done: it may write a marker late, after all
    forgotten = all(is_open(cluster, *spot) for spot in spots)
    if not forgotten:
        abort(look(cluster), name, 10, spots, {})
    return forgotten


def look(cluster: EmbeddedCluster) -> ClusterView:
    """New eyes: a broker that was away is not found at once by those that saw it go."""
    view = ClusterView(Cluster("it", {"bootstrap.servers": cluster.bootstrap_servers}))
    view.connect()
    return view


def is_open(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> bool:
    view, spot = look(cluster), [(topic, partition)]
    return view.all_offsets(spot, "stable") != view.all_offsets(spot, "latest")


@deep
def test_the_next_transaction_under_the_id_decides_what_becomes_of_it(
    single: EmbeddedCluster, topic_name: str
) -> None:
    assert look(single).create_topic(topic_name, 1, 1, {})
    assert any(leave_open(single, "x", (topic_name, 0, b"k", b"left behind")) for _ in range(TRIES))

    producer = writer(single, "x")
    assert is_open(single, topic_name), "the fence succeeded, and the transaction before it has no end"
    producer.begin_transaction()
    producer.produce(topic_name, b"thrown away", b"k", 0)
    assert producer.flush(10) == 0
    producer.abort_transaction(10)

    eventually(lambda: not is_open(single, topic_name), "an abort ends both")
    assert read_all(single.bootstrap_servers, topic_name) in ({}, {0: []})


class Scene:
    """A mirror of one partition after its first record, and a broker that forgets its shard's transaction."""

    def __init__(
        self, directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster, placement: str
    ) -> None:
        self.destination = destination
        self.mirror = CausewayMirror(directory, source, destination, shards=1, partitions=placement)
        self.topic = f"{self.mirror.name}.t"
        self._sender = Producer({"bootstrap.servers": source.bootstrap_servers, "log_level": 0})
        assert look(source).create_topic(self.topic, 1, 1, {})
        self.send(b"before")
        self.replicate()

    def send(self, value: bytes) -> None:
        self._sender.produce(self.topic, value, b"k", 0)
        assert self._sender.flush(10) == 0

    def replicate(self) -> None:
        assert self.mirror.start("--stop-at-end").wait() == 0, self.mirror.output

    def place(self, value: bytes) -> Entry:
        """The record at its destination."""
        return self.topic, 0, b"k", value

    def entries(self) -> tuple[Entry, Entry]:
        """What the ledger and the offset map get with the next record."""
        ((source, known),) = self.mirror.ledger().positions.items()
        at = look(self.destination).all_offsets([(self.topic, 0)], "latest")[self.topic, 0]
        end = at + 1 if known.place.partition >= 0 else -1
        replicated = Replicated(
            known.offset + 1, known.epoch, delivered=1, place_end=end, waits=Waits(), seen=known.offset + 1
        )
        position = advance(known, replicated, known.at)
        to = list(known.place._replace(partition=0))
        runs = {"v": 1, "topic_id": known.topic_id, "to": to, "runs": [(known.offset, at, 1)]}
        key = f"{source.cluster}|{source.topic}|{source.partition}"
        return (
            (ledger_topic(self.mirror.name), 1, *encode(position)),
            (offset_map_topic(self.mirror.name), 1, key.encode(), json.dumps(runs).encode()),
        )

    def commit(self, *entries: Entry) -> None:
        producer = Producer({"bootstrap.servers": self.destination.bootstrap_servers, "log_level": 0})
        for topic, partition, key, value in entries:
            producer.produce(topic, value, key, partition)
        assert producer.flush(10) == 0

    @property
    def found(self) -> list[bytes | None]:
        return [record.value for record in read_all(self.destination.bootstrap_servers, self.topic)[0]]

    def replicated(self, committed: str, forgotten: str) -> None:
        """A record of which a broker has committed these parts, and forgotten the others."""
        self.send(b"amid")
        for _ in range(TRIES):
            parts = dict(zip(("ledger", "map", "place"), (*self.entries(), self.place(b"amid")), strict=True))
            name = transactional_id(self.mirror.name, 1)
            if leave_open(self.destination, name, *(parts[one] for one in forgotten.split())):
                return self.commit(*(parts[one] for one in committed.split()))
        pytest.fail("the broker has forgotten nothing")


@pytest.fixture(params=["preserve"])
def scene(
    source: EmbeddedCluster, single: EmbeddedCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> Scene:
    return Scene(tmp_path, source, single, request.param)


@pytest.mark.parametrize("scene", ["preserve", pytest.param("by-key", marks=deep)], indirect=True)
@pytest.mark.parametrize(
    ("committed", "forgotten"),
    [
        ("", "place ledger map"),  # committed or not is unknown: no part of it was visible
        pytest.param("", "place", marks=deep),  # it had not come to the ledger
        pytest.param("place", "ledger map", marks=deep),  # it was committed, as the place shows
        pytest.param("place map", "ledger", marks=deep),
        pytest.param("ledger map", "place", marks=deep),  # it was committed, as the ledger shows
        pytest.param("ledger place", "map", marks=deep),
    ],
)
def test_a_record_is_there_once_whatever_was_forgotten(scene: Scene, committed: str, forgotten: str) -> None:
    scene.replicated(committed, forgotten)

    scene.send(b"after")
    scene.replicate()

    assert scene.found == [b"before", b"amid", b"after"]
    assert scene.mirror.ledger().positions.popitem()[1].offset == 3
    assert not is_open(scene.destination, offset_map_topic(scene.mirror.name), 1)


@deep
def test_what_was_thrown_away_although_it_counted_stops_the_mirror_until_it_is_replicated_again(
    scene: Scene, tmp_path: Path
) -> None:
    """The next transaction would have brought it back; it was aborted, and took it along."""
    scene.replicated("ledger map", "place")
    scene.send(b"after")
    env = failing("after-flush", 1, "kill", tmp_path / "killed")
    assert scene.mirror.start("--stop-at-end", env=env).wait() == 6, scene.mirror.output
    assert "were aborted at the destination" in scene.mirror.run.output
    assert scene.mirror.start("--stop-at-end").wait() == 6, "nor does another run continue silently"
    assert scene.found == [b"before"]

    skip = ["--topic", scene.topic, "--partition", "0", "--to", "1", "--back", "--yes"]
    moved = Causeway("offsets", "skip", scene.mirror.config, *skip, log=tmp_path / "skip.log")
    assert moved.wait() == 0, moved.output
    scene.replicate()

    assert scene.found == [b"before", b"amid", b"after"]
    assert not scene.mirror.ledger().hidden


@deep
@pytest.mark.parametrize("scene", ["preserve", "by-key"], indirect=True)
def test_what_was_aborted_before_the_ledger_could_list_it_stops_the_mirror(scene: Scene) -> None:
    """The producer that committed it did not know of the restart, and its next transaction was aborted."""
    scene.replicated("ledger map", "place")
    again = writer(scene.destination, transactional_id(scene.mirror.name, 1))
    again.begin_transaction()
    again.produce(scene.topic, b"next", b"k", 0)
    assert again.flush(10) == 0
    again.abort_transaction(10)
    scene.send(b"after")

    assert scene.mirror.start("--stop-at-end").wait() == 6, scene.mirror.output

    assert "were aborted at the destination" in scene.mirror.run.output
    assert scene.found == [b"before"]


@deep
def test_another_producers_open_transaction_blocks_no_mirror(scene: Scene) -> None:
    stranger = writer(scene.destination, "stranger", 60_000)
    stranger.begin_transaction()
    stranger.produce(scene.topic, b"stranger's", b"k", 0)
    assert stranger.flush(10) == 0

    scene.send(b"after")
    scene.replicate()
    scene.send(b"later")
    scene.replicate()

    assert [one.spot for one in scene.mirror.ledger().hidden] == [(scene.topic, 0)]
    stranger.abort_transaction(10)
    scene.send(b"last")
    scene.replicate()
    assert scene.found == [b"before", b"after", b"later", b"last"]
    assert not scene.mirror.ledger().hidden


@deep
def test_a_transaction_that_the_driver_left_open_blocks_no_shard(scene: Scene) -> None:
    name = scene.mirror.name
    beat = (ledger_topic(name), 0, *encode(Heartbeat(0, 1, 1, 0, "host", 1)))
    assert any(leave_open(scene.destination, transactional_id(name, 0), beat) for _ in range(TRIES))

    scene.send(b"after")
    scene.replicate()

    assert scene.found == [b"before", b"after"]


@deep
@pytest.mark.parametrize("ends_by", ["abort", "commit"])
def test_who_was_away_throws_nothing_away_on_the_ground_of_what_it_saw_before(
    single: EmbeddedCluster, topic_name: str, ends_by: str
) -> None:
    assert look(single).create_topic(topic_name, 1, 1, {})
    spot, old = (topic_name, 0), (b"k", b"left behind")
    assert any(leave_open(single, "x", (*spot, *old)) for _ in range(TRIES))
    sight = seen(look(single), [spot])
    written = {spot: written_from(look(single), spot, sight.opened[spot])}

    another = writer(single, "x")
    another.begin_transaction()
    another.produce(topic_name, b"newer", b"k", 0)
    another.commit_transaction(10)

    with pytest.raises((Again, Fenced), match="meanwhile"):
        if ends_by == "abort":
            abort(look(single), "x", 10, [spot], sight.ends)
        else:
            commit_again(look(single), "x", LIMITS, sight.opened, written)
    found = read_all(single.bootstrap_servers, topic_name)[0]
    assert [record.value for record in found] == [b"left behind", b"newer"]
