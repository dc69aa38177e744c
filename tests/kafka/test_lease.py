"""A change of the sharding moves every position, and another producer's transaction in the ledger hides none.

That only one instance makes progress: tests/faults/test_two.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from causeway.core.task_order import ledger_topic
from support.world import World


def test_another_shard_count_resumes_where_the_last_one_ended(world: World) -> None:
    topic = world.topic("t", 5)
    counts = (1, 3, 2, 3, 1)
    for n, count in enumerate(counts):
        world.produce(topic, world.numbers(2_000, 5, n * 2_000))
        world.carry_all(world.config(shards=count))
    world.assert_mirrored(topic)
    assert world.carried() == 2_000 * len(counts)


@pytest.mark.parametrize(
    "point", ["before-generation", pytest.param("after-generation", marks=pytest.mark.long)]
)
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


def test_another_producers_open_transaction_in_the_ledger_hides_nothing(world: World) -> None:
    """The ledger is read to its high watermark: the reader waits for another producer's transaction.

    A reader that ends at the last stable offset would find the position from before the transaction
    was opened, and everything after it would be replicated twice.
    """
    topic = world.topic("t", 1)
    config = world.config(shards=1)
    world.produce(topic, world.numbers(1_000))
    run = world.run(config)
    run.until(lambda: world.carried() == 1_000, "records are replicated")
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
    run.until(lambda: len(world.read(topic)[0]) == 2_000, "records are replicated after the open transaction")
    run.kill()

    world.produce(topic, world.numbers(1_000, 1, 2_000))
    world.carry_all(config)  # the broker ends the other transaction at its timeout

    world.assert_mirrored(topic)
