"""Transactions start small, grow under load, shrink on a slow link, and never get stuck."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.replication.rules.pacing import FIRST_BYTES, FIRST_RECORDS, Pace, first_pace, next_pace

TIMEOUT = 15.0

limits = st.tuples(st.integers(1, 10_000_000), st.integers(1, 2**31))
steps = st.lists(st.tuples(st.integers(0, 10_000_000), st.integers(0, 2**33), st.floats(0, 100)), max_size=60)


def first(max_records: int = 100_000, max_bytes: int = 32 * 1024 * 1024, fruitless: int = 0) -> Pace:
    return first_pace(max_records, max_bytes, 1.0, TIMEOUT, fruitless)


@dataclass(frozen=True)
class Link:
    """A link under load: an endless backlog of records of one size."""

    latency: float  # seconds
    speed: float  # bytes a second
    record: int  # bytes

    def records(self, pace: Pace) -> int:
        """How many records are in the transaction when it is full."""
        return min(pace.records, -(-pace.bytes // self.record))

    def flush(self, pace: Pace) -> float:
        return self.latency + self.records(pace) * self.record / self.speed

    @property
    def bears_a_record(self) -> bool:
        return self.latency + self.record / self.speed <= TIMEOUT


def serve(links: list[Link], pace: Pace) -> tuple[list[bool], Pace]:
    """A transaction on each link in turn; a flush after the timeout fails, and a new attempt begins."""
    committed: list[bool] = []
    fruitless = 0
    for link in links:
        seconds = link.flush(pace)
        if seconds > TIMEOUT:
            fruitless += 1
            pace = first(pace.max_records, pace.max_bytes, fruitless)
        else:
            fruitless = 0
            records = link.records(pace)
            pace = next_pace(pace, records, records * link.record, seconds)
        committed.append(seconds <= TIMEOUT)
    return committed, pace


links = st.builds(
    Link,
    latency=st.floats(0, 2),
    speed=st.floats(1_000, 1e10),
    record=st.integers(1, 8_000_000),
).filter(lambda link: link.bears_a_record)


@given(limits, steps, st.integers(0, 40))
def test_never_above_the_limits_and_never_zero(
    most: tuple[int, int], transactions: list[tuple[int, int, float]], fruitless: int
) -> None:
    pace = first(*most, fruitless)
    for records, size, seconds in [(0, 0, 0.0), *transactions]:
        pace = next_pace(pace, records, size, seconds)
        assert 1 <= pace.records <= most[0]
        assert 1 <= pace.bytes <= most[1]
        assert (pace.max_records, pace.max_bytes) == most


@given(limits)
def test_every_attempt_starts_small(most: tuple[int, int]) -> None:
    pace = first(*most)
    assert pace.records == min(FIRST_RECORDS, most[0])
    assert pace.bytes == min(FIRST_BYTES, most[1])


@given(limits, st.integers(0, 40))
def test_an_attempt_after_a_fruitless_one_starts_smaller(most: tuple[int, int], fruitless: int) -> None:
    before, after = first(*most, fruitless), first(*most, fruitless + 1)
    assert after.records <= max(1, before.records // 2)
    assert after.bytes <= max(1, before.bytes // 2)


@given(limits)
def test_grows_to_the_limits_under_load(most: tuple[int, int]) -> None:
    pace = first(*most)
    for _ in range(40):
        pace = next_pace(pace, pace.records, pace.bytes, 0.001)
    assert (pace.records, pace.bytes) == most


def test_light_load_does_not_grow() -> None:
    pace = first()
    for _ in range(100):
        pace = next_pace(pace, 1, 100, 0.001)
    assert pace == first()


@given(limits, steps, st.integers(0, 10_000_000), st.integers(0, 2**33), st.floats(0.001, 100))
def test_a_slow_flush_shrinks(
    most: tuple[int, int],
    transactions: list[tuple[int, int, float]],
    records: int,
    size: int,
    too_long: float,
) -> None:
    pace = first(*most)
    for transaction in transactions:
        pace = next_pace(pace, *transaction)
    after = next_pace(pace, records, size, TIMEOUT / 4 + too_long)
    assert after.records <= max(1, min(records, pace.records) // 2)
    assert after.bytes <= max(1, min(size, pace.bytes) // 2)


@given(links)
def test_a_link_of_any_speed_fails_a_few_times_and_then_never(link: Link) -> None:
    committed, pace = serve([link] * 60, first())
    failures = committed.index(True)
    assert failures <= 6
    assert all(committed[failures:])
    assert link.flush(pace) <= max(TIMEOUT / 4, link.latency + link.record / link.speed)


@given(links)
def test_a_link_of_any_speed_is_well_utilized(link: Link) -> None:
    """In steady state the transaction has its maximum size, or the flush takes a fair part of its budget."""
    _, pace = serve([link] * 60, first())
    at_limit = pace.records == pace.max_records or pace.bytes == pace.max_bytes
    assert at_limit or link.flush(pace) >= TIMEOUT / 16


@given(st.lists(links, min_size=1, max_size=12))
def test_however_the_link_changes_there_are_never_many_failures_in_a_row(kinds: list[Link]) -> None:
    committed, _ = serve([link for link in kinds for _ in range(12)], first())
    runs = "".join("." if fine else "F" for fine in committed)
    assert "FFFFFFF" not in runs


@pytest.mark.parametrize(
    ("records", "size", "seconds", "full"),
    [
        (999, 100, 0.0, False),
        (1_000, 100, 0.0, True),
        (1, FIRST_BYTES - 1, 0.0, False),
        (1, FIRST_BYTES, 0.0, True),
        (1, 1, 0.99, False),
        (1, 1, 1.0, True),
    ],
)
def test_a_transaction_is_full_by_records_bytes_or_time(
    records: int, size: int, seconds: float, full: bool
) -> None:
    assert first().full(records, size, seconds) is full
