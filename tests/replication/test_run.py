"""`causeway run` as users run it: what it picks up, where it starts, how it ends."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewPartitions

from causeway.spark.session import class_archive
from support.process import Causeway, descendants
from support.records import Rec, read_all
from support.terminal import in_terminal
from support.world import World, now_ms


@pytest.mark.spark
def test_stop_at_end_ends_for_every_kind_of_log(world: World) -> None:
    """Empty topics, trailing markers, a compacted topic; and at once when there is nothing to do."""
    empty = world.topic("empty", 2)
    markers = world.topic("markers", 1)
    world.produce(markers, world.numbers(10), transaction="commit")
    world.produce(markers, world.numbers(10), transaction="abort")
    compacted = world.topic("compacted", 1, config={"cleanup.policy": "compact", "segment.ms": "1"})
    world.produce(compacted, [(0, Rec(b"same", f"{n}".encode(), (), now_ms())) for n in range(200)])
    config = world.config()

    world.carry_all(config)
    again = world.carry_all(config)

    world.assert_mirrored(markers)
    assert world.read(empty) == {0: [], 1: []}
    assert world.read(compacted)[0][-1].value == b"199"
    assert "Spark" not in again.output, "Spark was started with nothing to do"


def test_topics_and_partitions_that_appear_are_picked_up(world: World) -> None:
    """From their beginning, whatever `start` says: it applies only to topics that exist at the start."""
    old = world.topic("old", 1)
    world.produce(old, world.numbers(100))
    run = world.run(world.config(start="latest"))
    run.until(lambda: world.ledger().positions, "the mirror has begun")
    new = world.topic("new", 1)
    world.produce(new, world.numbers(50))
    world.admin().create_partitions([NewPartitions(old, 3)])[old].result()
    run.until(lambda: world.source_partitions(old) == 3, "the partitions exist")
    world.produce(old, [(2, rec) for _, rec in world.numbers(30)])

    run.until(lambda: world.carried() == 80, "the new topic and the new partition are replicated")

    assert run.stop() == 0, run.output
    assert len(world.read(new)[0]) == 50
    assert {partition: len(records) for partition, records in world.read(old).items()} == {0: 0, 1: 0, 2: 30}


@pytest.mark.parametrize("start", ["latest", "timestamp"])
def test_a_start_that_is_not_the_beginning_is_resolved_once(world: World, start: str) -> None:
    """What is written while the mirror is down is not skipped, although `start` is still in the file."""
    topic = world.topic("t", 1)
    world.produce(topic, [(0, rec._replace(timestamp=now_ms() - 60_000)) for _, rec in world.numbers(10)])
    at = datetime.fromtimestamp(time.time() - 30, UTC).isoformat(timespec="milliseconds")
    config = world.config(start="latest" if start == "latest" else at)
    world.carry_all(config)
    assert world.read(topic) == {0: []}

    world.produce(topic, world.numbers(7, 1, 100))
    world.carry_all(config)

    assert [rec.value for rec in world.read(topic)[0]] == [rec.value for _, rec in world.numbers(7, 1, 100)]
    (position,) = world.ledger().positions.values()
    assert (position.start, position.offset) == (10, 17)


@pytest.mark.spark
@pytest.mark.parametrize("how", ["SIGTERM", "Ctrl-C"])
def test_a_stop_leaves_no_open_transaction(world: World, how: str) -> None:
    """A read_committed reader sees everything up to the log's end at once."""
    topic = world.topic("t", 2)
    run = world.run(world.config(shards=2))
    world.produce(topic, world.numbers(50_000, 2))
    run.until(lambda: world.carried() > 0, "it replicates")
    assert _maps_its_classes(run) or not class_archive().is_file()

    assert (run.interrupt() if how == "Ctrl-C" else run.stop()) == 0, run.output

    committed = read_all(world.servers["destination"], topic)
    assert sum(map(len, committed.values())) == world.carried()
    assert world.carried() > 0


def _maps_its_classes(run: Causeway) -> bool:
    """Whether one of its processes, the JVM, has mapped the archive of Spark's classes."""
    maps = [Path(f"/proc/{pid}/maps").read_text() for pid in descendants(run.process.pid)]
    archive = str(class_archive().resolve())  # as the kernel names it, also if .venv is a symlink
    return any(archive in text for text in maps)


def test_the_source_group_shows_the_lag_and_can_be_switched_off(world: World) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(100, 2))

    world.carry_all(world.config())

    assert _group_offsets(world, f"causeway.{world.mirror}", topic) == {0: 50, 1: 50}


def test_without_a_source_group_nothing_is_committed_to_the_source(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))

    world.carry_all(world.config(source_group=False))

    assert _group_offsets(world, f"causeway.{world.mirror}", topic) == {0: -1001}


def _group_offsets(world: World, group: str, topic: str) -> dict[int, int]:
    partitions = world.source_partitions(topic)
    consumer = Consumer({"bootstrap.servers": world.servers["source"], "group.id": group})
    try:
        committed = consumer.committed([TopicPartition(topic, n) for n in range(partitions)], timeout=10)
        return {partition.partition: partition.offset for partition in committed}
    finally:
        consumer.close()


@pytest.mark.spark
def test_two_mirrors_of_two_shards_each_share_two_cores(world: World) -> None:
    """Each tailing task holds a slot: neither mirror starves."""
    here, there = world.topic("here", 2), world.topic("there", 2)
    text = world.config([here], shards=2).read_text()
    other = text.split("[[mirrors]]")[1].replace(world.mirror, f"{world.mirror}-b", 1).replace(here, there)
    config = world.directory / "two.toml"
    config.write_text(f"{text}\n[[mirrors]]{other}")
    run = world.run(config)
    for n in range(3):
        for topic in (here, there):
            world.produce(topic, world.numbers(1_000, 2, n * 1_000))
        for mirror in (world.mirror, f"{world.mirror}-b"):
            run.until(partial(_delivered, world, mirror, (n + 1) * 1_000), f"{mirror} keeps up")

    assert run.stop() == 0, run.output
    world.assert_mirrored(here, there)


def _delivered(world: World, mirror: str, records: int) -> bool:
    return sum(position.tally.delivered for position in world.ledger(mirror).positions.values()) == records


def test_without_a_terminal_there_are_plain_lines(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(10))
    run = world.carry_all(world.config())
    assert f"{world.mirror}: done, 1 topic, 10 records" in run.output
    assert "\x1b[" not in run.output
    assert "WARN" not in run.output
    assert "Spark's own log is" in run.output


@pytest.mark.spark
def test_a_terminal_shows_a_live_table_and_no_noise(world: World) -> None:
    topic = world.topic("t", 1)
    world.produce(topic, world.numbers(1_234))
    config = world.config()
    code, text = in_terminal("run", config, "--stop-at-end", spark=True)
    assert code == 0, text
    assert re.search(r"mirror +topic +records +records/s +MB/s +lag +p50 +p99 +state", text)
    assert re.search(rf"{world.mirror} +{topic} +1,234 .* done", text)
    assert "WARN" not in text
