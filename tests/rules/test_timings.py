"""Which topics get timings, and what a record of them says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import Place, SourcePartition
from causeway.rules.offset_runs import OffsetRun
from causeway.rules.timings import TransactionTimings, offsets_of, timings_topic

TIMINGS = TransactionTimings(
    SourcePartition("c", "orders", 3),
    Place("eu.orders", "id", 5),
    (10, 19),
    (1_000, 2_000),
    3_000,
    4_000,
    9,
    80,
)


@pytest.mark.parametrize(
    ("source", "to", "name"),
    [
        ("orders", "eu.orders", "timings_eu.orders"),
        ("orders", "timings_orders", "timings_timings_orders"),
        ("timings_orders", "eu.timings_orders", ""),
    ],
)
def test_each_destination_topic_has_one_for_timings_unless_it_has_timings_itself(
    source: str, to: str, name: str
) -> None:
    assert timings_topic(source, to) == name


def test_a_record_is_compact_json_with_the_source_partition_as_its_key() -> None:
    key, value = TIMINGS.encoded("m")
    assert key == b"c|orders|3"
    assert b" " not in value
    assert json.loads(value) == {
        "v": 1, "mirror": "m", "cluster": "c", "topic": "orders", "partition": 3, "to": "eu.orders",
        "offsets": [10, 19], "timestamps": [1_000, 2_000], "fetched": 3_000, "committed": 4_000,
        "count": 9, "bytes": 80,
    }  # fmt: skip


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_offsets_are_the_first_and_the_last_of_all_destination_partitions(
    places: list[list[int]],
) -> None:
    """By key, the records of a source partition go to several partitions, in turns."""
    at = 7
    runs: list[list[OffsetRun]] = [[] for _ in places]
    every: list[int] = []
    for turn in range(4):
        for number, lengths in enumerate(places):
            if turn < len(lengths):
                runs[number].append(OffsetRun(at, 0, lengths[turn]))
                every += range(at, at + lengths[turn])
                at += lengths[turn] + 1
    assert offsets_of(runs) == (every[0], every[-1])
