from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.progress import Backlog
from causeway.replication.rules.backlog import EARLY_SECONDS, WINDOW_SECONDS, Catching

TICK = 0.5


def backlogs(
    steps: Iterable[tuple[int, int]], *, bounded: bool = False, catching: Catching[str] | None = None
) -> list[Backlog | None]:
    """The backlog of one partition at each tick, from its position and its end."""
    catching = catching or Catching()
    return [
        catching.saw(100 + TICK * number, {"a": position}, {"a": end}, bounded=bounded)
        for number, (position, end) in enumerate(steps)
    ]


def test_the_time_left_includes_records_that_arrive_meanwhile() -> None:
    """1,000 a second are replicated and 900 arrive: the lag falls by 100, not by 1,000."""
    backlog = backlogs([(500 * tick, 50_000 + 450 * tick) for tick in range(40)])[-1]
    assert backlog is not None
    assert backlog.falls == pytest.approx(100)
    assert backlog.moves


def test_a_growing_lag_falls_by_a_negative_number() -> None:
    backlog = backlogs([(450 * tick, 50_000 + 500 * tick) for tick in range(40)])[-1]
    assert backlog is not None
    assert backlog.falls == pytest.approx(-100)


def test_ends_that_are_fetched_less_often_do_not_make_the_trend_jump() -> None:
    """Ends every second, positions twice a second: single samples jump by what arrives in between."""
    steps = [(550 * tick, 100_000 + 500 * (tick - tick % 2)) for tick in range(200)]
    falls = [
        backlog.falls for backlog in backlogs(steps) if backlog is not None and backlog.falls is not None
    ]
    assert len(falls) > 100
    assert min(falls) > 70
    assert max(falls) < 150


def test_a_lag_without_progress_is_reported() -> None:
    backlog = backlogs([(10, 500)] * 40)[-1]
    assert backlog == Backlog(left=490, most=490, falls=0.0, moves=False)


@given(st.integers(1, 1_000_000), st.floats(0, 0.9))
def test_a_mirror_that_lags_less_than_a_second_shows_no_backlog(per_tick: int, seconds: float) -> None:
    lag = int(2 * per_tick * seconds)
    assert not any(backlogs([(per_tick * tick, per_tick * tick + lag) for tick in range(1, 60)])[2:])


@given(st.lists(st.booleans(), min_size=20, max_size=80))
def test_records_that_come_one_by_one_make_no_bar(comes: list[bool]) -> None:
    """Each is replicated before the next sample, however many there are."""
    steps, position = [], 0
    for arrived in comes:
        steps += [(position, position + arrived), (position + arrived, position + arrived)]
        position += arrived
    assert not any(backlogs(steps))


def test_a_bar_appears_after_some_seconds_and_stays_until_the_mirror_has_caught_up() -> None:
    samples = backlogs([(min(1_000 * tick, 30_000), 30_000) for tick in range(40)])
    shown = [sample is not None for sample in samples]
    assert shown.index(True) == EARLY_SECONDS / TICK
    assert sum(before != after for before, after in pairwise(shown)) == 2
    assert not shown[-1]


def test_the_bar_starts_again_after_the_mirror_has_caught_up() -> None:
    once = [(min(1_000 * tick, 30_000), 30_000) for tick in range(60)]
    again = [(30_000 + 100 * tick, 50_000) for tick in range(40)]
    last = backlogs(once + again)[-1]
    assert last is not None
    assert 19_000 < last.most <= 20_000


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=60))
def test_the_backlog_never_exceeds_its_maximum(steps: list[tuple[int, int]]) -> None:
    position, end, ways = 0, 5_000, []
    for replicated, arrived in steps:
        end += arrived
        position = min(end, position + replicated)
        ways.append((position, end))
    for bounded in (False, True):
        for backlog in backlogs(ways, bounded=bounded):
            assert backlog is None or 0 <= backlog.left <= backlog.most


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=60))
def test_a_bounded_run_only_approaches_its_end(steps: list[int]) -> None:
    end, position, ways = sum(steps), 0, [(0, sum(steps))]
    for step in steps:
        position += step
        ways.append((position, end))
    samples = backlogs(ways, bounded=True)
    assert [sample.left if sample else 0 for sample in samples] == [end - at for at, _ in ways]
    assert {sample.most for sample in samples if sample} <= {end}
    assert all(sample.falls >= 0 for sample in samples if sample and sample.falls is not None)


def test_a_partition_without_a_position_is_not_known_yet() -> None:
    """It may begin at its end: counted from 0 its lag would shrink without replication."""
    catching: Catching[str] = Catching()
    ends = {"a": 1_000, "b": 1_000_000}
    for tick in range(20):
        backlog = catching.saw(TICK * tick, {"a": 0}, ends)
    assert backlog == Backlog(1_000, 1_000, 0.0, moves=False)
    backlog = catching.saw(10.0, {"a": 0, "b": 999_000}, ends)
    assert backlog == Backlog(2_000, 2_000, None, moves=False)


def test_a_stopped_partition_is_no_progress_and_no_backlog() -> None:
    catching: Catching[str] = Catching()
    ends = {"a": 1_000, "b": 1_000}
    catching.saw(0.0, {"a": 0, "b": 0}, ends, bounded=True)
    backlog = catching.saw(1.0, {"a": 400, "b": 0}, ends, bounded=True)
    assert backlog is not None
    assert (backlog.left, backlog.most) == (1_600, 2_000)
    backlog = catching.saw(2.0, {"a": 400, "b": 0}, ends, {"b"}, bounded=True)
    assert backlog is not None
    assert (backlog.left, backlog.most, backlog.falls) == (600, 1_000, None)


def test_only_the_last_seconds_count() -> None:
    fast = [(5_000 * tick, 1_000_000) for tick in range(20)]
    slow = [(100_000 + 50 * tick, 1_000_000) for tick in range(int(WINDOW_SECONDS / TICK) + 2)]
    backlog = backlogs(fast + slow)[-1]
    assert backlog is not None
    assert backlog.falls == pytest.approx(100)
