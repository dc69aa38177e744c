"""A broker that forgets the end of a transaction while it starts again (seen with Kafka 4.3.1).

The coordinator is there before the broker counts as one that leads anything. Where it has to end one by then,
which ran out of time or was being committed, it takes the partitions for deleted ones, and writes no markers.
The transaction stays open until the next one under the same id ends, and ends as that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.embedded import EmbeddedCluster
from causeway.kafka.admin import ClusterView
from causeway.model.cluster import Cluster
from causeway.model.order import transactional_id
from faults.mirrors import CausewayMirror
from support.process import eventually
from support.records import read_all

pytestmark = pytest.mark.deep

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


def leave_open(cluster: EmbeddedCluster, name: str, topic: str) -> None:
    """A transaction whose broker is killed, and which runs out of time before that is back."""
    producer = writer(cluster, name)
    producer.begin_transaction()
    producer.produce(topic, b"left behind", b"k", 0)
    assert producer.flush(10) == 0
    (broker,) = cluster.brokers
    broker.kill()
    broker.start()
    eventually(lambda: "likely deleted already" in broker.log.read_text(), "its end is left out", 30)


def look(cluster: EmbeddedCluster) -> ClusterView:
    """New eyes: a broker that was away is not found at once by those that saw it go."""
    view = ClusterView(Cluster("it", {"bootstrap.servers": cluster.bootstrap_servers}))
    view.connect()
    return view


def is_open(cluster: EmbeddedCluster, topic: str) -> bool:
    view, spot = look(cluster), [(topic, 0)]
    return view.all_offsets(spot, "stable") != view.all_offsets(spot, "latest")


def test_the_next_transaction_under_the_id_decides_what_becomes_of_it(
    single: EmbeddedCluster, topic_name: str
) -> None:
    assert look(single).create_topic(topic_name, 1, 1, {})
    leave_open(single, "x", topic_name)

    producer = writer(single, "x")
    assert is_open(single, topic_name), "the fence was answered, and the transaction before it has no end"
    producer.begin_transaction()
    producer.produce(topic_name, b"thrown away", b"k", 0)
    assert producer.flush(10) == 0
    producer.abort_transaction(10)

    eventually(lambda: not is_open(single, topic_name), "an abort ends both")
    assert read_all(single.bootstrap_servers, topic_name) in ({}, {0: []})


@pytest.mark.xfail(strict=True, reason="GUARANTEES.md, what cannot be promised: the end that a broker forgot")
def test_what_was_left_open_never_becomes_visible(
    source: EmbeddedCluster, single: EmbeddedCluster, tmp_path: Path
) -> None:
    """Here it was never carried; where a mirror left it, it is carried again, and would be there twice."""
    mirror = CausewayMirror(tmp_path, source, single, shards=1)
    topic = f"{mirror.name}.t"
    assert look(source).create_topic(topic, 1, 1, {})
    sender = Producer({"bootstrap.servers": source.bootstrap_servers})

    def carry(value: bytes) -> None:
        sender.produce(topic, value, b"k", 0)
        assert sender.flush(10) == 0
        assert mirror.start("--stop-at-end").wait() == 0, mirror.output

    carry(b"before")
    leave_open(single, transactional_id(mirror.name, 1), topic)
    carry(b"behind")

    found = [record.value for record in read_all(single.bootstrap_servers, topic)[0]]
    assert found == [b"before", b"behind"]
