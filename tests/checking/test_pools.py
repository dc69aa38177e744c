"""Check with a source pool: its nodes, their topics, log bounds and last records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from causeway.checking import pool_checks
from causeway.checking.pool_checks import PoolCheck
from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import NO_TOPIC_ID, Spot, TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.kafka.pool_view import PoolView
from causeway.local_kafka import EmbeddedCluster
from causeway.rules.same_records import LogComparison
from support.node_pool import POOL, TWO, NodePool
from support.records import read_all
from support.typed import causeway


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool({name: nodes[name] for name in TWO}, destination, tmp_path)
    yield pool
    pool.close()


@dataclass(frozen=True)
class PoolReport:
    exit_code: int
    sections: dict[str, list[tuple[str, str]]]  # level and text of the remarks

    def about(self, name: str, level: str) -> list[str]:
        return [what for its_level, what in self.sections[name] if its_level == level]


def check(pool: NodePool, config: Path) -> PoolReport:
    result = causeway("check", config, "-o", "json")
    data = json.loads(result.stdout)
    sections = {
        section["name"]: [(each["level"], each["what"]) for each in section["remarks"]]
        for section in data["sections"]
    }
    return PoolReport(result.returncode, sections)


def consume(pool: NodePool, topic: str) -> None:
    """Each node gets its first consumer."""
    for node in TWO:
        read_all(pool.world.servers[node], topic)


def topics_of(pool: NodePool) -> dict[str, set[str]]:
    return {node: set(pool.world.admin(node).list_topics(timeout=10).topics) for node in TWO}


def test_nothing_is_written_to_the_nodes(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    consume(pool, topic)
    before = topics_of(pool), [pool.ends(topic, node) for node in TWO]
    assert check(pool, pool.config([topic])).exit_code == 0
    assert (topics_of(pool), [pool.ends(topic, node) for node in TWO]) == before


@pytest.mark.parametrize("consumed", [(), ("n1",), ("n1", "n2")])
def test_records_are_read_only_where_a_consumer_was_before(
    monkeypatch: pytest.MonkeyPatch, consumed: tuple[str, ...]
) -> None:
    """The first consumer of a cluster makes it create a topic."""
    compared: list[str] = []

    def compare(first: ClusterView, other: ClusterView, *_: object) -> dict[Spot, LogComparison]:
        compared.extend(view.cluster.alias for view in (first, other))
        return {("orders", 0): LogComparison(1)}

    def names(view: ClusterView) -> list[str]:
        return ["orders", *(["__consumer_offsets"] if view.cluster.alias in consumed else [])]

    monkeypatch.setattr(pool_checks, "compare_nodes", compare)
    monkeypatch.setattr(ClusterView, "connect", lambda *_: "id")
    monkeypatch.setattr(ClusterView, "topic_names", names)
    monkeypatch.setattr(
        ClusterView, "describe", lambda *_, **__: {"orders": TopicFacts("orders", NO_TOPIC_ID, 1, 1)}
    )
    nodes = tuple(PoolNode(Cluster(name, {"bootstrap.servers": "127.0.0.1:1"})) for name in TWO)
    mirror = MirrorSettings(name="m", source=[POOL], destination="dst", topics=["orders"])
    remarks = list(PoolCheck(mirror, PoolView(SourcePool(POOL, "", nodes)), TWO).remarks(None))
    assert compared == (["n1", "n2"] if len(consumed) == 2 else [])
    notes = [remark.what for remark in remarks if "no records of n" in remark.what]
    assert len(notes) == 2 - len(consumed)


def test_equal_nodes(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    consume(pool, topic)
    config = pool.config([topic])
    pool.world.carry_all(config)
    report = check(pool, config)
    assert report.exit_code == 0
    assert {"n1", "n2", "dst", pool.world.mirror} == set(report.sections)
    assert report.about("n2", "ok")
    remarks = report.about(pool.world.mirror, "ok")
    assert f"pool {POOL}: fit to be read: n1, n2" in remarks
    assert f"pool {POOL}: n1, n2 have the same 1 topic, with as many partitions" in remarks
    assert f"pool {POOL}: the last common records of n1 and n2 are equal in 2 of 2 partitions" in remarks
    assert any(f"{topic}: 2 of 2 partitions started" in remark for remark in remarks)
    assert not report.about(pool.world.mirror, "warning")


@pytest.mark.long
def test_a_node_that_does_not_respond_prevents_nothing(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    config = pool.config([topic])
    pool.world.carry_all(config)
    pool.kill("n1")
    report = check(pool, config)
    assert report.exit_code == 0, report.sections
    assert len(report.about("n1", "warning")) == 1
    assert f"pool {POOL}: fit to be read: n2" in report.about(pool.world.mirror, "ok")
    pool.kill("n2")
    report = check(pool, config)
    assert report.exit_code == 5
    assert report.about("n1", "problem")
    assert any(f'"{POOL}" cannot be read' in note for note in report.about(pool.world.mirror, "note"))


def test_nodes_that_differ_in_topics_partitions_and_log_ends(pool: NodePool) -> None:
    topic, lacking = pool.topic(), pool.world.topic("lacking", on="n1")
    pool.write(topic, pool.world.numbers(100, 2))
    consume(pool, topic)
    config = pool.config([topic, lacking])
    pool.world.carry_all(config)
    pool.grow(topic, 3, "n1")
    pool.write(topic, pool.world.numbers(100, 2, 100), to=["n1"])
    pool.world.carry_all(config)
    report = check(pool, config)
    assert report.exit_code == 0
    warnings = report.about(pool.world.mirror, "warning")
    assert any(f"{topic} has 3 partitions on n1, 2 partitions on n2" in text for text in warnings)
    assert any(f"{lacking} has 1 partition on n1, none on n2" in text for text in warnings)
    assert any(
        f"n2 is short: {topic}[0]: the log end 50 is before the position 100" in text for text in warnings
    )
    assert any("are equal in 2 of 2 partitions" in text for text in report.about(pool.world.mirror, "ok"))


def test_a_node_with_another_record_is_named(pool: NodePool) -> None:
    topic = pool.topic()
    records = pool.world.numbers(100, 2)
    other = [(n, rec._replace(value=b"x")) if at == 93 else (n, rec) for at, (n, rec) in enumerate(records)]
    pool.write(topic, records, to=["n1"])
    pool.only(topic, other, to="n2")
    consume(pool, topic)
    report = check(pool, pool.config([topic]))
    assert report.exit_code == 6
    (problem,) = report.about(pool.world.mirror, "problem")
    assert f"pool {POOL}: {topic}[1] on n2 has another record at offset 46 than n1" in problem


def test_another_cluster_under_a_nodes_name(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    pool.world.carry_all(pool.config([topic]))
    pool.world.servers["n2"] = pool.world.servers["destination"]
    report = check(pool, pool.config([topic]))
    assert report.exit_code == 6
    assert any(
        '"n2" is another cluster than before' in text for text in report.about(pool.world.mirror, "problem")
    )


def test_a_mirror_of_one_cluster_is_not_a_pools(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    pool.world.carry_all(pool.world.config([topic], source="n1"))
    report = check(pool, pool.config([topic]))
    assert report.exit_code == 6
    assert any("are of one cluster (n1)" in text for text in report.about(pool.world.mirror, "problem"))
