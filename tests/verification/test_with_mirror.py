"""Verify with a real mirror: after its run, before it has run, and while it runs under load."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.process import without_spark
from support.verifying import run_verify
from support.world import World


@pytest.fixture
def world(source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> Iterator[World]:
    world = World(source, destination, tmp_path)
    yield world
    world.close()


@pytest.mark.spark
def test_after_a_run_both_sides_are_equal(world: World) -> None:
    topic = world.topic("t", 3)
    world.produce(topic, world.numbers(3_000, 3))
    world.produce(topic, world.numbers(300, 3, 5_000), transaction="abort")
    config = world.config()
    with without_spark():
        world.carry_all(config)

    outcome = run_verify(config)

    assert outcome.exit_code == 0, outcome.stderr
    line = next(line for line in outcome.stdout.splitlines() if line.startswith(topic))
    assert line.split() == [topic, "3", "3,000", "3,000", "0", "0", "0", "0", "0", "0", "equal"]


def test_while_a_mirror_runs_waiting_for_it_finds_both_sides_equal(world: World) -> None:
    """What is written meanwhile is neither missing nor unexpected, and no commit is read in part."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(20_000, 2))
    config = world.config()
    world.run(config)
    done = threading.Event()

    def keep_writing() -> None:
        start = 100_000
        while not done.wait(0.05):
            world.produce(topic, world.numbers(200, 2, start))
            start += 200

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        outcome = run_verify(config, "--wait", "--timeout", "2m", "-o", "json")
    finally:
        done.set()
        writer.join()

    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr
    assert outcome.report["topics"][0]["source_records"] >= 20_000
    assert outcome.report["notes"] == []


def test_without_a_mirror_waiting_ends_with_a_message(world: World) -> None:
    world.produce(world.topic("t"), world.numbers(10))

    outcome = run_verify(world.config(), "--wait", "--timeout", "1s", "-o", "json")

    assert outcome.exit_code == 9
    assert outcome.report["counts"]["missing"] == 10
    assert outcome.report["notes"] == ["not caught up within 1 s"]


def test_broker_timestamps_are_not_compared_if_the_mirror_accepts_them(world: World) -> None:
    topic = world.topic("t")
    world.topic("t", on="destination", config={"message.timestamp.type": "LogAppendTime"})
    world.produce(topic, world.numbers(100))
    config = world.config(timestamps="broker")
    world.carry_all(config)

    outcome = run_verify(config)

    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr


def test_an_unknown_mirror_and_a_bad_duration_are_usage_errors(world: World) -> None:
    config = world.config()

    assert run_verify(config, "--mirror", "unknown").exit_code == 2
    assert run_verify(config, "--wait", "--timeout", "soon").exit_code == 2
