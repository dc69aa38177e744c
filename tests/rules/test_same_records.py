"""Two nodes have the same records where both were read, or the first difference is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import KnownRecord
from causeway.rules.same_records import LogComparison, compare_logs

LOGS = st.dictionaries(st.integers(0, 20), st.sampled_from("ab"), max_size=12)


def log(records: dict[int, str]) -> list[KnownRecord]:
    return [KnownRecord(offset, records[offset]) for offset in sorted(records)]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({3: "a", 4: "b"}, ""),
        ({3: "a", 4: "x"}, "has another record at offset 4 than n1"),
        ({3: "a"}, "has no record at offset 4, where n1 has one"),
        ({2: "a", 3: "a", 4: "b"}, "has a record at offset 2, where n1 has none"),
        ({}, "has no record at offset 3, where n1 has one"),
    ],
)
def test_the_first_difference_is_named(other: dict[int, str], difference: str) -> None:
    assert compare_logs(log({3: "a", 4: "b"}), log(other), "n1").difference == difference


@given(LOGS, LOGS, st.booleans())
def test_logs_are_equal_or_differ(first: dict[int, str], other: dict[int, str], compacted: bool) -> None:
    both = first.keys() & other.keys()
    same = all(first[offset] == other[offset] for offset in both)
    found = compare_logs(log(first), log(other), "n1", compacted=compacted)
    assert (found.difference == "") == (same and (compacted or first.keys() == other.keys()))
    if not found.difference:
        assert found == LogComparison(len(both))
