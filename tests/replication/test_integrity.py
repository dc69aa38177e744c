"""Whatever could skip, repeat or change a record stops its partition with a reason; the rest continues."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from causeway.core.cluster import Cluster
from causeway.kafka.admin import ClusterView
from support.poison import KEYLESS, TOO_LARGE, TOO_OLD, Poison
from support.process import Causeway, eventually
from support.records import Rec, read_offsets
from support.topics import delete_topic
from support.world import World


def test_records_that_retention_deleted_before_they_were_replicated_are_named(world: World) -> None:
    topic, other = world.topic("t", 2), world.topic("other", 1)
    world.produce(topic, world.numbers(100, 2))
    config = world.config()
    world.carry_all(config)
    world.produce(topic, world.numbers(100, 2, 100))
    world.produce(other, world.numbers(10))
    world.delete_records(topic, 1, 70)

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 6, run.output
    assert f"{topic}[1] begins at offset 70 now, 50 is next to replicate: 20 offsets" in run.output
    assert len(world.read(topic)[0]) == 100, "the other partition continues"
    assert len(world.read(topic)[1]) == 50
    assert len(world.read(other)[0]) == 10
    (stopped,) = world.ledger().stopped.values()
    assert (stopped.verdict, stopped.partition) == ("gap", 1)


def test_retention_after_markers_and_aborted_records_is_no_loss(world: World) -> None:
    """The position is after them, so nothing is missing."""
    topic = world.topic("t", 1)
    config = world.config()
    world.produce(topic, world.numbers(10))
    run = world.run(config)
    run.until(lambda: world.carried() == 10, "records are replicated")
    world.produce(topic, world.numbers(5, 1, 100), transaction="abort")
    end = 16  # an abort returns before its marker is written
    eventually(lambda: world.count(topic, "source") == end, "the marker is there")
    run.until(lambda: [p.offset for p in world.ledger().positions.values()] == [end], "the position follows")
    assert run.stop() == 0
    world.delete_records(topic, 0, end)
    world.produce(topic, world.numbers(10, 1, 200))

    world.carry_all(config)

    assert [rec.value for rec in world.read(topic)[0]] == [
        rec.value for _, rec in (*world.numbers(10), *world.numbers(10, 1, 200))
    ]


def test_a_recreated_topic_does_not_count_as_the_old_one(world: World) -> None:
    """Also if the new one is longer than the position: its first records would be skipped."""
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    config = world.config()
    world.carry_all(config)
    delete_topic(world.admin(), topic)
    world.topic("t", 1)
    world.produce(topic, world.numbers(50, 1, 1_000))

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 6, run.output
    assert f"the source topic {topic} was deleted and created again" in run.output
    assert len(world.read(topic)[0]) == 10


def test_no_record_of_a_topic_recreated_under_a_running_mirror_is_committed(world: World) -> None:
    """The client fetches from the new topic without an error; the ids differ before the commit."""
    topic, other = world.topic("t", 1), world.topic("other", 1)
    world.produce(topic, world.numbers(10))
    run = world.run(world.config())
    run.until(lambda: world.carried() == 10, "records are replicated")
    delete_topic(world.admin(), topic)
    world.topic("t", 1)
    world.produce(topic, world.numbers(50, 1, 1_000))

    run.until(lambda: world.ledger().stopped, "the partition is stopped")

    world.produce(other, world.numbers(20))
    run.until(lambda: len(world.read(other)[0]) == 20, "the other topic continues")
    assert run.stop() == 0, run.output
    assert len(world.read(topic)[0]) == 10
    assert {stopped.verdict for stopped in world.ledger().stopped.values()} <= {"recreated", "deleted"}


@pytest.mark.parametrize(
    ("poison", "carrier", "shards"),
    [
        (TOO_LARGE, "auto", 2),
        (TOO_OLD, "auto", 1),
        (KEYLESS, "object", 1),
    ],
    ids=str,
)
def test_a_record_that_the_destination_rejects_is_named(
    world: World, poison: Poison, carrier: str, shards: int
) -> None:
    """Everything before it is replicated, nothing after it; other partitions continue."""
    topic = world.topic("t", 2, config={"max.message.bytes": "2000000"})
    world.topic("t", 2, on="destination", config=poison.config)
    world.produce(topic, world.numbers(40, 2))
    world.produce(topic, [(0, poison.record())])
    world.produce(topic, world.numbers(40, 2, 40))

    run = world.run(world.config(shards=shards, carrier=carrier), "--stop-at-end")

    assert run.wait() == 7, run.output
    assert f"{topic}[0] offset 20: {poison.said}" in run.output
    assert poison.todo in run.output
    records = world.read(topic)
    assert [len(records[0]), len(records[1])] == [20, 40]


def test_a_topic_that_accepts_no_record_stops_alone(world: World) -> None:
    """And one that accepts only small batches does not make the batches of others small."""
    nothing, little, other = (world.topic(name, 1) for name in ("nothing", "little", "other"))
    world.topic("nothing", 1, on="destination", config={"max.message.bytes": "0"})
    world.topic("little", 1, on="destination", config={"max.message.bytes": "1000"})
    for topic in (nothing, little, other):
        world.produce(topic, world.numbers(500))

    run = world.run(world.config(shards=1), "--stop-at-end")

    assert run.wait() == 7, run.output
    assert f"topic {nothing} accepts no record: its max.message.bytes is 0" in run.output
    assert world.read(nothing) == {0: []}
    world.assert_mirrored(little, other)


def test_a_record_without_a_timestamp_is_not_given_one(world: World) -> None:
    """Timestamp 0 would silently become the time of replication."""
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(3))
    _produce_at_epoch(world, topic)
    world.produce(topic, world.numbers(3, 1, 3))

    run = world.run(world.config(), "--stop-at-end")

    assert run.wait() == 7, run.output
    assert f"{topic}[0] offset 3 has timestamp" in run.output
    assert len(world.read(topic)[0]) == 3


def _produce_at_epoch(world: World, topic: str) -> None:
    """librdkafka itself cannot write timestamp 0; -1 is what a producer without a clock leaves."""
    world.produce(topic, [(0, Rec(b"k", b"v", (), -1))])


def test_an_existing_destination_topic_with_records_is_not_written_to(world: World) -> None:
    topic = world.topic("t", 1)
    world.topic("t", 3, on="destination")
    world.produce(topic, world.numbers(10), on="destination")
    world.produce(topic, world.numbers(10))

    refused = world.run(world.config(), "--stop-at-end")

    assert refused.wait() == 6, refused.output
    assert f"{topic} already holds up to 10 records in 1 of 3 partitions" in refused.output
    world.carry_all(world.config(on_existing_records="append"))
    assert len(world.read(topic)[0]) == 20


def test_destination_topics_that_do_not_fit_are_refused_with_the_command(world: World) -> None:
    few = world.topic("few", 4)
    world.topic("few", 2, on="destination")
    stamped = world.topic("stamped", 1)
    world.topic("stamped", 1, on="destination", config={"message.timestamp.type": "LogAppendTime"})

    run = world.run(world.config(), "--stop-at-end")

    assert run.wait() == 3, run.output
    assert f"kafka-topics.sh --alter --topic {few} --partitions 4" in run.output
    assert f"--entity-name {stamped} --add-config message.timestamp.type=CreateTime" in run.output


def test_a_destination_that_begins_to_replace_timestamps_is_refused_until_it_stops(world: World) -> None:
    """With the message of a start; every time, and records that waited meanwhile arrive unchanged."""
    stamped, other = world.topic("stamped", 1), world.topic("other", 1)
    for topic in (stamped, other):
        world.produce(topic, world.numbers(10))
    run = world.run(world.config())
    run.until(lambda: world.carried() == 20, "records are replicated")

    _replace_timestamps_for_a_while(world, run, stamped, other, 1)
    _replace_timestamps_for_a_while(world, run, stamped, other, 2)

    assert run.stop() == 0, run.output
    assert f"topic {stamped}: what came since" in run.output
    assert f"--entity-name {stamped} --add-config message.timestamp.type=CreateTime" in run.output
    world.assert_mirrored(stamped, other)


def _replace_timestamps_for_a_while(world: World, run: Causeway, stamped: str, other: str, turn: int) -> None:
    cut = world.ledger().cut
    before = cut.slice if cut else 0
    why = f"not replicated: src:{stamped}: topic {stamped} has message.timestamp.type=LogAppendTime"
    world.alter(stamped, "message.timestamp.type", "LogAppendTime", on="destination")
    run.until(lambda: run.output.count(why) == turn, "it is reported")
    run.until(lambda: _slice_ended(world, before), "what was under way has ended")
    for topic in (stamped, other):
        world.produce(topic, world.numbers(10, 1, turn * 100))
    run.until(lambda: len(world.read(other)[0]) == 10 + 10 * turn, "others continue")
    assert len(world.read(stamped)[0]) == 10 * turn
    world.alter(stamped, "message.timestamp.type", "CreateTime", on="destination")
    run.until(lambda: len(world.read(stamped)[0]) == 10 + 10 * turn, "it resumes")


def _slice_ended(world: World, before: int) -> bool:
    """Whether a slice after this one was cut, and has ended: a shard serves a later one."""
    state = world.ledger()
    cut = state.cut.slice if state.cut else 0
    return cut > before and any(sign.slice > cut for shard, sign in state.heartbeats.items() if shard)


def test_a_bounded_run_is_refused_when_the_destination_begins_to_replace_timestamps(
    world: World,
) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(5_000))
    run = world.run(world.config(max_records_per_second=50), "--stop-at-end")
    run.until(lambda: world.ledger().positions and world.carried(), "records are replicated")

    world.alter(topic, "message.timestamp.type", "LogAppendTime", on="destination")

    assert run.wait() == 3, run.output
    assert f"topic {topic} has message.timestamp.type=LogAppendTime" in run.output
    assert world.carried() < 5_000


def test_created_topics_are_like_the_source(world: World) -> None:
    topic = world.topic("t", 3, config={"cleanup.policy": "compact", "max.message.bytes": "2500000"})
    world.carry_all(world.config())
    view = ClusterView(Cluster("dst", {"bootstrap.servers": world.servers["destination"]}))
    config = view.configs([topic])[topic]
    assert view.describe([topic])[topic].partitions == 3
    assert config["cleanup.policy"] == "compact"
    assert config["max.message.bytes"] == "2500000"
    assert config["message.timestamp.type"] == "CreateTime"
    assert config["message.timestamp.after.max.ms"] == str(2**63 - 1)


def test_the_offset_map_is_exact_although_others_write_too(world: World) -> None:
    """For every record: it is at the offset that the map names."""
    topic = world.topic("t", 1)
    world.topic("t", 1, on="destination")
    run = world.run(world.config(on_existing_records="append"))
    run.until(lambda: world.ledger().positions, "it runs")
    stranger = Producer({"bootstrap.servers": world.servers["destination"], "linger.ms": 0, "log_level": 0})
    for n in range(40):
        world.produce(topic, world.numbers(50, 1, n * 50), transaction="abort" if n % 5 == 4 else None)
        stranger.produce(topic, value=b"stranger", partition=0)
        stranger.poll(0)
    stranger.flush(10)
    run.until(lambda: world.carried() == 1_600, "everything is replicated")
    assert run.stop() == 0, run.output

    mapped = world.offset_map(topic)

    here = dict(read_offsets(world.servers["source"], topic)[0])
    there = dict(read_offsets(world.servers["destination"], topic)[0])
    assert set(mapped[0]) == set(here)
    assert all(there[mapped[0][offset]] == rec for offset, rec in here.items())
