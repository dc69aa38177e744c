"""Percentiles, medians, spreads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Spread, percentile, percentiles, spread


def test_percentiles_are_nearest_ranks() -> None:
    values = [float(number) for number in range(1, 1001)]
    assert percentiles(values) == {"p50": 500, "p90": 900, "p99": 990, "p99_9": 999}


def test_a_few_values_have_the_highest_as_their_p99() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([7.0], 0.001) == 7.0


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0.001, 1))
def test_at_least_that_share_lies_at_or_below(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= round(share * len(values), 6) - 1e-6


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="not a share"):
        percentile([1.0], share)


def test_a_spread_has_median_and_extremes() -> None:
    assert spread([30.0, 10.0, 20.0]) == Spread(20.0, 10.0, 30.0, 3)
    assert spread([10.0, 20.0]).median == 15.0


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="nothing"):
        spread([])
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)
