"""Go MirrorMaker's flags and files between real clusters, without the tool's defects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.door import committed, door
from support.placing import assert_all_in_order, sarama
from support.process import without_spark
from support.records import Rec, end_offsets
from support.world import World, now_ms

PARTITIONS = 3
HEADERS = (("trace", b"a"), ("trace", b""), ("none", None))


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A second source."""
    with EmbeddedCluster.start("second", directory=tmp_path_factory.mktemp("second")) as cluster:
        yield cluster


def backlog(of: str, count: int) -> list[tuple[int, Rec]]:
    """Keys unrelated to the source's partitions, no keys, empty ones, tombstones, headers, timestamps."""
    at = now_ms() - 86_400_000
    records = [
        (n % PARTITIONS, Rec(f"k{n % 50}".encode(), f"{of} keyed {n}".encode(), HEADERS[: n % 4], at + n))
        for n in range(count)
    ]
    records += [(n % PARTITIONS, Rec(None, f"{of} no key {n}".encode(), (), at + n)) for n in range(60)]
    records += [(n % PARTITIONS, Rec(f"{of} gone {n}".encode(), None, (), at + n)) for n in range(20)]
    records += [(n % PARTITIONS, Rec(b"", f"{of} empty key {n}".encode(), (), at + n)) for n in range(20)]
    return records


def file(world: World, name: str, *lines: str) -> Path:
    path = world.directory / name
    path.write_text("\n".join(lines) + "\n")
    return path


def delivered(world: World, mirror: str, on: str = "destination") -> int:
    return sum(position.tally.delivered for position in world.ledger(mirror, on).positions.values())


@pytest.mark.spark
def test_the_run_line_of_its_page_replicates_two_clusters_despite_a_kill(
    world: World, second: EmbeddedCluster
) -> None:
    """Go MirrorMaker commits records in flight, so that a crash loses them; v0.4 splits keys."""
    world.servers["second"] = second.bootstrap_servers
    shared, alone = world.topic("shared", PARTITIONS), world.topic("alone", on="second")
    world.topic("shared", PARTITIONS, on="second")
    other = world.topic("other", on="second")
    world.produce(shared, backlog("first", 6_000))
    world.produce(shared, backlog("second", 6_000), on="second")
    world.produce(alone, world.numbers(500), on="second")
    total = 2 * 6_100 + 500
    groups = {"source": f"{world.mirror}-one", "second": f"{world.mirror}-two"}
    brokers = {on: f"bootstrap.servers={servers}" for on, servers in world.servers.items()}
    consumers = [
        file(
            world, "sourceCluster1Consumer.config", brokers["source"], f"group.id={groups['source']}",
            "zookeeper.connect=localhost:2181", "num.workers=10", "socket.timeout=30s",
        ),
        file(world, "sourceCluster2Consumer.config", brokers["second"], f"group.id={groups['second']}"),
    ]  # fmt: skip
    producer = file(
        world,
        "targetClusterProducer.config",
        f"metadata.broker.list={world.servers['destination']}",
        "acks=1",
    )
    line: list[str | Path] = [
        "mirrormaker", "--consumer.config", consumers[0], "--consumer.config", consumers[1],
        "--num.streams", "2", "--producer.config", producer,
        rf"--whitelist=^{world.mirror}\.(shared|alone)",
    ]  # fmt: skip
    mirror = f"mirrormaker-{groups['source']}"

    slowly = ("-X", "mirrors.0.max_records_per_second=2000", "-X", "mirrors.0.max_transaction_records=150")
    with without_spark(), door(world.directory, *line, *slowly, env={}) as first:
        first.until(lambda: delivered(world, mirror) > 500, "some of it is replicated")
        first.kill()
        assert "note: --num.streams: 2 parallel tasks (shards)\n" in first.output
    assert delivered(world, mirror) < total, "it was killed after everything was replicated"
    with door(world.directory, *line, "--stop-at-end", env={}) as again:
        assert again.wait() == 0, again.output

    assert delivered(world, mirror) == total
    arrived = world.read(shared)
    assert sum(map(len, arrived.values())) == 2 * 6_100
    for on in groups:
        originals = world.read(shared, on)
        mine = {rec for recs in originals.values() for rec in recs}
        placed = {partition: [rec for rec in recs if rec in mine] for partition, recs in arrived.items()}
        assert_all_in_order(originals, placed)
    for partition, recs in arrived.items():
        wrong = [rec for rec in recs if rec.key is not None and sarama(rec.key, PARTITIONS) != partition]
        assert not wrong, f"partition {partition}: {wrong[:3]}"
    assert world.read(alone) == world.read(alone, "second")
    assert other not in world.admin("destination").list_topics(timeout=10).topics
    for on, group in groups.items():
        ends = end_offsets(world.servers[on], shared, PARTITIONS)
        assert committed(world.servers[on], group, shared, PARTITIONS) == ends, f"{group}, for lag tools"


def test_partitions_and_keys_are_preserved_and_a_prefix_is_not_repeated(world: World) -> None:
    """v0.4 wrote the partition's number in place of the key, and repeated a prefix: dc1_dc1_dc1_…"""
    topic, late = world.topic("t", PARTITIONS), world.name("late")
    world.produce(topic, backlog("only", 300))
    brokers = f"bootstrap.servers={world.servers['source']}"
    line: list[str | Path] = [
        "mirrormaker",
        "-consumer.config", file(world, "consumer.config", brokers, f"group.id={world.mirror}"),
        f"-producer.config={file(world, 'producer.config', brokers)}",
        "-preserve.partitions", "-preserve.order=true", "-prefix=dc1_", "-queue.size=0",
        f"-whitelist={world.mirror}",  # found in the names of copies as well
        "-X=mirrors.0.refresh=500ms",
    ]  # fmt: skip
    mirror = f"mirrormaker-{world.mirror}-dc1_"

    with door(world.directory, *line, env={}) as running:
        running.until(lambda: delivered(world, mirror, "source") == 400, "the topic is copied")
        world.produce(world.topic("late"), world.numbers(50))
        running.until(
            lambda: delivered(world, mirror, "source") == 450, "a later topic is copied, and no copy"
        )
        assert running.stop() == 0, running.output

    names = {name for name in world.admin().list_topics(timeout=10).topics if world.mirror in name}
    copies = {f"dc1_{topic}", f"dc1_{late}"}
    assert {name for name in names if not name.startswith("__")} == {topic, late, *copies}
    assert world.read(f"dc1_{topic}", "source") == world.read(topic, "source")


def test_a_partition_that_does_not_exist_refuses_the_start(world: World) -> None:
    """The last version drops such records, with a line in its log for each."""
    topic = world.topic("t", PARTITIONS)
    world.topic("t", 1, on="destination")
    world.produce(topic, backlog("only", 10))
    brokers = {on: f"bootstrap.servers={servers}" for on, servers in world.servers.items()}
    line: list[str | Path] = [
        "mirrormaker",
        "--consumer.config", file(world, "consumer.config", brokers["source"], f"group.id={world.mirror}"),
        "--producer.config", file(world, "producer.config", brokers["destination"]),
        "--preserve.partitions", f"--whitelist=^{topic}$", "--stop-at-end",
    ]  # fmt: skip

    with door(world.directory, *line, env={}) as refused:
        assert refused.wait() == 3, refused.output

    assert topic in refused.output
    assert "modulo" in refused.output
    assert world.count(topic) == 0
