"""kaf-relay's own run lines with Go plugins, in both modes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from causeway.local_kafka.ports import free_ports
from support.door import door
from support.go_plugins import PAGE, SAMPLE, SHOPS, build, quickly
from support.kaf_relay import NEWER, OLDER
from support.records import Rec
from support.world import World, now_ms

CLOSED = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def in_the_tools_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))


def orders(count: int, start: int = 0) -> list[tuple[int, Rec]]:
    at = now_ms() - 86_400_000
    return [
        (n % 2, Rec(None, json.dumps({"shop": "abc"[n % 3], "n": n}).encode(), (), at + n))
        for n in range(start, start + count)
    ]


def run(world: World, line: str) -> str:
    with door(world.directory, "kaf-relay", *line.split()[1:], env={}) as process:
        assert process.wait() == 0, process.output
        return process.output


def filtered(world: World, mirror: str) -> int:
    return sum(position.tally.filtered for position in world.ledger(mirror).positions.values())


def sample(text: str, **changes: str) -> str:
    (port,) = free_ports(1)
    changes = {"enable_auth = true": "enable_auth = false", ":7081": f":{port}"} | changes
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    return text


def test_the_pages_sample_with_the_pages_commands(world: World, tmp_path: Path) -> None:
    """It drops every record; a restart resumes after them."""
    topic, copy = world.topic("t", 2), world.topic("copy", 2, on="destination")
    build(tmp_path / "testfilter", SAMPLE, PAGE)
    text = re.sub(r"(group|instance)_id = .*\n", "", NEWER)
    changes = {"node1:9092": world.servers["source"], "node3:9095": world.servers["destination"],
               'orders = "orders_copy:1"\npayments = "payments_copy"': f'"{topic}" = "{copy}"'}  # fmt: skip
    (tmp_path / "config.toml").write_text(sample(text, **changes))
    line = "./kaf-relay.bin --mode single --stop-at-end --filter ./testfilter/testfilter.filter"
    for start in (0, 100):
        world.produce(topic, orders(100, start))
        run(world, line)
        assert filtered(world, f"kaf-relay-{topic}") == start + 100
    assert world.read(copy) == {0: [], 1: []}


@pytest.mark.long
def test_a_plugin_of_the_file_in_failover_mode(world: World, tmp_path: Path) -> None:
    """The older generation's map and configuration; a dead node comes first."""
    topic, copy = world.topic("t", 2), world.name("copy")
    build(tmp_path / "testfilter", SHOPS, quickly("testfilter"))
    changes = {
        'orders = "machineX_orders"': f'"{topic}" = "{copy}"',
        "orders = [": f'"{copy}" = [',
        "node1:9092": CLOSED,
        "node2:9092": world.servers["source"],
        "node3:9092": world.servers["destination"],
        "relay_group1": f"{world.mirror}-group1",
        "relay_group2": f"{world.mirror}-group2",
        '{"db": 10}': '{"shops": ["a", "c"], "none": null}',
    }
    path = '[filters.testfilter]\nenabled = true\npath = "testfilter/testfilter.filter"\n'
    (tmp_path / "config.toml").write_text(sample(OLDER, **changes) + path)
    for start in (0, 600):
        world.produce(topic, orders(600, start))
        run(world, "./kaf-relay.bin --mode failover --stop-at-end")
    here, there = world.read(topic, "source"), world.read(copy)
    kept = {n: [rec for rec in recs if b'"b"' not in (rec.value or b"")] for n, recs in here.items()}
    assert {n: recs for n, recs in there.items() if recs} == {1: kept[0], 2: kept[1]}
    assert filtered(world, f"kaf-relay-{world.mirror}-group1") == 400
