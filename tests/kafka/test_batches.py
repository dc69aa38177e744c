"""Reads the batches of a real log between two records that a consumer returns."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from causeway.core.cluster import Cluster
from causeway.kafka import batches
from causeway.kafka.batches import batches_between
from causeway.rules.holes import Hole, LogBatch, unexplained
from support.records import end_offsets
from support.world import World

TRANSACTIONS = 200


def aborted(world: World, topic: str) -> Hole:
    """Produce a record, many small aborted transactions, a record; return the hole between the two."""
    world.produce(topic, world.numbers(1))
    settings = {"bootstrap.servers": world.servers["source"], "transactional.id": topic, "linger.ms": 0}
    producer = Producer(settings)
    producer.init_transactions(30)
    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(10)
        producer.abort_transaction(10)
    world.produce(topic, world.numbers(1, start=1))
    return Hole(1, end_offsets(world.servers["source"], topic, 1)[0] - 1)


def test_many_aborted_transactions_take_few_fetches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of markers, a request for each takes longer than a transaction may stay open."""
    read: list[Hole] = []
    messages = batches._Log.messages

    def counted(self: batches._Log, hole: Hole) -> object:
        read.append(hole)
        return messages(self, hole)

    monkeypatch.setattr(batches._Log, "messages", counted)
    topic = world.topic()
    hole = aborted(world, topic)
    cluster = Cluster("source", {"bootstrap.servers": world.servers["source"]})

    result = batches_between(cluster, topic, 0, *hole)

    assert result is not None
    assert result.end == hole.end
    assert not unexplained(hole, result.batches)
    assert {batch.marker for batch in result.batches} == {False, True}
    assert len(read) < TRANSACTIONS / 10, "the markers were not read one by one"


def test_a_read_of_batches_ends_at_its_deadline_and_the_next_one_continues(world: World) -> None:
    topic = world.topic()
    hole = aborted(world, topic)
    cluster = Cluster("source", {"bootstrap.servers": world.servers["source"]})
    at, reads, seen = hole.begin, 0, list[LogBatch]()

    while at < hole.end and reads < 5:
        result = batches_between(cluster, topic, 0, at, hole.end, time.monotonic())
        assert result is not None
        assert at < result.end < hole.end
        assert not unexplained(Hole(at, result.end), result.batches)
        at, reads = result.end, reads + 1
        seen += result.batches

    rest = batches_between(cluster, topic, 0, at, hole.end)
    assert rest is not None
    assert rest.end == hole.end
    assert not unexplained(hole, seen + rest.batches)
