"""Positions of a source pool: shown beside a node that responds, and moved on all nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.node_pool import POOL, TWO, NodePool
from support.typed import causeway
from support.verifying import run_verify


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool({name: nodes[name] for name in TWO}, destination, tmp_path)
    yield pool
    pool.close()


@pytest.mark.long
def test_log_bounds_are_those_of_a_node_that_responds(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    pool.write(topic, pool.world.numbers(20, 2, 100), to=["n2"])
    pool.kill("n1")
    shown = json.loads(causeway("offsets", "show", config, "-o", "json").stdout)["mirrors"][0]
    assert [(at["offset"], at["log_end"], at["lag"]) for at in shown["partitions"]] == [(50, 60, 10)] * 2
    assert {at["source"] for at in shown["partitions"]} == {POOL}
    assert any("read from n2 (n1 is dead" in note for note in shown["notes"])
    pool.kill("n2")
    shown = json.loads(causeway("offsets", "show", config, "-o", "json").stdout)["mirrors"][0]
    assert [(at["offset"], at["log_end"]) for at in shown["partitions"]] == [(50, None)] * 2
    assert any("no node of the pool responds" in note for note in shown["notes"])


def test_a_position_is_skipped_on_all_nodes(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    pool.write(topic, pool.world.numbers(100, 2, 100))

    moved = causeway(
        "offsets",
        "skip",
        config,
        "--topic",
        topic,
        "--partition",
        "1",
        "--to",
        "70",
        "--yes",
        "--why",
        "test",
    )

    assert moved.returncode == 0, moved.stderr
    assert f"pool {POOL} is read from n1" in moved.stdout
    position = next(at for source, at in pool.world.ledger().positions.items() if source.partition == 1)
    assert (position.offset, position.epoch, position.known) == (70, -1, None)
    pool.kill("n1")
    pool.world.carry_all(config)
    assert pool.reading_from() == {"n2"}
    assert pool.delivered() == 100 + 50 + 30
    outcome = run_verify(config, "-o", "json")
    assert outcome.exit_code == 0, outcome.stdout
    assert outcome.report["skipped"] == 20
    assert outcome.report["nodes"] == {POOL: "n2"}


@pytest.mark.long
def test_a_position_is_moved_back_while_the_first_node_is_gone(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    pool.kill("n1")
    moved = causeway(
        "offsets", "skip", config, "--topic", topic, "--partition", "1", "--to", "earliest", "--back", "--yes"
    )
    assert moved.returncode == 0, moved.stderr
    assert "is read from n2 (n1 is dead" in moved.stdout
    pool.world.carry_all(config)
    assert pool.delivered() == 150
    arrived = pool.world.read(topic)
    assert len(arrived[1]) == 100
    assert arrived[1][:50] == arrived[1][50:]


def test_a_position_of_one_cluster_is_not_moved_as_a_pools(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    pool.world.carry_all(pool.world.config([topic], source="n1"))
    config = pool.config([topic])
    moved = causeway(
        "offsets", "skip", config, "--topic", topic, "--partition", "1", "--to", "earliest", "--back", "--yes"
    )
    assert moved.returncode == 6, moved.stderr
    assert "causeway adopt CONFIG --from pool" in moved.stderr
    shown = json.loads(causeway("offsets", "show", config, "-o", "json").stdout)["mirrors"][0]
    assert [(at["offset"], at["log_end"]) for at in shown["partitions"]] == [(50, None)] * 2
