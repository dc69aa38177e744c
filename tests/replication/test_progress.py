from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.progress import MirrorProgress
from causeway.replication.progress import Gauge, Totals

A, B = SourcePartition("c", "orders", 0), SourcePartition("c", "orders", 1)


def at(source: SourcePartition, offset: int) -> Position:
    return Position(
        source=source, topic_id="t", start=0, offset=offset, epoch=0, place=Place("orders", "u", 0),
        place_start=0, place_end=offset, generation=1, at=1, tally=Tally(delivered=offset),
    )  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def run(
    clock: list[float], ticks: int, replicated: int, end: int, arrived: int, until: int | None = None
) -> MirrorProgress:
    """Half a second per tick, in which `replicated` records are replicated and `arrived` arrive."""
    gauge = Gauge()
    goal = None if until is None else {A: until}
    for tick in range(ticks):
        clock[0] += 0.5
        ends = {A: end + arrived * tick, B: 1_000}
        shown = gauge.measure("m", "running", {A: at(A, replicated * tick)}, ends, [B], 1, goal)
    return shown


def test_the_catch_up_rate_is_the_rate_at_which_the_lag_falls(clock: list[float]) -> None:
    shown = run(clock, 40, replicated=500, end=50_000, arrived=450)
    assert shown.records_per_second == pytest.approx(1_000)
    assert shown.backlog is not None
    assert shown.backlog.falls == pytest.approx(100)
    assert shown.backlog.left == 50_000 - 39 * 50
    assert not shown.backlog.bounded
    assert shown.lag == shown.backlog.left + 1_000  # a stopped partition lags, and does not catch up


def test_counts_that_start_again_give_no_negative_rate(clock: list[float]) -> None:
    """The topic was recreated, and the policy restarts with it."""
    gauge = Gauge()
    for replicated in (500, 10):
        clock[0] += 0.5
        shown = gauge.measure("m", "running", {A: at(A, replicated)}, {A: 500}, [], 1, None)
    assert [(topic.records_per_second, topic.bytes_per_second) for topic in shown.topics] == [(0, 0)]


def test_a_bounded_run_goes_to_the_log_ends_at_its_start(clock: list[float]) -> None:
    shown = run(clock, 40, replicated=500, end=50_000, arrived=5_000, until=50_000)
    assert shown.backlog is not None
    assert shown.backlog.bounded
    assert (shown.backlog.left, shown.backlog.most) == (50_000 - 39 * 500, 50_000)
    assert shown.backlog.falls == pytest.approx(1_000)
    assert shown.lag > shown.backlog.left


def test_a_bounded_run_at_its_end_has_no_backlog(clock: list[float]) -> None:
    assert run(clock, 40, replicated=500, end=5_000, arrived=5_000, until=5_000).backlog is None


@given(
    st.lists(
        st.tuples(st.sampled_from([A, B, A._replace(topic="payments")]), st.integers(0, 1_000)), max_size=30
    )
)
def test_counting_changed_partitions_gives_the_same_as_counting_all(
    moves: list[tuple[SourcePartition, int]],
) -> None:
    moving, positions = Totals(), dict[SourcePartition, Position]()
    for source, offset in moves:
        positions[source] = at(source, offset)
        moving.count(positions)
    afresh = Totals()
    afresh.count(positions)
    assert moving.topics == afresh.topics
    assert moving.latency() == afresh.latency()
