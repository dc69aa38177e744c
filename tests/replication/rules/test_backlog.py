from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.progress import Backlog
from causeway.replication.rules.backlog import EARLY_SECONDS, WINDOW_SECONDS, Catching

TICK = 0.5


def watched(
    steps: Iterable[tuple[int, int]], *, bounded: bool = False, catching: Catching[str] | None = None
) -> list[Backlog | None]:
    """What is told of one partition at each tick, from its position and its end."""
    catching = catching or Catching()
    return [
        catching.saw(100 + TICK * number, {"a": position}, {"a": end}, bounded=bounded)
        for number, (position, end) in enumerate(steps)
    ]


def test_the_time_counts_what_arrives_meanwhile() -> None:
    """1,000 a second are carried and 900 arrive: the lag falls by 100, not by 1,000."""
    told = watched([(500 * tick, 50_000 + 450 * tick) for tick in range(40)])[-1]
    assert told is not None
    assert told.falls == pytest.approx(100)
    assert told.moves


def test_a_lag_that_grows_falls_by_less_than_nothing() -> None:
    told = watched([(450 * tick, 50_000 + 500 * tick) for tick in range(40)])[-1]
    assert told is not None
    assert told.falls == pytest.approx(-100)


def test_ends_that_are_looked_at_less_often_do_not_shake_it() -> None:
    """Ends every second, positions twice a second: single samples jump by what arrives in between."""
    steps = [(550 * tick, 100_000 + 500 * (tick - tick % 2)) for tick in range(200)]
    falls = [one.falls for one in watched(steps) if one is not None and one.falls is not None]
    assert len(falls) > 100
    assert min(falls) > 70
    assert max(falls) < 150


def test_nothing_that_moves_is_told() -> None:
    told = watched([(10, 500)] * 40)[-1]
    assert told == Backlog(left=490, most=490, falls=0.0, moves=False)


@given(st.integers(1, 1_000_000), st.floats(0, 0.9))
def test_whoever_is_less_than_a_second_behind_is_not_behind(per_tick: int, seconds: float) -> None:
    lag = int(2 * per_tick * seconds)
    assert not any(watched([(per_tick * tick, per_tick * tick + lag) for tick in range(1, 60)])[2:])


@given(st.lists(st.booleans(), min_size=20, max_size=80))
def test_records_that_come_one_by_one_make_no_bar(comes: list[bool]) -> None:
    """Each is carried before the next look, however many of them there are."""
    steps, position = [], 0
    for one in comes:
        steps += [(position, position + one), (position + one, position + one)]
        position += one
    assert not any(watched(steps))


def test_a_bar_comes_after_some_seconds_and_stays_until_it_has_caught_up() -> None:
    told = watched([(min(1_000 * tick, 30_000), 30_000) for tick in range(40)])
    shown = [one is not None for one in told]
    assert shown.index(True) == EARLY_SECONDS / TICK
    assert sum(before != after for before, after in pairwise(shown)) == 2
    assert not shown[-1]


def test_the_bar_begins_anew_after_it_has_caught_up() -> None:
    once = [(min(1_000 * tick, 30_000), 30_000) for tick in range(60)]
    again = [(30_000 + 100 * tick, 50_000) for tick in range(40)]
    last = watched(once + again)[-1]
    assert last is not None
    assert 19_000 < last.most <= 20_000


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=60))
def test_no_more_is_left_than_there_was_at_most(steps: list[tuple[int, int]]) -> None:
    position, end, ways = 0, 5_000, []
    for carried, arrived in steps:
        end += arrived
        position = min(end, position + carried)
        ways.append((position, end))
    for bounded in (False, True):
        for told in watched(ways, bounded=bounded):
            assert told is None or 0 <= told.left <= told.most


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=60))
def test_a_run_with_an_end_comes_nearer_to_it_all_the_time(carried: list[int]) -> None:
    end, position, ways = sum(carried), 0, [(0, sum(carried))]
    for one in carried:
        position += one
        ways.append((position, end))
    told = watched(ways, bounded=True)
    assert [one.left if one else 0 for one in told] == [end - at for at, _ in ways]
    assert {one.most for one in told if one} <= {end}
    assert all(one.falls >= 0 for one in told if one and one.falls is not None)


def test_a_partition_without_a_position_is_not_known_yet() -> None:
    """It may begin at its end: to count it from 0 would be a lag that falls by itself."""
    catching: Catching[str] = Catching()
    ends = {"a": 1_000, "b": 1_000_000}
    for tick in range(20):
        told = catching.saw(TICK * tick, {"a": 0}, ends)
    assert told == Backlog(1_000, 1_000, 0.0, moves=False)
    told = catching.saw(10.0, {"a": 0, "b": 999_000}, ends)
    assert told == Backlog(2_000, 2_000, None, moves=False)


def test_a_stopped_partition_is_no_progress_and_no_backlog() -> None:
    catching: Catching[str] = Catching()
    ends = {"a": 1_000, "b": 1_000}
    catching.saw(0.0, {"a": 0, "b": 0}, ends, bounded=True)
    told = catching.saw(1.0, {"a": 400, "b": 0}, ends, bounded=True)
    assert told is not None
    assert (told.left, told.most) == (1_600, 2_000)
    told = catching.saw(2.0, {"a": 400, "b": 0}, ends, {"b"}, bounded=True)
    assert told is not None
    assert (told.left, told.most, told.falls) == (600, 1_000, None)


def test_only_the_last_seconds_count() -> None:
    fast = [(5_000 * tick, 1_000_000) for tick in range(20)]
    slow = [(100_000 + 50 * tick, 1_000_000) for tick in range(int(WINDOW_SECONDS / TICK) + 2)]
    told = watched(fast + slow)[-1]
    assert told is not None
    assert told.falls == pytest.approx(100)
