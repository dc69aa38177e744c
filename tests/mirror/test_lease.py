"""One instance makes progress, always the newer one; and a change of the sharding moves every position."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.model.order import ledger_topic
from support.world import World


def test_the_older_of_two_instances_stops(world: World) -> None:
    """Always the older one, and the newer one goes on."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(1_000, 2))
    config = world.config(shards=2)
    older = world.run(config)
    older.until(lambda: world.carried() == 1_000, "the older one carries")

    newer = world.run(config)

    assert older.wait() == 8, older.output
    assert "a newer instance" in older.output
    world.produce(topic, world.numbers(1_000, 2, 1_000))
    newer.until(lambda: world.carried() == 2_000, "the newer one carries")
    assert newer.stop() == 0, newer.output
    world.assert_mirrored(topic)


@pytest.mark.parametrize("shards", [(1, 3), (3, 1), (2, 3)])
def test_another_shard_count_carries_on_where_the_last_one_ended(
    world: World, shards: tuple[int, int]
) -> None:
    topic = world.topic("t", 5)
    for n, count in enumerate((*shards, shards[0])):
        world.produce(topic, world.numbers(2_000, 5, n * 2_000))
        world.carry_all(world.config(shards=count))
    world.assert_mirrored(topic)
    assert world.carried() == 6_000


@pytest.mark.parametrize("point", ["before-generation", "after-generation"])
def test_a_kill_in_the_middle_of_a_change_leaves_one_sharding_whole(
    world: World, tmp_path: Path, point: str
) -> None:
    topic = world.topic("t", 5)
    world.produce(topic, world.numbers(2_000, 5))
    world.carry_all(world.config(shards=2))
    world.produce(topic, world.numbers(2_000, 5, 2_000))
    killed = world.run(world.config(shards=3), env={"CAUSEWAY_FAILPOINT": f"{point}:1:kill:{tmp_path}/flag"})
    assert killed.wait() == -9, killed.output

    world.carry_all(world.config(shards=2))
    world.produce(topic, world.numbers(2_000, 5, 4_000))
    world.carry_all(world.config(shards=4))

    world.assert_mirrored(topic)
    assert world.carried() == 6_000


def test_an_older_instance_that_keeps_trying_cannot_disturb_another_sharding(world: World) -> None:
    """Its tasks fence back, read the newer lease, and end without having written anything."""
    topic = world.topic("t", 4)
    world.produce(topic, world.numbers(2_000, 4))
    older = world.run(world.config(shards=2))
    older.until(lambda: world.carried() == 2_000, "the older one carries")
    stopped = older.workers()
    assert stopped
    older.pause_workers()

    newer = world.run(world.config(shards=3))
    newer.until(
        lambda: (generation := world.ledger().generation) and generation.shards == 3, "the sharding changed"
    )
    world.produce(topic, world.numbers(4_000, 4, 2_000))
    older.resume_workers(stopped)

    newer.until(lambda: world.carried() == 6_000, "everything is carried")
    assert older.wait() == 8, older.output
    assert newer.stop() == 0, newer.output
    world.assert_mirrored(topic)


def test_somebody_elses_open_transaction_in_the_ledger_hides_nothing(world: World) -> None:
    """The ledger is read to its high watermark: a stranger's transaction is waited for, not stopped at.

    A reader that ends at the last stable offset would find the position from before the transaction
    was opened, and carry everything behind it a second time.
    """
    topic = world.topic("t", 1)
    config = world.config(shards=1)
    world.produce(topic, world.numbers(1_000))
    run = world.run(config)
    run.until(lambda: world.carried() == 1_000, "records are carried")
    stranger = Producer(
        {
            "bootstrap.servers": world.servers["destination"],
            "transactional.id": f"stranger-{world.mirror}",
            "transaction.timeout.ms": 12_000,
        }
    )
    stranger.init_transactions(10)
    stranger.begin_transaction()
    for partition in (0, 1):
        stranger.produce(ledger_topic(world.mirror), value=None, key=b"stranger", partition=partition)
    assert stranger.flush(10) == 0
    world.produce(topic, world.numbers(1_000, 1, 1_000))
    run.until(lambda: len(world.read(topic)[0]) == 2_000, "records are carried behind the open transaction")
    run.kill()

    world.produce(topic, world.numbers(1_000, 1, 2_000))
    world.carry_all(config)  # the broker ends the stranger's transaction in its time

    world.assert_mirrored(topic)
