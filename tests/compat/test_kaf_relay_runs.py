"""kaf-relay's own run lines between real clusters, without its defects: --mode single."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka.ports import free_ports
from support.door import door
from support.kaf_relay import NEWER
from support.placing import assert_all_in_order
from support.process import without_spark
from support.records import Rec
from support.world import World, now_ms


@pytest.fixture(autouse=True)
def in_the_tools_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def run(world: World, line: str, code: int = 0) -> str:
    """The output of the tool's run line, with `causeway kaf-relay` in place of the program."""
    with door(world.directory, "kaf-relay", *line.split()[1:], env={}) as process:
        assert process.wait() == code, process.output
        return process.output


def runnable(text: str) -> str:
    """A sample as it can be run: without logins, and with a free port for its page."""
    (port,) = free_ports(1)
    return text.replace("enable_auth = true", "enable_auth = false").replace(":7081", f":{port}")


def anything(count: int, partitions: int, start: int = 0) -> list[tuple[int, Rec]]:
    """Keys, no keys, empty ones, tombstones, headers, and timestamps of yesterday."""
    at = now_ms() - 86_400_000
    headers = (("trace", b"a"), ("trace", b""), ("none", None))
    keys = (b"k", b"", None)
    return [
        (n % partitions, Rec(keys[n % 3], f"{n}".encode() if n % 7 else None, headers[: n % 4], at + n))
        for n in range(start, start + count)
    ]


@pytest.mark.spark
def test_the_newer_generation_runs_stops_at_the_end_and_resumes(world: World, tmp_path: Path) -> None:
    """A map, a fixed partition, two into one, aborted and deleted records, and an empty topic: two runs."""
    plain, fixed = world.topic("plain", 3), world.topic("fixed", 3)
    one, two, gaps, cut = (
        world.topic("one", 2),
        world.topic("two", 2),
        world.topic("gaps"),
        world.topic("cut"),
    )
    empty = world.topic("empty", 2)
    targets = {
        plain: world.name("copy"), fixed: f"{world.name('there')}:1", one: world.name("both"),
        two: world.name("both"), gaps: gaps, cut: cut, empty: empty,
    }  # fmt: skip
    text = re.sub(r"\[\[topics\]\]\n.*?\n(?=\[)", "", runnable(NEWER), flags=re.S)
    text = re.sub(r"(group|instance)_id = .*\n", "", text)  # removed in v1.2
    text = text.replace("node1:9092", world.servers["source"]).replace(
        "node3:9095", world.servers["destination"]
    )
    lines = "".join(f"{json.dumps(source)} = {json.dumps(target)}\n" for source, target in targets.items())
    (tmp_path / "config.toml").write_text(f"{text}\n[[topics]]\n{lines}")
    world.topic("there", 3, on="destination")
    world.produce(cut, world.numbers(100))
    world.delete_records(cut, 0, 40)

    for executor in (without_spark, contextlib.nullcontext):
        start = 0 if executor is without_spark else 1000
        for topic, partitions in ((plain, 3), (fixed, 3), (one, 2)):
            world.produce(topic, anything(300, partitions, start))
        world.produce(two, anything(300, 2, start + 500))
        world.produce(gaps, world.numbers(50, start=start), transaction="commit")
        world.produce(gaps, world.numbers(50, start=start + 50), transaction="abort")
        with executor():
            output = run(world, "./kaf-relay.bin --config config.toml --mode single --stop-at-end")
    name = f"kaf-relay-{plain}"
    assert f"note: topics: the mirror and its ledger are named {name}, from the first topic" in output
    # Nothing is left to replicate: the run ends at once.
    again = run(world, "./kaf-relay.bin --config config.toml --mode single --stop-at-end")
    assert "info: spark: starting" not in again

    assert world.read(world.name("copy")) == world.read(plain, "source")
    there = world.read(world.name("there"))
    assert_all_in_order(world.read(fixed, "source"), there)
    assert not there[0]
    assert not there[2]
    both = {**world.read(one, "source"), **{n + 2: recs for n, recs in world.read(two, "source").items()}}
    assert_all_in_order(both, world.read(world.name("both")))
    assert world.read(gaps) == world.read(gaps, "source")
    assert len(world.read(gaps)[0]) == 100
    assert world.read(cut) == world.read(cut, "source")
    assert len(world.read(cut)[0]) == 60
    assert world.read(empty) == {0: [], 1: []}
    for source, position in world.ledger(name).positions.items():
        assert position.offset - position.start == position.tally.offsets, source

    # Another node: a cluster that has topics of these names, but is not the replicated one.
    world.produce(world.topic("plain", 3, on="destination"), anything(300, 3), on="destination")
    other = text.replace(world.servers["source"], world.servers["destination"])
    (tmp_path / "config.toml").write_text(f"{other}\n[topics]\n{lines.splitlines()[0]}\n")
    refused = run(world, "./kaf-relay.bin --config config.toml --mode single --stop-at-end", code=6)
    assert "error: the ledger's positions belong to another cluster" in refused
    assert world.read(world.name("copy")) == world.read(plain, "source")
