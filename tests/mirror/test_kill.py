"""Pulling the plug at every step of a transaction: nothing is lost, nothing comes twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.world import World

POINTS = ["after-produce", "after-flush", "after-ledger", "after-commit"]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_driver_is_taken_over_exactly(world: World, tmp_path: Path, point: str) -> None:
    """Its workers live on for a moment as zombies; the next instance fences them."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(10_000, 2))
    flag = tmp_path / "flag"
    config = world.config(shards=2, max_transaction_records=500)
    first = world.run(config, env={"CAUSEWAY_FAILPOINT": f"{point}:4:driver:{flag}"})
    assert first.wait() == -9, first.output
    assert flag.exists()

    world.produce(topic, world.numbers(5_000, 2, 10_000))
    world.carry_all(config)

    world.assert_mirrored(topic)


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_worker_is_replaced_exactly(world: World, tmp_path: Path, point: str) -> None:
    """Spark starts the task again, in another worker; nobody else has to do anything."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(10_000, 2))
    flag = tmp_path / "flag"
    config = world.config(shards=2, max_transaction_records=500)
    run = world.run(config, env={"CAUSEWAY_FAILPOINT": f"{point}:4:kill:{flag}"})
    run.until(flag.exists, "the worker is killed")
    world.produce(topic, world.numbers(5_000, 2, 10_000))

    run.until(lambda: world.carried() == 15_000, "everything is carried")

    assert run.stop() == 0, run.output
    world.assert_mirrored(topic)


def more_than(world: World, records: int) -> Callable[[], bool]:
    return lambda: world.carried() > records


def test_the_whole_tree_killed_again_and_again(world: World) -> None:
    """Wherever it happens to be."""
    topic = world.topic("t", 4)
    config = world.config(shards=2)
    for n in range(3):
        world.produce(topic, world.numbers(40_000, 4, n * 40_000))
        run = world.run(config)
        run.until(more_than(world, world.carried()), "something is carried")
        run.kill()

    world.carry_all(config)

    world.assert_mirrored(topic)
