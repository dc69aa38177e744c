"""Fetches change their size while a task runs: nothing is lost or repeated, and memory is bounded."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from causeway.core.choices import CarrierChoice, Delivery
from causeway.core.filtering import FilterSpec
from causeway.core.task_order import Limits, TaskOrder
from causeway.kafka.carrier import carrier as chosen
from causeway.replication.worker import fetch_watch
from causeway.replication.worker.task import serve_order
from causeway.rules.fetch_sizes import FULL, SMALLEST, Fetched, at_level, budget
from support.ordering import Patience, order_of
from support.plain_order import plain_order
from support.records import Rec, end_offsets
from support.world import World, now_ms

PARTITIONS = 2
SMALL_BATCH = 1_000
CHANGES = 13
BATCHES: dict[str, Any] = {"batch.num.messages": 100}
LIMITS = Limits(500, 1 << 24, 1, 10, 1 << 24, 50_000, 1_000_000, 1)


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Change the fetch size whenever records came, CHANGES times; the new levels are listed."""
    levels: list[int] = []

    def change(level: int, _largest: int, fetched: Fetched, _limits: Limits) -> int:
        if not fetched.takes or len(levels) == CHANGES:
            return level
        levels.append((level + 1) % (SMALLEST + 1))
        return levels[-1]

    monkeypatch.setattr(fetch_watch, "next_level", change)
    return levels


def to_the_ends(world: World, order: TaskOrder) -> TaskOrder:
    ends = {
        topic: end_offsets(world.servers["source"], topic, world.source_partitions(topic))
        for topic in {lane.source.topic for lane in order.lanes}
    }
    lanes = (replace(lane, until=ends[lane.source.topic][lane.source.partition]) for lane in order.lanes)
    return replace(order, lanes=tuple(lanes))


def made(world: World, suffix: str, config: dict[str, str] | None = None) -> str:
    """Small batches, aborted records and markers, also at the end."""
    topic = world.topic(suffix, PARTITIONS, config=config)
    world.topic(suffix, PARTITIONS, on="destination", config=config)
    parts = ((0, None), (2_000, "abort"), (2_000, "commit"), (4_000, None), (6_000, "abort"))
    for begin, transaction in parts:
        records = world.numbers(2_000, PARTITIONS, begin)
        world.produce(topic, records, transaction=transaction, **BATCHES)
    return topic


@pytest.mark.parametrize(
    ("delivery", "carrier"),
    [
        ("exactly-once", "native"),
        ("at-least-once", "object"),
        pytest.param("exactly-once", "object", marks=pytest.mark.long),
        pytest.param("at-least-once", "native", marks=pytest.mark.long),
    ],
)
def test_another_fetch_size_loses_repeats_and_reorders_nothing(
    world: World, changes: list[int], carrier: CarrierChoice, delivery: Delivery
) -> None:
    plain, small = made(world, "plain"), made(world, "small")
    compacted = made(world, "compacted", {"cleanup.policy": "compact"})
    topics = [plain, small, compacted]
    order = to_the_ends(world, order_of(world, topics, 0, limits=LIMITS, carrier=carrier, delivery=delivery))
    lanes = (
        replace(lane, batch_limit=SMALL_BATCH if lane.source.topic == small else None) for lane in order.lanes
    )

    receipt = serve_order(replace(order, lanes=tuple(lanes)), pause=Patience(3))

    assert (receipt.outcome, receipt.restarts, receipt.stopped) == ("done", 0, 0)
    assert receipt.records == 3 * 6_000
    assert len(changes) == CHANGES
    world.assert_mirrored(*topics)
    for topic in topics:
        world.assert_mapped(topic, topic)
    ends = {lane.source: lane.until for lane in order.lanes}
    assert {source: position.offset for source, position in world.ledger().positions.items()} == ends


ASKED = """
class Even:
    def __init__(self, config):
        self.path, self.stops = config["path"], config["stops"]

    def keep_all(self, records):
        kept = [int(record.value.rstrip(b".")) % 2 == 0 or self.stopped(record) for record in records]
        with open(self.path, "a") as file:  # not if it raises: then it is called again for each record
            file.writelines(f"{record.partition} {record.offset}\\n" for record in records)
        return kept

    def stopped(self, record):
        if [record.partition, record.offset] in self.stops:
            raise ValueError("enough")
        return False
"""


