"""The offset map, read back from its end."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from causeway.core.cluster import Cluster
from causeway.core.position import SourcePartition
from causeway.core.task_order import offset_map_topic
from causeway.kafka import offset_map
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.offset_map import last_entries, tail
from causeway.rules.ledger_consistency import MapEntry
from support.world import World

SOURCE = SourcePartition("c", "t", 0)


def test_the_last_entry_of_each_place_is_found_at_any_distance_from_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = ClusterView(Cluster("destination", {"bootstrap.servers": world.servers["destination"]}))
    ensure_topics(view, world.mirror, 1, 1)
    spot = (offset_map_topic(world.mirror), 1)
    producer = Producer({"bootstrap.servers": world.servers["destination"], "log_level": 0})
    for number in range(40):
        to = ["there", "id", 0 if number < 2 else 1 + number % 2]
        entry = {"v": 1, "topic_id": "T", "to": to, "runs": [[0, 0, 1], [10 * number, 100 * number, 7]]}
        producer.produce(spot[0], json.dumps(entry).encode(), b"c|t|0", spot[1])
    assert producer.flush(10) == 0
    monkeypatch.setattr(offset_map, "STRETCH", 3)
    monkeypatch.setattr(offset_map, "TAIL", 2)

    entries = last_entries(view, spot, {("there", 0), ("there", 2), ("there", 9)})

    assert entries == {
        ("there", 0): MapEntry(SOURCE, "T", 17, ("there", 0), 107),
        ("there", 2): MapEntry(SOURCE, "T", 397, ("there", 2), 3907),
    }
    assert [landed.end for landed in tail(view, [spot])] == [387, 397]
