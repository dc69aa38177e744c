"""Broken lines and hostile timing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.embedded import EmbeddedCluster
from causeway.model.order import ledger_topic
from support.process import eventually
from support.proxy import ADD_PARTITIONS_TO_TXN, END_TXN, Proxy
from support.world import World


@pytest.fixture
def proxied(source: EmbeddedCluster, tmp_path: Path) -> Iterator[tuple[World, Proxy]]:
    """A world whose mirror reaches the destination through a proxy; the test's own eyes go around it."""
    proxy = Proxy()
    with EmbeddedCluster.start("proxied", directory=tmp_path / "proxied", proxied={0: proxy.port}) as cluster:
        port = cluster.brokers[0].proxy_target_port
        assert port is not None
        proxy.target(port)
        world = World(source, cluster, tmp_path)
        yield world, proxy
        world.close()
        proxy.close()


def through(world: World, config: Path, port: int) -> Path:
    """The same configuration with the destination behind the proxy."""
    config.write_text(config.read_text().replace(world.servers["destination"], f"127.0.0.1:{port}"))
    return config


def test_a_late_commit_cannot_commit_the_next_transaction(proxied: tuple[World, Proxy]) -> None:
    """librdkafka repeats a lost EndTxn inside itself; the first copy arrives when the next is open.

    It would make records visible without their ledger record, and a kill right then would bring them
    twice. So the connection that broke during a transaction costs the producer its epoch.
    """
    world, proxy = proxied
    topic = world.topic("t", 1)
    config = through(world, world.config(shards=1, max_transaction_records=200), proxy.port)
    world.produce(topic, world.numbers(200))
    run = world.run(config)
    run.until(lambda: world.carried() == 200, "it carries")
    shard = f"causeway.{world.mirror}.1".encode()
    ledger = ledger_topic(world.mirror).encode()
    released: list[bool] = []

    def release_in_the_next_transaction(api: int, body: bytes) -> None:
        # A transaction adds its data partitions first, and those of ledger and map once all data is
        # flushed: at that moment the late copy would commit the records without their position.
        adds_ledger = api == ADD_PARTITIONS_TO_TXN and shard in body and ledger in body
        if adds_ledger and proxy.held.is_set() and not released:
            released.append(True)
            proxy.release()
            run.kill()

    proxy.on_request = release_in_the_next_transaction
    proxy.hold(END_TXN, shard)
    world.produce(topic, world.numbers(3_000, 1, 200))
    eventually(lambda: not run.alive, "the late copy was delivered, and the mirror killed")
    assert released
    proxy.on_request = lambda api, body: None

    world.carry_all(config)

    world.assert_mirrored(topic)


def test_a_destination_that_is_cut_off_is_waited_for(proxied: tuple[World, Proxy]) -> None:
    """For longer than a transaction may take; and it says what it waits for."""
    world, proxy = proxied
    topic = world.topic("t", 2)
    config = through(world, world.config(shards=2, transaction_timeout="5s"), proxy.port)
    world.produce(topic, world.numbers(1_000, 2))
    run = world.run(config)
    run.until(lambda: world.carried() == 1_000, "it carries")
    proxy.cut()
    world.produce(topic, world.numbers(20_000, 2, 1_000))
    run.until(lambda: "waiting for an answer" in run.output, "it says that it waits")
    proxy.heal()

    run.until(lambda: world.carried() == 21_000, "it caught up")

    assert run.stop() == 0, run.output
    assert "answers again" in run.output
    world.assert_mirrored(topic)


def test_a_shard_without_its_source_does_not_disturb_the_others(
    source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    world = World(source, destination, tmp_path)
    with EmbeddedCluster.start("lyon", directory=tmp_path / "lyon") as lyon:
        far = World(lyon, destination, tmp_path)
        far.mirror = world.mirror
        here = world.topic("here", 4)
        there = far.topic("there", 4)
        text = world.config(source=["src", "lyon"], shards=2).read_text()
        config = tmp_path / "two-sources.toml"
        config.write_text(f'[clusters.lyon]\nbootstrap_servers = "{lyon.bootstrap_servers}"\n{text}')
        world.produce(here, world.numbers(100, 4))
        far.produce(there, far.numbers(100, 4))
        run = world.run(config)
        run.until(lambda: world.carried() == 200, "both sources are carried")

        lyon.brokers[0].kill()
        world.produce(here, world.numbers(1_000, 4, 100))
        run.until(lambda: world.carried() == 1_200, "the other source goes on")
        transactional = [line for line in run.output.splitlines() if "starting again" in line]
        assert not transactional, "a shard restarted although its destination was fine"

        lyon.brokers[0].start()
        far.produce(there, far.numbers(500, 4, 100))
        run.until(lambda: world.carried() == 1_700, "the source that was away is carried again")
        assert run.stop() == 0, run.output
        world.assert_mirrored(here)
        far.assert_mirrored(there)
    world.close()
