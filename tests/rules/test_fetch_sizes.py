"""Fetches grow while they fit into the budget, and shrink if they do not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from causeway.core.task_order import Limits
from causeway.rules.fetch_sizes import (
    FULL,
    SMALLEST,
    SMALLEST_FETCH,
    STEP,
    Fetched,
    RecordSize,
    at_level,
    budget,
    next_level,
    size_in_memory,
)

MIB = 1 << 20

some_limits = st.builds(
    lambda queue, records, fetch: Limits(1, 1, 1, 10, queue, records, 1_000, 1, fetch_bytes=fetch),
    st.integers(MIB, 2047 * MIB),
    st.integers(1, 10_000_000),
    st.integers(SMALLEST_FETCH, 8 * MIB),
)
levels = st.integers(FULL, SMALLEST)
windows = st.builds(
    Fetched, st.integers(1, 100), st.integers(1, 10**7), st.integers(1, 10**12), st.integers(0, 10**12)
)
PLAIN = Limits(1, 1, 1, 10, 32 * MIB, 50_000, 1_000, 1)


@given(some_limits, levels)
def test_each_level_fetches_no_more_than_the_one_before_and_full_is_the_order_limit(
    limits: Limits, level: int
) -> None:
    assert at_level(limits, FULL) == limits
    here, larger = at_level(limits, level), at_level(limits, max(FULL, level - 1))
    for name in ("fetch_bytes", "queue_records", "queue_bytes"):
        assert 0 < getattr(here, name) <= getattr(larger, name)
    assert here.fetch_bytes >= SMALLEST_FETCH


@given(levels, levels, windows, some_limits)
def test_fetches_grow_one_step_at_a_time_and_only_into_the_budget(
    level: int, largest: int, fetched: Fetched, limits: Limits
) -> None:
    chosen = next_level(level, largest, fetched, limits)
    assert FULL <= chosen <= SMALLEST
    if chosen < level:
        assert chosen == level - 1
        assert chosen >= largest
        assert fetched.ahead * STEP <= budget(limits)
    elif chosen > level:
        assert fetched.ahead > budget(limits)


@given(levels, levels, windows, some_limits)
def test_fetches_over_the_budget_shrink_until_they_fit(
    level: int, largest: int, fetched: Fetched, limits: Limits
) -> None:
    chosen = next_level(level, largest, fetched, limits)
    if fetched.ahead > budget(limits) and level < SMALLEST:
        assert chosen > level
        assert chosen == SMALLEST or fetched.ahead // STEP ** (chosen - level) <= budget(limits)


@given(levels, st.integers(1, 10**8))
@example(0, 67_108_865)
def test_the_fetch_size_does_not_alternate_for_the_same_data(level: int, per_fetch: int) -> None:
    """With a fetch size proportional to the level, one level is final."""
    seen = [level]
    for _ in range(20):
        ahead = per_fetch * 64 // STEP ** seen[-1]
        seen.append(next_level(seen[-1], FULL, Fetched(100, 10**7, 10**12, ahead), PLAIN))
    assert len(set(seen[SMALLEST + 1 :])) == 1


@pytest.mark.parametrize("record", [200, 1_000, 100_000, 1_000_000])
def test_ordinary_records_lead_to_full_fetches(record: int) -> None:
    """A batch of a megabyte is fetched at any fetch size."""
    level = SMALLEST
    for _ in range(SMALLEST):
        limits, size = at_level(PLAIN, level), size_in_memory(record, 10, ())
        records = max(MIB, limits.fetch_bytes) // record + 1 + min(limits.queue_records, MIB // record)
        level = next_level(level, FULL, Fetched(4, 4 * records, 4 * records * size, records * size), PLAIN)
    assert level == FULL


def test_a_low_rate_keeps_small_fetches() -> None:
    assert next_level(SMALLEST, FULL, Fetched(5, 5, 5_000, 1_000), PLAIN) == SMALLEST


def test_a_single_sample_changes_nothing() -> None:
    assert next_level(SMALLEST, FULL, Fetched(1, 10_000, 10 * MIB, MIB), PLAIN) == SMALLEST


def test_headers_and_the_record_itself_count() -> None:
    empty = size_in_memory(0, 0, ())
    assert empty > 0
    assert size_in_memory(5, 3, [(2, 1_000_000)]) >= empty + 5 + 3 + 2 + 1_000_000


@given(st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=8), min_size=1, max_size=30))
def test_the_mean_size_lies_between_the_samples(takes: list[list[int]]) -> None:
    size = RecordSize()
    for samples in takes:
        size = size.and_then(samples)
    every = [sample for samples in takes for sample in samples]
    assert min(every) - 1 <= size.mean <= max(every) + 1


def test_the_mean_follows_the_records_that_came_last() -> None:
    size = RecordSize()
    for _ in range(100):
        size = size.and_then([1_000] * 8)
    assert size.mean == 1_000
    assert size.and_then([1_000_000] * 8).mean > 50_000
    assert RecordSize().mean == 0