@pytest.mark.parametrize("stops", [[], [[1, 701]]], ids=["to the end", "one partition stops"])
def test_a_filter_gets_each_record_once_and_a_stopped_partition_stays_stopped(
    world: World, changes: list[int], tmp_path: Path, stops: list[list[int]]
) -> None:
    topic = made(world, "t")
    asked = tmp_path / "asked"
    even = FilterSpec("even.py:Even", {"path": str(asked), "stops": stops}, "stop", ASKED)
    order = to_the_ends(world, order_of(world, topic, 0, limits=LIMITS, filters=(even,)))

    receipt = serve_order(order, pause=Patience(3))

    assert (receipt.outcome, receipt.restarts, receipt.stopped) == ("done", 0, len(stops))
    assert len(changes) > SMALLEST
    here, there = world.read(topic, "source"), world.read(topic)
    seen = [tuple(map(int, line.split())) for line in asked.read_text().splitlines()]
    limits = {stop[0]: stop[1] for stop in stops}
    for number, records in here.items():
        limit = limits.get(number, len(records))
        wanted = [rec for rec in records[:limit] if int((rec.value or b"").rstrip(b".")) % 2 == 0]
        assert there[number] == wanted
        end = limits.get(number, sys.maxsize)
        before = [offset for partition, offset in seen if partition == number and offset < end]
        assert len(before) == len(set(before)) == limit
    for source, position in world.ledger().positions.items():
        assert position.offset - position.start == position.tally.offsets, source


CHILD = """
import sys
from causeway.core.task_order import TaskOrder
from causeway.replication.worker.task import serve_order, warm_up

def memory(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

order = TaskOrder.from_json(open(sys.argv[1]).read())
warm_up(order)
before = memory("VmRSS")
receipt = serve_order(order)
print(receipt.outcome, receipt.records, receipt.restarts, memory("VmHWM") - before)
"""
ZEROS = bytes(1_000_000)
COUNT = 1_000
BOUND = 600_000_000
MEMORY_LIMITS = Limits(100_000, 1 << 25, 1, 30, 8 << 20, 50_000, 1_000_000, 1)


def zeros(kind: str) -> Iterator[tuple[int, Rec]]:
    at = now_ms()
    record = Rec(None, ZEROS, (), at) if kind == "values" else Rec(None, b"v", (("zeros", ZEROS),), at)
    return ((0, record) for _ in range(COUNT))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of a process is read from /proc")
@pytest.mark.parametrize("kind", ["values", "headers"])
def test_a_gigabyte_in_a_hundred_compressed_kilobytes_is_not_held_at_once(
    world: World, tmp_path: Path, kind: str
) -> None:
    """With a fixed fetch size, the first fetch returns all of it: more than a gigabyte."""
    topic = world.topic("t")
    world.topic("t", on="destination")
    properties: dict[str, Any] = {"compression.type": "zstd", "queue.buffering.max.kbytes": 65_536}
    world.produce(topic, zeros(kind), **properties)
    assert 2 * budget(MEMORY_LIMITS) < BOUND < 0.7 * COUNT * len(ZEROS)
    choices: tuple[CarrierChoice, ...] = ("native", "object")
    for choice in choices:
        assert chosen(choice, "").name == choice
        fresh = World(world.source, world.destination, tmp_path)
        order = order_of(fresh, topic, COUNT, limits=MEMORY_LIMITS, carrier=choice)
        given = tmp_path / f"{choice}.json"
        given.write_text(replace(order, produce=replace(order.produce, compression="zstd")).to_json())

        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(given)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip

        outcome, records, restarts, grown = child.stdout.split()
        assert (outcome, int(records), int(restarts)) == ("done", COUNT, 0)
        assert int(grown) < BOUND, f"{choice}: grew by {int(grown) >> 20} MB"
        print(f"{kind} {choice}: grew by {int(grown) >> 20} MB")


class Backlog:
    """A consumer that always has as much as it may fetch."""

    ahead = 0

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def sizes(self, _records: Any, most: int) -> list[int]:
        return [712] * most

    def renew(self, limits: Limits) -> None:
        self.limits = limits


@pytest.mark.parametrize("cycle", [0.001, 0.5, 5.0])
def test_fetches_grow_however_long_a_commit_takes(monkeypatch: pytest.MonkeyPatch, cycle: float) -> None:
    """With a distant destination a commit takes long, and there is one poll between two commits."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(fetch_watch, "_levels", {})
    watch = fetch_watch.FetchWatch(plain_order(limits=LIMITS))
    backlog: Any = Backlog(watch.limits)
    assert watch.limits == at_level(LIMITS, SMALLEST)
    for _ in range(50):
        now[0] += cycle
        watch.polled(backlog, range(backlog.limits.queue_records))
        if watch.changed():
            watch.renew([backlog])
    assert watch.limits == at_level(LIMITS, FULL)
