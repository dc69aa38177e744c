"""`causeway demo --failover`: nodes of the source pool fail under traffic, and no record is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.cli.demo.arrivals import Timing
from causeway.cli.demo.failover_summary import FailoverSummary, NodeFault
from causeway.cli.demo.pool_traffic import PARTITIONS, placed
from causeway.cli.demo.records import DemoRecord, business
from causeway.cli.demo.summary import DemoVerdict
from demo.test_demo import Demo

KILLED = NodeFault("killed", "SIGKILL", "paris-a", "paris-b", 212.34, 301.0, 350.0)
CLEAN = DemoVerdict(0, 0, 0, 0)


@pytest.fixture
def demos() -> Iterator[list[Demo]]:
    started: list[Demo] = []
    yield started
    for demo in started:
        demo.end()


@pytest.mark.timeout(600)
def test_a_node_is_killed_the_next_one_hangs_and_no_record_is_lost(
    tmp_path: Path, state_directory: Path, demos: list[Demo]
) -> None:
    demo = Demo(tmp_path, "--failover", "--records", "2000", "-o", "json", spark=False)
    demos.append(demo)
    assert demo.wait() == 0, demo.messages
    numbers = json.loads(demo.printed.splitlines()[-1])
    assert numbers["records"] > 2_000
    wrong = {name: numbers[name] for name in ("lost", "duplicated", "out_of_order", "changed")}
    assert wrong == {"lost": 0, "duplicated": 0, "out_of_order": 0, "changed": 0}, demo.messages
    killed, suspended = numbers["faults"]
    assert (killed["fault"], killed["node"]) == ("killed", "paris-a")
    assert (suspended["fault"], suspended["node"]) == ("suspended", killed["next_node"])
    assert suspended["next_node"] not in (killed["node"], suspended["node"])
    for fault in (killed, suspended):
        assert 0 < fault["next_record_ms"] <= fault["every_partition_ms"], demo.messages
    assert demo.messages.index("SIGKILL") < demo.messages.index("SIGSTOP") < demo.messages.index("verifying")
    assert "demo --failover --keep" in demo.messages
    demo.assert_nothing_is_left()
    assert not state_directory.exists() or not any(state_directory.rglob("*.log"))


def test_a_warm_up_is_refused(tmp_path: Path, demos: list[Demo]) -> None:
    demo = Demo(tmp_path, "--failover", "--warm-up", "1", spark=False)
    demos.append(demo)
    assert demo.wait() == 2
    assert "--warm-up has no effect with --failover" in demo.messages


def test_every_node_gets_the_same_partition_and_timestamp() -> None:
    used = set()
    for number in range(2_000):
        record = placed(business(number), number, 17)
        assert record == placed(business(number), number, 17)
        assert record.timestamp == 17
        used.add((record.topic, record.partition))
    assert len(used) == sum(count for topic, count in PARTITIONS.items() if topic != "edge-cases")
    same = {placed(DemoRecord("orders", b"a", b"v"), number, 1).partition for number in range(9)}
    assert len(same) == 1


def test_only_records_that_were_written_after_the_fault_count() -> None:
    a, b = ("orders", 0), ("orders", 1)
    before = Timing([a, b], 1_000.0)
    before.add([(a, 990), (b, 995)], 1_010.0)
    timing = Timing([a, b], 1_020.0, before.latest)
    timing.add([(a, 1_020)], 1_030.0)
    assert timing.first_ms is None
    timing.add([(a, 1_021)], 1_300.5)
    assert timing.first_ms == 280.5
    assert not timing.complete
    timing.add([(b, 1_400), (b, 1_401), (a, 1_402)], 1_410.0)
    assert timing.complete
    assert timing.first_ms == 280.5
    assert timing.all_ms == 390.0
    assert timing.longest_gap_ms == 400.0  # of b: its latest record arrived before the fault


def failover_summary(verdict: DemoVerdict) -> FailoverSummary:
    return FailoverSummary(
        records=20_000, bytes=4_000_000, topics=5, partitions=16, paced_partitions=13, per_second=1_000,
        faults=(KILLED,), verdict=verdict,
    )  # fmt: skip


def test_the_summary_has_what_was_done_and_how_long_no_record_arrived() -> None:
    clean = failover_summary(CLEAN)
    assert clean.mismatch() is None
    assert clean.to_json() == {
        "records": 20_000, "lost": 0, "duplicated": 0, "out_of_order": 0, "changed": 0,
        "faults": [{
            "fault": "killed", "node": "paris-a", "next_node": "paris-b", "next_record_ms": 212.3,
            "every_partition_ms": 301.0, "longest_gap_ms": 350.0,
        }],
    }  # fmt: skip
    shown = {line[:17].strip(): line[17:].split() for line in str(clean).splitlines()}
    assert shown["killed"][0] == "paris-a"
    assert shown["next record"][:2] == ["212", "ms"]
    assert shown["longest gap"][:2] == ["350", "ms"]
    assert shown["lost"] == ["0"]


def test_a_lost_record_is_exit_code_9() -> None:
    mismatch = failover_summary(DemoVerdict(1, 0, 0, 0)).mismatch()
    assert mismatch is not None
    assert mismatch.exit_code == 9
