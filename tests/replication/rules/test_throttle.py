from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from causeway.replication.rules.throttle import BURST_SECONDS, Throttle

rates = st.floats(0.5, 1e6)
pauses = st.floats(0, 0.5)
sizes = st.integers(0, 100_000)


@given(rates, st.lists(st.tuples(pauses, st.floats(0, 1)), min_size=1, max_size=60))
def test_records_stay_under_the_limit(rate: float, steps: list[tuple[float, float]]) -> None:
    """At any demand: never more than the elapsed time allows, plus one burst."""
    throttle, now, taken = Throttle(rate, 0.0), 100.0, 0
    for pause, greed in steps:
        now += pause
        take = int(throttle.room(now) * greed)
        throttle.took(take, 0)
        taken += take
        assert taken <= rate * (now - 100.0) + max(1.0, rate * BURST_SECONDS) + 1e-6


@given(rates, st.lists(st.tuples(pauses, sizes), min_size=1, max_size=60))
def test_bytes_stay_under_the_limit_but_for_the_last_record(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    throttle, now, taken = Throttle(0.0, rate), 0.0, 0
    for pause, size in steps:
        now += pause
        if throttle.room(now) > 0:
            assert taken <= rate * now + rate * BURST_SECONDS + 1e-6
            throttle.took(1, size)
            taken += size


@given(rates, rates, st.integers(1, 1000), sizes)
def test_after_the_wait_the_limit_allows_more(records: float, size: float, count: int, taken: int) -> None:
    throttle = Throttle(records, size)
    throttle.room(0.0)
    throttle.took(count, taken)
    assert throttle.room(throttle.wait() * 1.001 + 1e-6) >= 1


def test_idle_time_is_not_saved_up() -> None:
    throttle = Throttle(100.0, 1_000.0)
    throttle.room(0.0)
    assert throttle.room(3_600.0) == 10
    throttle.took(1, 101)
    assert throttle.room(3_600.0) == 0


def test_without_limits_nothing_waits() -> None:
    throttle = Throttle(0.0, 0.0)
    throttle.took(10**9, 10**12)
    assert throttle.room(0.0) == sys.maxsize
    assert throttle.wait() == 0.0
