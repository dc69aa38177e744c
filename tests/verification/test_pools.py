"""Verify with a source pool: which node is compared, and what is said about the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from support.node_pool import POOL, TWO, NodePool
from support.verifying import run_verify


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool({name: nodes[name] for name in TWO}, destination, tmp_path)
    yield pool
    pool.close()


@pytest.mark.long
def test_another_node_is_compared_when_the_first_one_is_gone(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    outcome = run_verify(config, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.report["nodes"] == {POOL: "n1"}
    pool.kill("n1")

    outcome = run_verify(config, "-o", "json")

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.report["nodes"] == {POOL: "n2"}
    assert [topic["source_records"] for topic in outcome.report["topics"]] == [400]
    assert any("read from n2 (n1 is dead" in note for note in outcome.report["notes"])
    named = run_verify(config, "--node", "n1")
    assert named.exit_code == 5, named.stdout
    assert "node n1 does not respond" in named.stderr


def test_a_node_without_everything_that_was_replicated_is_compared_only_by_name(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    pool.write(topic, pool.world.numbers(100, 2, 400), to=["n2"])
    config = pool.config([topic], {"initial": '"freshest"', "lag_threshold": "10"})
    pool.world.carry_all(config)
    assert pool.delivered() == 500

    outcome = run_verify(config, "-o", "json")

    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.report["nodes"] == {POOL: "n2"}
    assert any("n1 is short" in note for note in outcome.report["notes"])
    named = run_verify(config, "--node", "n1", "-o", "json")
    assert named.exit_code == 9, named.stderr
    assert named.report["counts"]["unexpected"] == 100
    assert any("is read from n1, which is short" in note for note in named.report["notes"])


def test_each_node_can_be_verified(pool: NodePool) -> None:
    topic = pool.topic()
    records = pool.world.numbers(400, 2)
    other = [
        (n, rec._replace(value=b"other")) if at == 7 else (n, rec) for at, (n, rec) in enumerate(records)
    ]
    pool.write(topic, records, to=["n1"])
    pool.only(topic, other, to="n2")
    config = pool.config([topic])
    pool.world.carry_all(config)
    assert run_verify(config, "--node", "n1").exit_code == 0
    different = run_verify(config, "--node", "n2", "-o", "json")
    assert different.exit_code == 9, different.stderr
    assert different.report["counts"]["changed"] == 1
    unknown = run_verify(config, "--node", "n9")
    assert unknown.exit_code == 2
    assert '"n9" is no node' in unknown.stderr


def test_a_named_node_without_a_replicated_partition_is_not_called_equal(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    pool.grow(topic, 3, "n1")
    pool.write(topic, [(2, rec) for _, rec in pool.world.numbers(50, 1)], to=["n1"])
    config = pool.config([topic])
    pool.world.carry_all(config)
    assert run_verify(config).exit_code == 0
    named = run_verify(config, "--node", "n2")
    assert named.exit_code == 6, named.stdout
    assert f"{topic}[2] was replicated, and node n2 does not have it" in named.stderr
