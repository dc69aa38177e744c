"""Kafka Topic Mirror's environment between real clusters, without the tool's defects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.door import Follower, committed, door
from support.placing import assert_all_in_order, sarama
from support.process import eventually, without_spark
from support.records import Rec, end_offsets
from support.world import World, now_ms

PARTITIONS = 3
TRICKLE = 15


def backlog() -> list[tuple[int, Rec]]:
    """Keys unrelated to the source's partitions, no keys, empty ones, tombstones, headers, timestamps."""
    at = now_ms() - 86_400_000
    headers = (("trace", b"a"), ("trace", b""), ("none", None))
    records = [
        (n % PARTITIONS, Rec(f"k{n % 40}".encode(), f"keyed {n}".encode(), headers[: n % 4], at + n))
        for n in range(600)
    ]
    records += [(n % PARTITIONS, Rec(f"gone{n}".encode(), None, (), at + n)) for n in range(20)]
    records += [(n % PARTITIONS, Rec(b"", f"empty key {n}".encode(), (), at + n)) for n in range(20)]
    records += [(n % PARTITIONS, Rec(None, f"no key {n}".encode(), headers[:1], at + n)) for n in range(100)]
    records += [(0, Rec(None, None, (), at - 1))]
    return records


@pytest.fixture
def follower(world: World) -> Iterator[Follower]:
    follower = Follower(world.servers["destination"], world.name("copy"))
    yield follower
    follower.close()


@pytest.mark.spark
def test_the_tools_environment_replicates_every_record_once(world: World, follower: Follower) -> None:
    topic, copy, group = world.topic("in", PARTITIONS), world.name("copy"), f"{world.mirror}-group"
    world.produce(topic, backlog())
    file = world.directory / "ktm.env"
    file.write_text(
        f"export CLIENT_ID=\nexport CONSUMER_GROUP={group}\nexport INPUT_TOPIC=wrong\n"
        "export MAX_PUBLISH=1000\nexport PROM_SERVER_ADDR=127.0.0.1:9095\n"
    )
    environ = {
        "INPUT_TOPIC": topic,
        "INPUT_BROKERS": world.servers["source"],
        "NEWEST_OFFSET": "false",
        "OUTPUT_TOPIC": copy,
        "OUTPUT_BROKERS": world.servers["destination"],
    }

    with door(world.directory, "ktm", "--env-file", file, env=environ) as ktm:
        ktm.until(lambda: follower.has(b"keyed 599", b"no key 99"), "the backlog is replicated")
        # Far fewer than MAX_PUBLISH, each sent when the one before has arrived: none waits for a full batch.
        for n in range(TRICKLE):
            value = f"drop {n}".encode()
            world.produce(topic, [(n % PARTITIONS, Rec(None, value, (), now_ms()))])
            ktm.until(partial(follower.has, value), f"{value!r} is replicated")
        assert ktm.stop() == 0, ktm.output
        assert "note: PROM_SERVER_ADDR: serves /metrics, with Kafka Topic Mirror's metric names" in ktm.output

    world.produce(
        topic, [(n % PARTITIONS, Rec(b"late", f"late {n}".encode(), (), now_ms())) for n in range(9)]
    )
    with (
        without_spark(),
        door(world.directory, "ktm", "--stop-at-end", "--env-file", file, env=environ) as again,
    ):
        assert again.wait() == 0, again.output

    arrived = world.read(copy)
    assert_all_in_order(world.read(topic, "source"), arrived)
    assert len(arrived) == PARTITIONS
    for partition, recs in arrived.items():
        for rec in recs:
            assert rec.key is None or sarama(rec.key, PARTITIONS) == partition, rec
    keyless = {partition for partition, recs in arrived.items() if any(rec.key is None for rec in recs)}
    assert len(keyless) > 1, "all records without a key are in one partition"
    ends = end_offsets(world.servers["source"], topic, PARTITIONS)
    eventually(
        lambda: committed(world.servers["source"], group, topic, PARTITIONS) == ends,
        "the tool's own group shows no lag",
    )


def test_from_topic_to_topic_within_one_cluster(world: World, tmp_path: Path) -> None:
    topic, copy = world.topic("in", 2), world.topic("inside", 5)
    world.produce(topic, world.numbers(200, 2))
    file = tmp_path / ".env"
    file.write_text(f"INPUT_TOPIC={topic}\nINPUT_BROKERS={world.servers['source']}\nNEWEST_OFFSET=0\n")
    environ = {"OUTPUT_TOPIC": copy, "OUTPUT_BROKERS": world.servers["source"]}

    with door(world.directory, "ktm", "--stop-at-end", "--env-file", file, env=environ) as ktm:
        assert ktm.wait() == 0, ktm.output

    arrived = world.read(copy, "source")
    assert_all_in_order(world.read(topic, "source"), arrived)
    assert all(sarama(rec.key or b"", 5) == partition for partition, recs in arrived.items() for rec in recs)


def test_a_circle_is_detected_despite_different_addresses(world: World, tmp_path: Path) -> None:
    """The tool compares addresses; the cluster ids show that these are one cluster."""
    topic = world.topic("in")
    host, _, port = world.servers["source"].rpartition(":")
    other = "localhost" if host == "127.0.0.1" else "127.0.0.1"
    environ = {
        "INPUT_TOPIC": topic, "INPUT_BROKERS": f"{host}:{port}",
        "OUTPUT_TOPIC": topic, "OUTPUT_BROKERS": f"{other}:{port}",
    }  # fmt: skip

    with door(world.directory, "ktm", env=environ) as ktm:
        assert ktm.wait() == 3, ktm.output
        assert "it would be replicated to itself, in the same cluster" in ktm.output
