"""Go plugins in a mirror: kills of their processes and of the mirror change no record and no count."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support.go_plugins import SHOPS, build, hosts, quickly
from support.process import eventually, send, without_spark
from support.records import Rec
from support.verifying import run_verify
from support.world import World, now_ms

SHOP_NAMES = "abcde"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`testfilter`, which keeps orders of some shops, beside the configuration."""
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))
    made = build(tmp_path / "testfilter", SHOPS, quickly("testfilter"))
    return made.relative_to(tmp_path)


def orders(count: int, start: int = 0) -> list[tuple[int, Rec]]:
    at = now_ms()
    return [
        (n % 2, Rec(b"k", json.dumps({"shop": SHOP_NAMES[n % 5], "n": n}).encode(), (), at))
        for n in range(start, start + count)
    ]


def kept(rec: Rec) -> bool:
    return json.loads(rec.value or b"{}").get("shop") in ("a", "c")


@pytest.mark.spark
def test_kills_of_the_plugins_process_and_of_the_mirror(world: World, plugin: Path, tmp_path: Path) -> None:
    topic = world.topic("t", 2)
    world.produce(topic, orders(6_000))
    config = world.config(
        [topic], prefix="eu.", max_transaction_records=300,
        filters=[{"filter": str(plugin), "config": {"shops": ["a", "c"]}}],
    )  # fmt: skip
    flag = tmp_path / "flag"
    with without_spark():
        first = world.run(config, env={"CAUSEWAY_FAILPOINT": f"after-ledger:4:driver:{flag}"})
        killed: set[int] = set()
        while first.alive:
            for pid in hosts(tmp_path, age=0.3):
                killed.add(pid)
                send(signal.SIGKILL, [pid])  # it may have ended with its worker
        assert first.wait() == -9, first.output
    assert len(killed) > 2
    eventually(lambda: not hosts(tmp_path), "the plugin's processes end with their workers")

    world.produce(topic, orders(1_000, start=6_000))
    world.carry_all(config)
    here = world.read(topic, "source")
    assert world.read(f"eu.{topic}") == {
        number: [rec for rec in recs if kept(rec)] for number, recs in here.items()
    }
    positions = world.ledger().positions.values()
    assert sum(position.tally.filtered for position in positions) == 7_000 * 3 // 5
    for position in positions:
        assert position.offset - position.start == position.tally.offsets
        assert position.tally.holes == 0
    with without_spark():
        verified = run_verify(config)
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    eventually(lambda: not hosts(tmp_path), "nothing is left")


def test_a_panic_stops_keeps_or_drops(world: World, plugin: Path, tmp_path: Path) -> None:
    topics = [world.topic(suffix, 2) for suffix in ("stop", "keep", "drop")]
    for topic in topics:
        world.produce(topic, orders(200))
        world.produce(topic, [(1, Rec(b"k", b"no order", (), now_ms()))])
        world.produce(topic, orders(100, start=200))
    table = {"filter": f"./{plugin}:testfilter", "config": {"shops": ["a", "c"]}}
    stop, keep, drop = (
        {"topics": [topic], "prefix": "eu.", "filters": [table | policy]}
        for topic, policy in zip(topics, ({}, {"on_error": "keep"}, {"on_error": "drop"}), strict=True)
    )
    run = world.run(world.mirrors(stop, keep, drop), "--stop-at-end")

    assert run.wait() == 6, run.output
    assert f"{topics[0]}[1] offset 100: panic: invalid character 'o' in literal null" in run.output
    assert f"({tmp_path}/testfilter/testfilter.go:" in run.output
    good = {}
    for topic in topics:
        here = world.read(topic, "source")
        good[topic] = {n: [rec for rec in recs if is_order(rec) and kept(rec)] for n, recs in here.items()}
    arrived = [world.read(f"eu.{topic}") for topic in topics]
    assert arrived[0] == {0: good[topics[0]][0], 1: good[topics[0]][1][:40]}
    assert arrived[2] == good[topics[2]]
    assert {n: [rec for rec in recs if is_order(rec)] for n, recs in arrived[1].items()} == good[topics[1]]
    assert sum(not is_order(rec) for rec in arrived[1][1]) == 1
    assert not hosts(tmp_path)


def is_order(rec: Rec) -> bool:
    return rec.value != b"no order"


@pytest.mark.parametrize(
    ("spelled", "config", "why"),
    [
        ("{}", {"shops": []}, "why: New: no shops in \\x1b[31mthe configuration"),
        ("./{}:other", {"shops": ["a"]}, 'why: its ID is "testfilter", not "other"'),
        ("{}.go", {}, "there is no file"),
        ("testfilter/testfilter.go:x", {}, "why: it is not a program that Go has built"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_reported_before_anything_starts(
    world: World, plugin: Path, tmp_path: Path, spelled: str, config: dict[str, object], why: str
) -> None:
    filters = [{"filter": spelled.format(plugin), "config": config}]
    run = world.run(world.config(filters=filters))

    assert run.wait() == 3, run.output
    assert why in run.output
    assert "Traceback" not in run.output
    assert not hosts(tmp_path)
