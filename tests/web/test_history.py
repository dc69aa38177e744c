"""What the plots are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import stayed_under
from causeway.rules.positions import percentile as ledger_percentile
from causeway.web.history import COARSE_KEPT, COARSE_MS, COLUMNS, FINE_KEPT, FINE_MS, History, Track
from web.made import NOW, latency, mirror, partition, snapshot, stopped_partition

START = NOW - NOW % COARSE_MS
counts = st.lists(st.integers(0, 1_000), min_size=27, max_size=27)


def after(track: Track, *, seconds: int, lag: int = 0, replicated: int = 0) -> None:
    view = mirror([partition(lag_records=lag, lag_seconds=lag / 10)], latency=latency(replicated))
    track.add(view, START + seconds * 1000)


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=300))
def test_there_is_one_sample_a_second_in_the_order_of_time(pauses: list[int]) -> None:
    track, at = Track(), START
    for pause in pauses:
        at += pause
        track.add(mirror(), at)

    times = [one.at for one in track.samples()]
    assert times == sorted(set(times))
    assert len({time // FINE_MS for time in times}) == len(times)
    assert track.last is not None and at - track.last.at < FINE_MS


@given(st.lists(st.integers(-5_000, 5_000), min_size=1, max_size=200))
def test_a_clock_that_is_set_back_leaves_nothing_ahead_of_it(steps: list[int]) -> None:
    track, at = Track(), START
    for step in steps:
        at += step
        track.add(mirror(), at)

    times = [one.at for one in track.samples()]
    assert times == sorted(set(times))
    assert times[-1] <= at


@pytest.mark.no_cover
def test_it_is_bounded_and_goes_back_six_hours() -> None:
    track = Track()
    for second in range(7 * 3600):
        after(track, seconds=second)

    samples = list(track.samples())
    assert len(samples) <= FINE_KEPT + COARSE_KEPT
    assert samples[-1].at - samples[0].at >= (COARSE_KEPT - 1) * COARSE_MS
    assert [two.at - one.at for one, two in zip(samples[-600:], samples[-599:], strict=False)] == [1000] * 599


def test_what_is_old_is_averaged_and_lags_are_remembered_at_their_worst() -> None:
    track = Track()
    for second in range(700):
        view = mirror(
            [partition(lag_records=second % 10, lag_seconds=float(second % 10))],
            records_per_second=float(second % 10),
        )
        track.add(view, START + second * 1000)

    oldest = next(track.samples())
    assert (oldest.records_per_second, oldest.lag_records, oldest.lag_seconds) == (4.5, 9, 9.0)


@given(counts, st.sampled_from([0.5, 0.99]))
def test_percentiles_are_those_of_the_live_table(buckets: list[int], share: float) -> None:
    expected = ledger_percentile(buckets, share) if any(buckets) else None
    assert stayed_under(buckets, share) == expected


@given(counts)
def test_the_median_is_never_above_the_99th(buckets: list[int]) -> None:
    p50, p99 = stayed_under(buckets, 0.5), stayed_under(buckets, 0.99)
    assert (p50 is None and p99 is None) or (p50 is not None and p99 is not None and p50 <= p99)


def test_latencies_are_of_the_last_seconds_alone() -> None:
    track = Track()
    track.add(mirror(latency=latency(1_000_000, bucket=25)), START)  # earlier records are not counted
    assert track.last is not None and track.last.p50_ms is None

    fast = tuple(a + b for a, b in zip(latency(1_000_000, bucket=25), latency(10), strict=True))
    track.add(mirror(latency=fast), START + 1000)
    assert track.last.p50_ms is not None and 15 < track.last.p50_ms <= 20

    for second in range(2, 13):
        track.add(mirror(latency=fast), START + second * 1000)
    assert track.last.p50_ms is None


def test_counts_that_restart_are_no_latency() -> None:
    track = Track()
    after(track, seconds=0, replicated=500)
    after(track, seconds=1, replicated=10)
    assert track.last is not None and track.last.p50_ms is None
    after(track, seconds=2, replicated=20)
    assert track.last.p50_ms is not None


def test_counts_that_a_partition_brings_when_it_joins_are_no_latency() -> None:
    """Its records of last week, all above a minute, are not records of the last ten seconds."""
    first, second = partition(0), partition(1)
    old = latency(1_000_000, bucket=26)
    track = Track()
    track.add(mirror([first, replace(second, position=-1)], latency=latency(100)), START)
    track.add(mirror([first, second], latency=added(latency(200), old)), START + 1000)
    assert track.last is not None and (track.last.p50_ms, track.last.p99_ms) == (None, None)
    track.add(mirror([first, second], latency=added(latency(300), old)), START + 2000)
    assert track.last.p99_ms is not None and 15 < track.last.p99_ms <= 20


def test_the_first_counts_of_the_ledger_are_no_latency() -> None:
    track = Track()
    track.add(mirror([], latency=latency(0)), START)
    track.add(mirror(latency=latency(1_000_000, bucket=26)), START + 1000)
    assert track.last is not None and track.last.p99_ms is None


def test_a_lag_that_is_not_known_is_not_zero() -> None:
    track = Track()
    unknown = replace(partition(), log_end=-1, lag_records=0, lag_seconds=0.0)
    track.add(mirror([unknown]), START)
    assert track.last is not None and (track.last.lag_records, track.last.lag_seconds) == (None, None)
    for second in range(1, 700):
        after(track, seconds=second, lag=50 if second < 5 else 3)
    oldest = next(track.samples())
    assert (oldest.lag_records, oldest.lag_seconds) == (50, 5.0), "the known ones count"


def added(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


@pytest.mark.no_cover
@given(st.integers(-900, 900))
def test_the_trend_is_the_pace_of_the_backlog(pace: int) -> None:
    track = Track()
    for second in range(60):
        after(track, seconds=second, lag=100_000 + pace * second)
    assert track.trend is not None and abs(track.trend - pace) < 1e-6


@pytest.mark.parametrize("state", ["starting", "waiting", "paused"])
def test_the_trend_is_of_the_running_mirror_alone(state: Any) -> None:
    """A backlog that grew before the mirror replicated is no warning that it cannot catch up."""
    track = Track()
    for second in range(40):
        lag = 1_000 * second if second < 30 else 30_000 - 500 * (second - 30)
        view = mirror([partition(lag_records=lag)], state=state if second < 30 else "running")
        track.add(view, START + second * 1000)
        if second in (30, 34):
            assert track.trend is None, "too early to tell"
    assert track.trend is not None and abs(track.trend + 500) < 1e-6


def test_there_is_no_trend_before_there_is_something_to_compare() -> None:
    track = Track()
    assert track.trend is None
    for second in range(5):
        after(track, seconds=second)
    assert track.trend is None


def test_a_stopped_partition_is_lag_but_not_backlog() -> None:
    track = Track()
    track.add(mirror([partition(lag_records=3), stopped_partition(lag_records=500)]), START)
    assert track.last is not None
    assert (track.last.lag_records, track.last.backlog) == (503, 3)


def test_removed_mirrors_are_forgotten() -> None:
    history = History()
    history.add(snapshot(mirror(name="a"), mirror(name="b")))
    history.add(snapshot(mirror(name="b"), at=NOW + 1000))

    assert history.series("a")["at"] == []
    assert history.series("b")["at"] == [NOW, NOW + 1000]
    assert history.series("b", since=NOW + 1)["at"] == [NOW + 1000]
    assert set(history.series("b")) == set(COLUMNS)
