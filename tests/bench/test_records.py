"""Records made from their number, and records that carry the sender's clock."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load import _share, number_of, value
from bench.measures.growth import BUSY, idle_topics
from bench.measures.latency import figures, pauses
from bench.shapes import SIZES
from bench.traffic import Trip, clock_of, due, stamped
from bench.watch import last_numbers


@pytest.mark.parametrize("size", SIZES)
def test_a_value_has_its_size_and_its_number(size: int) -> None:
    for number in (0, 1, 999_999, 87_654_321):
        assert len(value(number, size)) == size
        assert number_of(value(number, size)) == number
    assert value(5, size) == value(5, size) != value(6, size)


def test_a_stamped_value_keeps_size_and_number() -> None:
    clock = 1_900_000_000_123_456_789
    assert clock_of(stamped(42, 200, clock)) == clock
    assert number_of(stamped(42, 200, clock)) == 42
    assert len(stamped(42, 200, clock)) == 200


@given(st.integers(0, 500), st.integers(1, 9), st.integers(1, 4))
def test_processes_share_all_records_and_keep_each_partitions_order(
    records: int, partitions: int, workers: int
) -> None:
    found: dict[int, list[int]] = defaultdict(list)
    for worker in range(workers):
        mine = set()
        for number, partition in _share(records, partitions, worker, workers):
            found[partition].append(number)
            mine.add(partition)
        assert not mine & {
            partition
            for other in range(workers)
            if other != worker
            for _, partition in _share(records, partitions, other, workers)
        }
    assert {partition: numbers for partition, numbers in found.items() if numbers} == {
        partition: list(range(partition, records, partitions))
        for partition in range(partitions)
        if partition < records
    }


def test_the_last_record_of_each_partition_is_known() -> None:
    assert last_numbers([3, 3, 2]) == [6, 7, 5]
    assert last_numbers([1, 0]) == [0, -1]


def test_a_pace_is_kept_and_ends() -> None:
    assert [due(at, 100, 2.0) for at in (0, 0.005, 0.01, 1.0, 2.0, 9.0)] == [0, 0, 1, 100, 200, 200]


def test_the_first_seconds_do_not_count() -> None:
    slow = [Trip(second * 10**9, 900_000_000) for second in range(5)]
    fast = [Trip((5 + second) * 10**9, 2_000_000) for second in range(10)]
    assert figures(slow + fast, 5.0)["longest"] == 2.0
    assert figures(slow + fast, 0)["longest"] == 900.0
    assert figures(slow + fast, 5.0)["counted"] == 10


def test_each_slice_has_one_pause_and_a_part_of_a_slice_has_none() -> None:
    trips = [Trip(tenth * 10**8, 1_000_000) for tenth in range(350)]  # 35 s
    for at, took in ((70, 200), (120, 150), (230, 300), (349, 999)):
        trips[at] = Trip(at * 10**8, took * 1_000_000)
    assert pauses(trips, 5.0, 10.0) == [200.0, 300.0]
    assert pauses(trips, 0.0, 10.0) == [200.0, 150.0, 300.0]


@pytest.mark.parametrize("partitions", [10, 100, 1_000, 5_000, 54, 4])
def test_idle_topics_make_up_the_number(partitions: int) -> None:
    assert sum(idle_topics(partitions, "x").values()) + BUSY == partitions
