"""A partition without a leader has no offset, which is no error: a new topic has none for a moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.core.cluster import Cluster
from causeway.core.position import SourcePartition
from causeway.errors import Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.hanging_transactions import _visible_entry
from causeway.local_kafka import EmbeddedCluster
from causeway.rules.ledger_consistency import MapEntry
from support.process import eventually


@pytest.mark.integration
def test_a_topic_whose_partitions_have_no_leader_is_absent_from_the_offsets(tmp_path: Path) -> None:
    with EmbeddedCluster.start("unled", brokers=3, directory=tmp_path / "unled") as cluster:
        first, second, _third = cluster.brokers
        servers = f"127.0.0.1:{first.port}"
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        wanted = NewTopic("t", 1, replica_assignment=[[second.id]])
        for future in admin.create_topics([wanted]).values():
            future.result()
        view = ClusterView(Cluster("c", {"bootstrap.servers": servers}))
        eventually(lambda: view.offsets([("t", 0)], "latest") == {("t", 0): 0}, "the topic has a leader")

        second.kill()
        eventually(
            lambda: admin.list_topics("t", timeout=10).topics["t"].partitions[0].leader == -1,
            "the brokers know that the leader is gone",
        )

        assert view.offsets([("t", 0)], "latest") == {}
        # Whether a hanging transaction was committed: without a response there is no decision.
        with pytest.raises(Unreachable):
            _visible_entry(view, [MapEntry(SourcePartition("s", "t", 0), "id", 1, ("t", 0), 1)])
