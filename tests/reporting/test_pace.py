from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.progress import Backlog, MirrorProgress
from causeway.reporting.pace import LONGEST_SECONDS, ProgressRate, backlog_text, bar_of, time_left

counts = st.integers(0, 10**12)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s left"),
        (12, "12 s left"),
        (90, "90 s left"),
        (91, "2 min left"),
        (179, "3 min left"),
        (90 * 60, "90 min left"),
        (90 * 60 + 1, "1 h 31 min left"),
        (2 * 3_600, "2 h left"),
        (47.5 * 3_600, "47 h 30 min left"),
        (50 * 3_600, "2 d 2 h left"),
        (72 * 3_600, "3 d left"),
    ],
)
def test_time_left_as_text(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


@given(st.floats(0, LONGEST_SECONDS))
def test_time_left_is_never_more_than_an_hour_too_short(seconds: float) -> None:
    sizes = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
    said = sum(int(n) * sizes[unit] for n, unit in re.findall(r"(\d+) (s|min|h|d)\b", time_left(seconds)))
    assert seconds - 3_600 < said < seconds + 3_600
    assert said >= seconds or seconds > 2 * 86_400 - 60


@pytest.mark.parametrize(
    ("backlog", "text"),
    [
        (Backlog(1_200, 5_000, 100.0), "12 s left"),
        (Backlog(1_200, 5_000, -1.0), "lag grows"),
        (Backlog(1_200, 5_000, -1.0, moves=False), "lag grows"),
        (Backlog(1_200, 5_000, 0.0, moves=False), "no progress"),
        (Backlog(1_200, 5_000, 0.0), "lag constant"),
        (Backlog(10**9, 10**9, 0.1), "lag constant"),
        (Backlog(1_200, 5_000, None), ""),
        (Backlog(1_200, 5_000, 0.0, moves=False, bounded=True), "no progress"),
    ],
)
def test_the_backlog_as_text(backlog: Backlog, text: str) -> None:
    assert backlog_text(backlog) == text


@given(counts, counts, st.none() | st.floats(-1e9, 1e9), st.booleans(), st.booleans())
def test_whatever_the_numbers_are_there_is_a_bar(
    left: int, done: int, falls: float | None, moves: bool, bounded: bool
) -> None:
    backlog = Backlog(left, left + done, falls, moves=moves, bounded=bounded)
    bar = bar_of(MirrorProgress("m", "running", (), 1, backlog))
    assert bar is not None
    assert 0 <= bar.share <= 1
    assert ("left" in bar.left) <= (falls is not None and falls > 0)


@pytest.mark.parametrize("state", ["starting", "paused", "done", "stopped", "failed"])
def test_a_mirror_that_does_not_run_has_no_bar(state: str) -> None:
    assert bar_of(MirrorProgress("m", state, (), 1, Backlog(10, 10, 1.0))) is None


def test_only_finished_work_shows_a_hundred_percent() -> None:
    bar = bar_of(MirrorProgress("m", "running", (), 1, Backlog(1, 1_000_000, 1.0)))
    assert bar is not None
    assert bar.percent == "99 %"


def test_progress_has_a_rate_and_the_time_left() -> None:
    pace = ProgressRate()
    pace.update(10.0, 0, 8_000)
    assert pace.text(11.0) == "0 of 8,000 offsets"
    pace.update(14.0, 2_000, 8_000)
    assert pace.text(14.0) == "2,000 of 8,000 offsets, 500/s, 12 s left"
    assert pace.text(18.0) == "2,000 of 8,000 offsets, 500/s, 8 s left"
    pace.update(26.0, 8_000, 8_000)
    assert pace.text(26.0) == "8,000 of 8,000 offsets, 500/s"


def test_an_overdue_piece_takes_as_long_again() -> None:
    pace = ProgressRate()
    pace.update(0.0, 0, 200)
    pace.update(10.0, 100, 200)
    assert pace.left(14.0) == 6.0
    assert pace.left(70.0) == 60.0


def test_new_work_starts_over() -> None:
    pace = ProgressRate()
    pace.update(0.0, 0, 100)
    pace.update(1.0, 100, 100)
    pace.update(50.0, 0, 100)
    pace.update(60.0, 50, 100)
    assert pace.text(60.0) == "50 of 100 offsets, 5/s, 10 s left"
    pace.update(61.0, 0, 0)
    assert pace.text(61.0) == ""


@given(st.lists(st.tuples(st.floats(0, 100), counts, counts), max_size=30))
def test_time_left_is_never_negative(seen: list[tuple[float, int, int]]) -> None:
    pace, now = ProgressRate(), 0.0
    for seconds, done, more in seen:
        now += seconds
        pace.update(now, done, done + more)
        left = pace.left(now)
        assert left is None or left >= 0
        pace.text(now)
