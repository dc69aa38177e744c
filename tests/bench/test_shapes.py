"""Which records, and in which order systems run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.scale import FULL, MEASURES, QUICK, WHOLE, rotated
from bench.shapes import CENTRE, Shape, around, combinations, records_of


def factors(shape: Shape) -> tuple[object, ...]:
    return shape.size, shape.headers, shape.compression, shape.partitions


def test_one_factor_changes_at_a_time() -> None:
    assert around()[0] == CENTRE
    for shape in around()[1:]:
        assert sum(a != b for a, b in zip(factors(shape), factors(CENTRE), strict=True)) == 1


def test_all_combinations_are_there_once_with_the_centre_first() -> None:
    every = combinations()
    assert every[0] == CENTRE
    assert len(set(every)) == len(every) == 4 * 2 * 2 * 3
    assert set(around()) <= set(every)
    assert len({shape.name for shape in every}) == len(every)


@given(st.integers(0, 10_000), st.integers(1, 64))
def test_every_record_has_a_partition(records: int, partitions: int) -> None:
    counts = Shape(partitions=partitions).counts(records)
    assert len(counts) == partitions
    assert sum(counts) == records
    assert max(counts) - min(counts) <= 1


def test_large_records_are_fewer() -> None:
    assert records_of(CENTRE, 4_000_000, 2_000) == 4_000_000
    assert records_of(Shape(size=10_000), 4_000_000, 2_000) == 200_000


def test_each_begins_once_before_anyone_begins_again() -> None:
    systems = ["a", "b", "c"]
    assert [rotated(systems, number) for number in range(4)] == [
        ["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"],
    ]  # fmt: skip
    assert rotated([], 3) == []


def test_the_scales_say_what_they_promise() -> None:
    assert QUICK.shapes == (CENTRE,)
    assert WHOLE.rounds >= 3
    assert WHOLE.measures == MEASURES
    assert set(WHOLE.shapes) < set(FULL.shapes)
