"""At-least-once: an offset map that cannot be written does not make its records come repeatedly."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.task_errors import Again
from causeway.local_kafka import EmbeddedCluster
from support.records import read_all
from support.world import World

LIMITS = Limits(1_000, 1 << 20, 1, 4, 1 << 20, 1_000, 100_000, 10)


@pytest.mark.integration
def test_the_ledger_is_written_although_the_map_has_no_leader(tmp_path: Path) -> None:
    with EmbeddedCluster.start("unled", brokers=3, directory=tmp_path / "unled") as cluster:
        first, second, _third = cluster.brokers
        servers = f"127.0.0.1:{first.port}"
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        wanted = [
            NewTopic("ledger", 1, replica_assignment=[[first.id]]),
            NewTopic("offsets", 1, replica_assignment=[[second.id]]),
        ]
        for future in admin.create_topics(wanted).values():
            future.result()
        delivery = DestinationProducer(
            Cluster("c", {"bootstrap.servers": servers}), LIMITS, "none", AtLeastOnce()
        )
        delivery.commit([("ledger", 0, b"k", b"first")], [("offsets", 0, b"k", b"first")])

        second.kill()
        with pytest.raises(Again):
            delivery.commit([("ledger", 0, b"k", b"second")], [("offsets", 0, b"k", b"second")])
        delivery.close()

        assert [record.value for record in read_all(servers, "ledger")[0]] == [b"first", b"second"]


@pytest.mark.integration
def test_the_ledger_is_written_although_the_map_rejects_its_entry(world: World) -> None:
    """The rejection ends the producer: without transactions no later record may come before it."""
    ledger = world.topic("ledger", 1, on="destination")
    offsets = world.topic("offsets", 1, on="destination", config={"max.message.bytes": "200"})
    cluster = Cluster("destination", {"bootstrap.servers": world.servers["destination"]})
    delivery = DestinationProducer(cluster, LIMITS, "none", AtLeastOnce())
    with pytest.raises(Again, match="writing the offset map"):
        delivery.commit([(ledger, 0, b"k", b"position")], [(offsets, 0, b"k", b"x" * 10_000)])
    delivery.close()

    assert [record.value for record in world.read(ledger)[0]] == [b"position"]
    assert not world.read(offsets)[0]
