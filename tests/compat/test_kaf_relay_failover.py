"""kaf-relay's `--mode failover` on three nodes that one writer feeds, with both generations of its file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from support.door import committed, door
from support.kaf_relay import NEWER, OLDER
from support.node_pool import NodePool
from support.process import eventually
from support.records import Rec
from support.world import now_ms

PAGE = (Path(__file__).parents[2] / "docs" / "from-kaf-relay.md").read_text()
(FILTER,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster],
    destination: EmbeddedCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[NodePool]:
    monkeypatch.chdir(tmp_path)
    pool = NodePool(nodes, destination, tmp_path)
    yield pool
    pool.close()


def ended(pool: NodePool, line: str, code: int = 0) -> str:
    """The output of the tool's run line, with `causeway kaf-relay` in place of the program."""
    with door(pool.world.directory, "kaf-relay", *line.split()[1:], env={}) as process:
        assert process.wait() == code, process.output
        return process.output


def text_of(sample: str, pool: NodePool, changes: dict[str, str]) -> str:
    """A sample as it can be run: without logins, with a free port for its page, and with these changes."""
    (port,) = free_ports(1)
    text = sample.replace("enable_auth = true", "enable_auth = false").replace(":7081", f":{port}")
    servers = {f"node{number}:9092": pool.world.servers[f"n{number}"] for number in (1, 2)}
    for before, after in {**servers, **changes}.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


def newer(pool: NodePool, topic: str) -> str:
    """The newer sample with a third node, for one topic that keeps its name."""
    third = f'[[sources]]\nname = "third"\nservers = ["{pool.world.servers["n3"]}"]\n[target]\n'
    return text_of(
        NEWER,
        pool,
        {
            "node3:9095": pool.world.servers["destination"],
            'orders = "orders_copy:1"\npayments = "payments_copy"': f'"{topic}" = "{topic}"',
            "[target]\n": third,
            'group_id = "consumer_group"': f'group_id = "{pool.world.mirror}"',
            'healthcheck_interval = "3s"': 'healthcheck_interval = "1s"',
        },
    )


def orders(count: int, start: int = 0) -> list[tuple[int, Rec]]:
    at = now_ms() - 86_400_000
    return [
        (n % 2, Rec(None, json.dumps({"shop": "abc"[n % 3], "n": n}).encode(), (), at + n))
        for n in range(start, start + count)
    ]


def test_the_newer_sample_moves_to_another_node_and_stops_at_the_end(pool: NodePool, tmp_path: Path) -> None:
    topic = pool.topic()
    (tmp_path / "config.toml").write_text(newer(pool, topic))
    pool.write(topic, orders(1_000))
    line = "./kaf-relay.bin --config config.toml --mode failover"
    mirror = f"kaf-relay-{pool.world.mirror}"
    with door(pool.world.directory, "kaf-relay", *line.split()[1:], env={}) as run:
        run.until(lambda: _delivered(pool, mirror) >= 1_000, "what is there has arrived")
        assert "note: --mode failover: the nodes become a pool" in run.output
        pool.kill("n1")
        pool.write(topic, orders(500, start=1_000), to=["n2", "n3"])
        run.until(lambda: _delivered(pool, mirror) >= 1_500, "records arrive from another node")
        assert run.stop() == 0, run.output
    pool.write(topic, orders(300, start=1_500), to=["n2", "n3"])
    ended(pool, f"{line} --stop-at-end")
    _assert_equal(pool, topic, mirror)


def test_the_older_sample_maps_filters_and_resumes_on_another_node(pool: NodePool, tmp_path: Path) -> None:
    """kaf-relay refuses filters and --stop-at-end in this mode."""
    topic, copy, group = pool.topic(), pool.world.name("copy"), f"{pool.world.mirror}-group1"
    changes = {
        "node3:9092": pool.world.servers["destination"],
        'orders = "machineX_orders"': f'"{topic}" = "{copy}"',
        "orders = [": f'"{copy}" = [',
        "relay_group1": group,
        '{"db": 10}': '{"shops": ["a", "c"]}',
    }
    (tmp_path / "config.toml").write_text(text_of(OLDER, pool, changes))
    (tmp_path / "testfilter").mkdir()
    (tmp_path / "testfilter" / "testfilter.py").write_text(FILTER)
    line = "./kaf-relay.bin --mode failover --stop-at-end --filter ./testfilter/testfilter.py"

    pool.write(topic, orders(600))
    ended(pool, line)
    pool.kill("n1")
    pool.write(topic, orders(300, start=600), to=["n2", "n3"])
    ended(pool, line)

    here, there = pool.world.read(topic, "n2"), pool.world.read(copy)
    kept = {n: [rec for rec in recs if b'"b"' not in (rec.value or b"")] for n, recs in here.items()}
    assert {n: recs for n, recs in there.items() if recs} == {1: kept[0], 2: kept[1]}
    positions = pool.world.ledger(f"kaf-relay-{group}").positions.values()
    assert sum(position.tally.filtered for position in positions) == 300
    assert sum(position.tally.delivered for position in positions) == 600
    ends = pool.ends(topic, "n2")
    eventually(lambda: committed(pool.world.servers["n2"], group, topic, 2) == ends, "the group shows no lag")


@pytest.mark.long
def test_no_node_responds_at_the_start(pool: NodePool, tmp_path: Path) -> None:
    topic = pool.topic()
    (tmp_path / "config.toml").write_text(newer(pool, topic))
    for node in pool.nodes:
        pool.kill(node)
    output = ended(pool, "./kaf-relay.bin --mode failover --stop-at-end", code=5)
    for node in ("node1", "node2", "third"):
        assert node in output


def test_by_hand_only_the_cluster_of_the_ledger_is_read(pool: NodePool, tmp_path: Path) -> None:
    """The other one would repeat every record."""
    topic = pool.topic()
    (tmp_path / "config.toml").write_text(newer(pool, topic))
    pool.write(topic, orders(200))
    line = "./kaf-relay.bin --mode failover --stop-at-end"
    ended(pool, line)
    output = ended(pool, f"{line} -X mirrors.0.source=node2", code=6)
    assert "error: the ledger's positions belong to another cluster" in output
    _assert_equal(pool, topic, f"kaf-relay-{pool.world.mirror}")


def _delivered(pool: NodePool, mirror: str) -> int:
    positions = pool.world.ledger(mirror).positions.values()
    return sum(position.tally.delivered for position in positions)


def _assert_equal(pool: NodePool, topic: str, mirror: str) -> None:
    arrived = pool.world.read(topic)
    for partition in arrived:
        assert arrived[partition] == [rec for number, rec in pool.written[topic] if number == partition]
    for source, position in pool.world.ledger(mirror).positions.items():
        assert position.offset - position.start == position.tally.offsets, source
