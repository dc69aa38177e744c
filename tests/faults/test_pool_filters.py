"""Go plugins under kaf-relay's command, in both modes: hosts, a node and the mirror are killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from causeway.local_kafka.ports import free_ports
from support.door import door
from support.go_plugins import PAGE, SAMPLE, SHOPS, build, hosts
from support.kaf_relay_program import file_for
from support.node_pool import NodePool, Traffic
from support.process import Causeway, eventually
from support.records import Rec
from support.world import now_ms

CONFIGURATION = """
[filter.testfilter]
config = '{"shops": ["a", "c"]}'
"""
KEPT = {SAMPLE: "", SHOPS: "ac"}
"""The shops whose orders a plugin keeps: the page's sample keeps none."""
KILLS = 3
"""Records are judged between two of them: a host that dies at one record again and again is a verdict."""


@pytest.fixture
def pool(
    nodes: dict[str, EmbeddedCluster],
    destination: EmbeddedCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[NodePool]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))
    pool = NodePool(nodes, destination, tmp_path)
    yield pool
    pool.close()


def orders(count: int, first: int) -> list[tuple[int, Rec]]:
    at = now_ms()
    return [
        (n % 2, Rec(b"k", json.dumps({"shop": "abc"[n % 3], "n": n}).encode(), (), at))
        for n in range(first, first + count)
    ]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("mode", "plugin"),
    [
        pytest.param("single", SAMPLE, id="single"),
        pytest.param("failover", SAMPLE, id="failover"),
        pytest.param("failover", SHOPS, id="failover-some-are-kept"),
    ],
)
def test_hosts_the_node_and_the_mirror_are_killed(
    pool: NodePool, tmp_path: Path, mode: str, plugin: str
) -> None:
    """Every record is judged and counted once; what is kept arrives once and in order."""
    topic, group = pool.topic(), pool.world.mirror
    build(tmp_path / "testfilter", plugin, PAGE)
    servers = {name: pool.world.servers[name] for name in pool.nodes}
    (port,) = free_ports(1)
    file = file_for(servers, pool.world.servers["destination"], topic, topic, group, port)
    (tmp_path / "config.toml").write_text(file + CONFIGURATION)
    line = ["kaf-relay", "--mode", mode, "--filter", "./testfilter/testfilter.filter"]

    traffic = Traffic(pool, topic, make=orders)
    with door(tmp_path, *line, env={}) as run:
        run.until(lambda: _judged(pool, group) >= 1_000, "records are judged")
        killed = _kill_its_node(run, pool, group) if mode == "failover" else ""
        for _ in range(KILLS):
            _kill_a_host(run, tmp_path)
            before = _judged(pool, group)
            run.until(partial(_more_than, before, pool, group), "records are judged again")
        run.kill()
    eventually(lambda: not hosts(tmp_path), "the hosts end with the mirror")
    written = traffic.end()

    for node in pool.nodes.keys() - {killed}:
        pool.finish(node)
    with door(tmp_path, *line, "--stop-at-end", env={}) as run:
        assert run.wait() == 0, run.output
    kept = {number: [rec for rec in _written(pool, topic, number) if _kept(rec, plugin)] for number in (0, 1)}
    assert pool.world.read(topic) == kept
    assert _judged(pool, group) == written
    positions = pool.world.ledger(f"kaf-relay-{group}").positions.values()
    assert sum(position.tally.delivered for position in positions) == sum(map(len, kept.values()))
    for position in positions:
        assert position.offset - position.start == position.tally.offsets


def _judged(pool: NodePool, group: str) -> int:
    positions = pool.world.ledger(f"kaf-relay-{group}").positions.values()
    return sum(position.tally.delivered + position.tally.filtered for position in positions)


def _more_than(before: int, pool: NodePool, group: str) -> bool:
    return _judged(pool, group) > before


def _kill_its_node(run: Causeway, pool: NodePool, group: str) -> str:
    """Returns which one it was."""
    beats = pool.world.ledger(f"kaf-relay-{group}").heartbeats.values()
    active = min(node for beat in beats for node in beat.nodes.values())
    pool.kill(active)
    run.until(lambda: f"instead of {active}:" in run.output, f"{active} is left")
    return active


def _kill_a_host(run: Causeway, directory: Path) -> None:
    run.until(lambda: hosts(directory, age=0.3), "a host runs")
    for pid in hosts(directory, age=0.3)[:1]:
        os.kill(pid, signal.SIGKILL)


def _written(pool: NodePool, topic: str, partition: int) -> list[Rec]:
    return [rec for number, rec in pool.written[topic] if number == partition]


def _kept(rec: Rec, plugin: str) -> bool:
    return json.loads(rec.value or b"{}")["shop"] in KEPT[plugin]
