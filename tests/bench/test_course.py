"""The figures of a run, from what was seen of it."""

from __future__ import annotations

import pytest

from bench import course
from bench.course import Sight, TooFew


def run_of(start: float, pace: int, seconds: int, cpu: float = 0.5) -> list[Sight]:
    """Nothing until `start`, then `pace` records a second, seen ten times a second."""
    waiting = [Sight(at / 10, 0, 1.0, 100) for at in range(int(start * 10))]
    carrying = [
        Sight(start + step / 10, pace * (step + 1) // 10, 1.0 + cpu * step / 10, 200)
        for step in range(seconds * 10)
    ]
    return waiting + carrying


def test_the_start_does_not_count() -> None:
    quick, slow = (course.figures(run_of(start, 1000, 5), 200) for start in (1.0, 20.0))
    assert quick["records_per_second"] == pytest.approx(1000)
    assert slow["records_per_second"] == pytest.approx(1000)
    assert (quick["first_seconds"], slow["first_seconds"]) == (1.0, 20.0)


def test_bytes_follow_the_size() -> None:
    assert course.figures(run_of(1, 1000, 5), 10_000)["megabytes_per_second"] == pytest.approx(10)


def test_cpu_is_that_of_the_second_half() -> None:
    warming = [Sight(0, 0, 0, 0), Sight(1, 100, 5.0, 0), Sight(2, 500, 15.0, 0)]
    steady = [Sight(3, 600, 15.1, 0), Sight(4, 900, 15.4, 0)]
    figures = course.figures([*warming, *steady], 200)
    assert figures["cpu_per_million"] == pytest.approx((15.4 - 15.0) / 400 * 1e6)
    assert figures["cpu_per_million_whole"] == pytest.approx((15.4 - 5.0) / 800 * 1e6)


def test_what_arrived_with_the_first_look_is_not_counted_as_carried_since() -> None:
    seen = [Sight(0, 0, 0, 0), Sight(1, 900, 0, 0), Sight(2, 950, 0, 0), Sight(3, 1000, 0, 0)]
    assert course.rate(course.first(seen), seen[-1]) == pytest.approx(50)


def test_all_at_once_tells_nothing() -> None:
    with pytest.raises(TooFew):
        course.figures([Sight(0, 0, 0, 0), Sight(1, 1000, 0, 0)], 200)


def test_the_steady_state_begins_behind_the_warming_up() -> None:
    slow = [Sight(5 + step / 10, 10 * (step + 1), 0, 0) for step in range(50)]  # 100/s until second 10
    fast = [Sight(10 + step / 10, 500 + 100 * (step + 1), 0, 0) for step in range(100)]  # then 1000/s
    assert course.steady_at([Sight(0, 0, 0, 0), *slow, *fast]) == pytest.approx(9.8, abs=0.3)
    assert course.steady_at(run_of(3, 1000, 5)) == pytest.approx(3, abs=0.2)


def test_memory_is_the_highest_sum() -> None:
    seen = [Sight(0, 0, 0, 900_000_000), Sight(1, 10, 0, 1), Sight(2, 20, 0, 1), Sight(3, 30, 0, 1)]
    assert course.figures(seen, 200)["memory_megabytes"] == 900


def test_a_thinned_course_keeps_its_end() -> None:
    seen = run_of(1, 1000, 60)
    thin = course.thinned(seen, 50)
    assert len(thin) <= 51
    assert thin[-1] == seen[-1]
    assert course.thinned(seen[:7], 50) == seen[:7]
