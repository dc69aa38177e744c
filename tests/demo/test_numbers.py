"""The demo's arithmetic: how differences are counted, and what a rate is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from causeway.cli.demo.latency import percentile, settled
from causeway.cli.demo.ledger_watch import Commit, LedgerWatch, Speed, progress_text, speed
from causeway.cli.demo.records import CUSTOMERS, EDGE_CASES, SIZE, TOPICS, business, edge_cases
from causeway.cli.demo.summary import DemoVerdict, Summary, next_commands, verdict_of
from causeway.core.cluster import Cluster
from causeway.core.position import Place, Position, SourcePartition, Tally

NOTHING = dict.fromkeys(("missing", "duplicated", "out_of_order", "changed", "unexpected", "lagging"), 0)


def report(**counts: int) -> dict[str, Any]:
    """The part of `causeway verify -o json` that the demo reads."""
    return {"mirrors": [{"topics": [{"topic": "orders", "counts": {**NOTHING, **counts}}]}]}


@pytest.mark.parametrize(
    ("verified", "arrived", "verdict"),
    [
        (report(), 100, DemoVerdict(0, 0, 0, 0)),
        (report(missing=2, lagging=3), 95, DemoVerdict(5, 0, 0, 0)),
        (report(duplicated=4), 104, DemoVerdict(0, 4, 0, 0)),
        (report(out_of_order=6), 100, DemoVerdict(0, 0, 6, 0)),
        (report(changed=7), 100, DemoVerdict(0, 0, 0, 7)),
        (report(unexpected=8), 108, DemoVerdict(0, 0, 0, 8)),
        (report(missing=1, duplicated=1), 100, DemoVerdict(1, 1, 0, 0)),
        # The count shows what verify did not.
        (report(), 90, DemoVerdict(10, 0, 0, 0)),
        (report(), 110, DemoVerdict(0, 10, 0, 0)),
        ({"mirrors": []}, 0, DemoVerdict(100, 0, 0, 0)),
    ],
)
def test_each_difference_has_its_count(verified: dict[str, Any], arrived: int, verdict: DemoVerdict) -> None:
    assert verdict_of(verified, {"orders": 100}, {"orders": arrived}) == verdict
    assert verdict.clean == (verdict == DemoVerdict(0, 0, 0, 0))


def summary(verdict: DemoVerdict) -> Summary:
    return Summary(
        records=306_000, bytes=66_000_000, aborted=7_500, topics=5, partitions=16, kills=1,
        killed_processes=5, speed=Speed(200_000, 40_000_000, 0.8), latency_p50_ms=17.44,
        latency_p99_ms=31.0, warm_up_seconds=12, trickle_per_second=1_000, verdict=verdict,
    )  # fmt: skip


def test_a_clean_summary_is_no_error() -> None:
    clean = summary(DemoVerdict(0, 0, 0, 0))
    assert clean.mismatch() is None
    assert clean.to_json() == {
        "records": 306_000, "lost": 0, "duplicated": 0, "out_of_order": 0, "changed": 0, "kills": 1,
        "records_per_second": 250_000, "latency_p50_ms": 17.4, "latency_p99_ms": 31.0,
    }  # fmt: skip
    shown = {line[:12].strip(): line[12:].split() for line in str(clean).splitlines()}
    assert shown["records"][0] == "306,000"
    assert shown["records/s"][0] == "250,000"
    assert shown["MB/s"][0] == "50.0"
    assert shown["latency p50"][:2] == ["17", "ms"]
    assert [shown[name][0] for name in ("lost", "duplicated", "out of order", "changed")] == ["0"] * 4


@pytest.mark.parametrize("number", range(4))
def test_any_count_that_is_not_0_is_an_error(number: int) -> None:
    mismatch = summary(DemoVerdict(*(int(number == at) for at in range(4)))).mismatch()
    assert mismatch is not None
    assert mismatch.exit_code == 9


def test_the_rate_excludes_what_the_first_commit_replicated() -> None:
    commits = [
        Commit(5_000, 900, 9_000),
        Commit(5_000, 100, 1_000),
        Commit(5_500, 300, 60),
        Commit(7_000, 700, 40),
    ]
    measured = speed(commits)
    assert (measured.records, measured.bytes, measured.seconds) == (1_000, 100, 2.0)
    assert measured.records_per_second == 500
    assert speed([]).records_per_second == speed([Commit(1, 1, 1)]).records_per_second == 0


def position(offset: int, delivered: int, at: int) -> Position:
    return Position(
        source=SourcePartition("c", "orders", 0), topic_id="t", start=0, offset=offset, epoch=0,
        place=Place("orders", "u", 0), place_start=0, place_end=delivered, generation=1, at=at,
        tally=Tally(delivered=delivered, holes=offset - delivered, bytes=10 * delivered),
    )  # fmt: skip


def test_the_watch_sums_the_ledgers_counts() -> None:
    replicated = LedgerWatch(Cluster("tokyo", {"bootstrap.servers": "127.0.0.1:1"}), "m")
    replicated.hear([position(10, 10, 1), position(25, 20, 2), position(26, 20, 3)])
    assert (replicated.records, replicated.bytes) == (20, 200)
    assert replicated.commits == [Commit(1, 10, 100), Commit(2, 10, 100)]
    assert replicated.reached({("orders", 0): 26})
    assert not replicated.reached({("orders", 0): 27})
    assert replicated.reached({("orders", 0): 26, ("edge-cases", 1): 0})
    assert not replicated.reached({("orders", 0): 26, ("edge-cases", 1): 1})


def test_progress_has_the_time_left() -> None:
    assert progress_text(200, 1_000, 40.0) == "200 of 1,000 replicated, 40 records/s, 20 s left"
    assert progress_text(200, 1_000, 0.0) == "200 of 1,000 replicated, 0 records/s"
    assert progress_text(1_000, 1_000, 40.0) == "1,000 of 1,000 replicated, 40 records/s"
    assert progress_text(200, 0, 40.0) == "200 replicated, 40 records/s"


@pytest.mark.parametrize(
    ("medians", "done"),
    [
        ([], False),
        ([150.0, 149.0], False),
        ([150.0, 40.0, 30.0], False),
        ([150.0, 40.0, 30.0, 29.0], False),
        ([150.0, 40.0, 30.0, 29.0, 28.5], False),
        ([150.0, 40.0, 30.0, 29.0, 28.5, 29.0], True),
        ([150.0, 34.0, 32.0, 31.0, 30.0], False),
        ([20.0, 21.0, 19.0, 20.0], True),
        ([150.0, 30.0, 60.0, 26.0, 40.0], False),
    ],
)
def test_the_warm_up_ends_when_three_windows_brought_no_better_latency(
    medians: list[float], done: bool
) -> None:
    assert settled(medians) is done


def test_the_next_commands_can_be_pasted() -> None:
    title, *commands = next_commands(".venv/bin/causeway").splitlines()
    assert title == "Try next:"
    assert [line.split("  ")[1] for line in commands] == [
        ".venv/bin/causeway demo --keep",
        ".venv/bin/causeway init",
        ".venv/bin/causeway check causeway.toml",
    ]


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_percentiles_are_values_that_were_measured(share: float, value: float) -> None:
    assert percentile([float(n) for n in range(100, 0, -1)], share) == value
    assert percentile([7.0], share) == 7.0


def test_the_shop_sells_to_every_topic() -> None:
    records = [business(number) for number in range(2_000)]
    assert records == [business(number) for number in range(2_000)]
    shares = Counter(record.topic for record in records)
    assert shares == {"clicks": 1_000, "orders": 700, "payments": 200, CUSTOMERS: 100}
    assert all(len(record.value) == SIZE for record in records if record.value is not None)
    tombstones = [record for record in records if record.value is None]
    assert len(tombstones) == 25
    assert {record.topic for record in tombstones} == {CUSTOMERS}
    assert all(record.key for record in records if record.topic == CUSTOMERS)
    assert any(len({name for name, _ in record.headers}) < len(record.headers) for record in records)


def test_edge_cases_has_every_kind() -> None:
    records = list(edge_cases(1_700_000_000_000))
    partitions = {topic.name: topic.partitions for topic in TOPICS}[EDGE_CASES]
    assert {record.partition for record in records} == set(range(partitions))
    for kind in (None, b""):
        assert any(record.key == kind for record in records)
        assert any(record.value == kind for record in records)
        assert any(value == kind for record in records for _, value in record.headers)
    assert any(record.key is None and record.value is None for record in records)
    assert any([name for name, _ in record.headers].count("twice") == 3 for record in records)
    assert len({record.timestamp for record in records}) == 3
