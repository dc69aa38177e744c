"""A mirror of an earlier version resumes: exactly the records after its positions are replicated."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import NewTopic

from causeway.core.position import SourcePartition
from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.rules.sharding import shard_of
from support.earlier_ledger import EarlierLedger, earlier_ledgers
from support.records import read_all
from support.world import World

EARLIER = earlier_ledgers()
POLICIES = {"ledger": "compact", "offset_map": "delete"}
MORE = 10  # records that each partition gets after the earlier version has ended


def topic_id(world: World, on: str, topic: str) -> str:
    (described,) = world.admin(on).describe_topics(TopicCollection([topic])).values()
    return str(described.result().topic_id)


def cluster_id(world: World, on: str) -> str:
    return str(world.admin(on).describe_cluster().result().cluster_id)


def sharded_alike(world: World, earlier: EarlierLedger) -> str:
    """A topic's suffix with which each partition belongs to the shard whose log has its earlier position."""
    cluster, shard = cluster_id(world, "source"), shard_of(earlier.source(0), earlier.shards)
    return next(
        suffix
        for suffix in (f"orders-{n}" for n in range(100))
        if shard_of(SourcePartition(cluster, world.name(suffix), 0), earlier.shards) == shard
    )


def write(world: World, ledger: EarlierLedger, names: dict[str, str]) -> None:
    """The earlier version's records, in their logs' order."""
    producer = Producer({"bootstrap.servers": world.servers["destination"], "acks": "all", "log_level": 0})
    for log, name in names.items():
        for row in ledger.of(log):
            producer.produce(name, key=row.key, value=row.value, partition=row.partition)
        assert producer.flush(30) == 0


@pytest.mark.parametrize("earlier", EARLIER.values(), ids=EARLIER)
def test_a_mirror_of_an_earlier_version_resumes(world: World, earlier: EarlierLedger) -> None:
    partitions, before = earlier.partitions, earlier.records
    suffix = sharded_alike(world, earlier)
    topic = world.topic(suffix, partitions)
    world.topic(suffix, partitions, on="destination")
    replicated = world.numbers(before * partitions, partitions)
    world.produce(topic, replicated)
    world.produce(topic, replicated, on="destination", transaction="commit")
    names = {"ledger": ledger_topic(world.mirror), "offset_map": offset_map_topic(world.mirror)}
    for log, name in names.items():
        config = {"cleanup.policy": POLICIES[log]}
        new = NewTopic(name, earlier.shards + 1, 1, config=config)
        world.admin("destination").create_topics([new])[name].result()
    ids = {
        "source_cluster": cluster_id(world, "source"),
        "destination_cluster": cluster_id(world, "destination"),
        "topic_id": topic_id(world, "source", topic),
        "to_topic_id": topic_id(world, "destination", topic),
        "ledger_id": topic_id(world, "destination", names["ledger"]),
        "offset_map_id": topic_id(world, "destination", names["offset_map"]),
    }
    write(world, earlier.moved(topic, ids), names)
    ledger_before = world.ledger()
    assert {position.offset for position in ledger_before.positions.values()} == {before}
    assert len(ledger_before.positions) == partitions

    world.produce(topic, world.numbers(MORE * partitions, partitions, start=before * partitions))
    world.carry_all(world.config([topic], shards=earlier.shards))

    world.assert_mirrored(topic)
    after = world.ledger()
    assert after.lease and ledger_before.lease and after.lease.number > ledger_before.lease.number
    for source, position in ledger_before.positions.items():
        resumed = after.positions[source]
        assert (resumed.start, resumed.offset) == (position.start, before + MORE)
        assert resumed.tally.delivered == position.tally.delivered + MORE
    entries = [
        json.loads(rec.value or b"")
        for found_entries in read_all(world.servers["destination"], names["offset_map"]).values()
        for rec in found_entries
    ]
    assert len({tuple(entry) for entry in entries}) == 1, "new entries have the fields of the earlier ones"
    assert all(sorted(mapped) == list(range(before + MORE)) for mapped in world.offset_map(topic).values())
