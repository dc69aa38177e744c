"""Adoption with source pools: a mirror of one cluster becomes a pool's; another tool's destination, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

import causeway as product
from causeway.core.position import Position
from causeway.local_kafka import EmbeddedCluster
from support.node_pool import POOL, TWO, NodePool
from support.process import eventually
from support.typed import causeway
from support.verifying import run_verify


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster], destination: EmbeddedCluster, tmp_path: Path
) -> Iterator[NodePool]:
    pool = NodePool({name: nodes[name] for name in TWO}, destination, tmp_path)
    yield pool
    pool.close()


def replicated(pool: NodePool, count: int = 400) -> tuple[str, Path]:
    """A topic that a mirror of the second node has replicated, and the configuration with the pool."""
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(count, 2))
    pool.world.carry_all(pool.world.config([topic], source="n2"))
    return topic, pool.config([topic])


def positions(pool: NodePool) -> list[Position]:
    return list(pool.world.ledger().positions.values())


def test_a_mirror_of_one_node_continues_with_the_pool(pool: NodePool) -> None:
    topic, config = replicated(pool)
    before = positions(pool)

    shown = causeway("adopt", config, "--from", "pool", "--dry-run")

    assert shown.returncode == 0, shown.stderr
    assert "n1: the last 200 records before the positions of 2 partitions are equal" in shown.stdout
    assert positions(pool) == before
    assert not pool.world.ledger().pools
    asked = causeway("adopt", config, "--from", "pool")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr

    written = causeway("adopt", config, "--from", "pool", "--yes")

    assert written.returncode == 0, written.stderr
    ledger = pool.world.ledger()
    record = ledger.pools[POOL]
    assert {before[0].source.cluster} == {record.id, record.members["n2"]}
    assert set(record.members) == {"n1", "n2"}
    assert record.members["n1"] != record.id
    for position in ledger.positions.values():
        assert position.node == record.id
        assert position.known is not None
        assert position.known.offset == position.offset - 1
    (adopted,) = ledger.adopted.values()
    assert adopted.hint == f"pool {POOL}: n2 was replicated, and compared with n1"
    again = causeway("adopt", config, "--from", "pool", "--yes")
    assert again.returncode == 3
    assert "nothing to adopt" in again.stderr

    pool.write(topic, pool.world.numbers(200, 2, 400))
    pool.kill("n2")
    run = pool.world.carry_all(config)
    assert "could not be compared" not in run.output
    assert pool.reading_from() == {"n1"}
    pool.assert_delivered(topic)
    assert run_verify(config).exit_code == 0


@pytest.mark.long
def test_the_digest_that_was_adopted_is_compared(pool: NodePool) -> None:
    """Other records before the position on a node, since the adoption: it is not read."""
    topic, config = replicated(pool)
    assert causeway("adopt", config, "--from", "pool", "--yes").returncode == 0
    config.write_text(config.read_text().replace('nodes = ["n1", "n2"]', 'nodes = ["n9", "n2"]'))
    other = pool.nodes["n1"].bootstrap_servers
    config.write_text(f'[clusters.n9]\nbootstrap_servers = "{other}"\n' + config.read_text())
    for future in pool.world.admin("n1").delete_topics([topic]).values():
        future.result()
    recreate(pool, topic)
    pool.kill("n2")
    run = pool.world.run(config)
    run.until(lambda: "has another record at offset" in run.output, "n9 is refused, with coordinates")
    assert pool.delivered() == 400
    assert run.stop() == 0, run.output


def recreate(pool: NodePool, topic: str) -> None:
    admin = pool.world.admin("n1")
    eventually(lambda: topic not in admin.list_topics(timeout=5).topics, "the topic is gone")
    for future in admin.create_topics([NewTopic(topic, 2, 1)]).values():
        future.result()
    pool.world.produce(topic, [(n, rec._replace(value=b"x")) for n, rec in pool.written[topic]], on="n1")


@pytest.mark.parametrize("offset", [101, 199])
def test_a_node_that_differs_is_named_and_left_out(pool: NodePool, offset: int) -> None:
    topic = pool.topic()
    records = pool.world.numbers(400, 2)
    other = [
        (n, rec._replace(value=b"other") if at == 2 * offset + 1 else rec)
        for at, (n, rec) in enumerate(records)
    ]
    pool.write(topic, records, to=["n2"])
    pool.only(topic, other, to="n1")
    pool.world.carry_all(pool.world.config([topic], source="n2"))
    config = pool.config([topic])

    refused = causeway("adopt", config, "--from", "pool", "--yes")

    assert refused.returncode == 6, refused.stdout
    assert f"{topic}[1]: n1 has another record at offset {offset} than n2" in refused.stderr
    assert not pool.world.ledger().pools
    found = product.adopt(config, origin="pool", dry_run=True)
    assert not found.written
    assert [node.name for node in found.pools[0].refused] == ["n1"]
    with pytest.raises(product.IntegrityError):
        product.adopt(config, origin="pool")


def test_a_node_with_nothing_in_common_cannot_be_compared(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2), to=["n2"])
    pool.world.carry_all(pool.world.config([topic], source="n2"))
    refused = causeway("adopt", pool.config([topic]), "--from", "pool", "--yes")
    assert refused.returncode == 6, refused.stdout
    assert f"{topic}[0]: n1 has offsets 0 to 0, and none of 0 to 200 of n2, and 1 more" in refused.stderr


def test_a_node_without_a_partition_is_refused(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    pool.grow(topic, 3, "n2")
    pool.write(topic, [(2, rec) for _, rec in pool.world.numbers(10, 1)], to=["n2"])
    pool.world.carry_all(pool.world.config([topic], source="n2"))
    refused = causeway("adopt", pool.config([topic]), "--from", "pool", "--yes")
    assert refused.returncode == 6, refused.stdout
    assert f"{topic}[2]: n1 does not have it" in refused.stderr


@pytest.mark.long
def test_a_node_that_lags_is_compared_up_to_its_end(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    pool.write(topic, pool.world.numbers(100, 2, 400), to=["n2"])
    pool.world.carry_all(pool.world.config([topic], source="n2"))
    config = pool.config([topic])
    written = causeway("adopt", config, "--from", "pool", "--yes")
    assert written.returncode == 0, written.stderr
    assert "n1: the last 200 records before the positions of 2 partitions are equal" in written.stdout
    pool.catch_up("n1")
    pool.finish("n1")
    pool.write(topic, pool.world.numbers(100, 2, 500), to=["n1"])
    pool.kill("n2")
    pool.world.carry_all(config)
    pool.assert_delivered(topic)


@pytest.mark.long
def test_a_node_that_does_not_respond_is_not_adopted(pool: NodePool) -> None:
    _, config = replicated(pool)
    pool.kill("n1")
    refused = causeway("adopt", config, "--from", "pool", "--yes")
    assert refused.returncode == 5, refused.stdout
    assert "node n1 does not respond, so it cannot be compared" in refused.stderr
    assert "add it later" in refused.stderr
    assert not pool.world.ledger().pools


def test_a_running_mirror_is_not_adopted(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(400, 2))
    run = pool.world.run(pool.world.config([topic], source="n2"))
    run.until(lambda: pool.delivered() == 400, "it replicates")
    refused = causeway("adopt", pool.config([topic]), "--from", "pool", "--yes")
    assert refused.returncode == 6, refused.stdout
    assert "the mirror is running" in refused.stderr
    assert run.stop() == 0


def test_a_mirror_that_began_with_the_pool_has_nothing_to_adopt(pool: NodePool) -> None:
    topic = pool.topic()
    pool.write(topic, pool.world.numbers(100, 2))
    config = pool.config([topic])
    new = causeway("adopt", config, "--from", "pool", "--yes")
    assert new.returncode == 3, new.stderr
    pool.world.carry_all(config)
    assert causeway("adopt", config, "--from", "pool", "--yes").returncode == 3


@pytest.mark.long
def test_another_tools_destination_is_taken_over_with_a_pool_as_source(pool: NodePool) -> None:
    topic = pool.topic()
    pool.world.topic(on="destination", partitions=2)
    records = pool.world.numbers(400, 2)
    pool.write(topic, records)
    pool.world.produce(topic, records[:300], on="destination")
    config = pool.config([topic])
    pool.kill("n1")

    adopted = causeway("adopt", config, "--from", "destination-end", "--yes")

    assert adopted.returncode == 0, adopted.stderr
    assert sorted(re.findall(r"starts at (\d+)", adopted.stdout)) == ["150", "150"]
    record = pool.world.ledger().pools[POOL]
    assert {position.source.cluster for position in positions(pool)} == {record.id}
    assert list(record.members) == ["n2"]
    pool.nodes["n1"].start_brokers()
    pool.world.carry_all(config)
    pool.assert_delivered(topic)
    assert set(pool.world.ledger().pools[POOL].members) == {"n1", "n2"}


@pytest.mark.long
def test_a_pool_that_was_renamed_keeps_what_is_known_of_its_nodes(pool: NodePool) -> None:
    """Topic id and leader epoch of a position are of the node that was read, not of the first one."""
    topic = pool.topic()
    config = pool.config([topic])
    pool.write(topic, pool.world.numbers(100, 2))
    pool.world.carry_all(config)
    pool.kill("n1")
    pool.write(topic, pool.world.numbers(100, 2, 100), to=["n2"])
    pool.world.carry_all(config)
    pool.nodes["n1"].start_brokers()
    pool.catch_up("n1")
    pool.finish("n1")
    record = pool.world.ledger().pools[POOL]
    before = {position.source: position.node for position in positions(pool)}
    assert set(before.values()) == {record.members["n2"]} != {record.id}
    config.write_text(
        config.read_text()
        .replace(f"[pools.{POOL}]", "[pools.renamed]")
        .replace(f'source = "{POOL}"', 'source = "renamed"')
    )
    written = causeway("adopt", config, "--from", "pool", "--yes")
    assert written.returncode == 0, written.stderr
    assert {position.source: position.node for position in positions(pool)} == before
    pool.write(topic, pool.world.numbers(100, 2, 200))
    pool.world.carry_all(config)
    pool.assert_delivered(topic)


@pytest.mark.parametrize(
    "option",
    [
        "--window=50",
        "--compare=value",
        "--accept=lose",
        "--unchecked",
        "--group=g",
        "--at=2026-01-31T08:00:00Z",
    ],
)
def test_options_of_other_origins_are_refused(tmp_path: Path, option: str) -> None:
    refused = causeway("adopt", tmp_path / "none.toml", "--from", "pool", "--yes", option)
    assert refused.returncode == 2, refused.stderr
    assert option.split("=", maxsplit=1)[0] in refused.stderr
    with pytest.raises(product.UsageError):
        product.adopt(tmp_path / "none.toml", origin="pool", window=50)
