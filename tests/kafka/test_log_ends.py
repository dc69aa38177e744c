"""Whether a run with --stop-at-end has anything left to replicate or to judge. The destination is a fake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import pytest

from causeway.core.plan import Plan
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.kafka.admin import ClusterView
from causeway.kafka.log_ends import nothing_left

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "there", 3)
LANE = Lane(SOURCE, "here", PLACE, until=None)
AT_END = Position(SOURCE, "here", 0, 100, 0, PLACE, 7, 115, 1, 0)
EMPTY = SourcePartition("c", "empty", 0)


class Destination:
    """Returns log ends; a partition without a leader has none."""

    def __init__(self, ends: dict[tuple[str, int], int]) -> None:
        self._ends = ends

    def offsets(self, partitions: Iterable[tuple[str, int]], at: str) -> dict[tuple[str, int], int]:
        asked = list(partitions)
        assert at == "latest"
        assert all(number >= 0 for _, number in asked), "no such partition"
        return {partition: self._ends[partition] for partition in asked if partition in self._ends}


def done(position: Position | None, end: int | None, lane: Lane = LANE, gone: bool = False) -> bool:
    lanes = (lane, Lane(EMPTY, "e", Place("empty", "e", 0), until=None))
    plan = Plan(lanes, (), {}, frozenset([SOURCE] if gone else []))
    positions = {} if position is None else {SOURCE: position}
    ends = {} if end is None else {("t", 3): end}
    return nothing_left(plan, positions, {SOURCE: 100, EMPTY: 0}, cast(ClusterView, Destination(ends)))


@pytest.mark.parametrize("end", [115, 116, 4_000])
def test_a_replicated_partition_that_still_exists_needs_no_task(end: int) -> None:
    assert done(AT_END, end)


@pytest.mark.parametrize("end", [0, 114, None])
def test_a_destination_that_lost_its_end_or_does_not_respond_is_judged(end: int | None) -> None:
    assert not done(AT_END, end)


@pytest.mark.parametrize("partition", [3, BY_KEY])
def test_without_a_known_end_none_is_requested(partition: int) -> None:
    """Nothing was delivered there, or the partition depends on the key."""
    place = PLACE._replace(partition=partition)
    assert done(replace(AT_END, place=place, place_end=-1), None, replace(LANE, place=place))


@pytest.mark.parametrize(
    "position",
    [
        None,
        replace(AT_END, offset=99),
        replace(AT_END, offset=101),
        replace(AT_END, topic_id="another"),
        replace(AT_END, place=PLACE._replace(topic_id="another")),
        replace(AT_END, place=PLACE._replace(partition=2)),
    ],
)
def test_a_partition_that_is_not_at_its_end_in_the_same_topics_is_replicated_or_judged(
    position: Position | None,
) -> None:
    assert not done(position, 4_000)


def test_deleted_topics_are_judged() -> None:
    assert not done(AT_END, 115, gone=True)
