"""Whether a run with an end has anything left to do or to judge. The destination is stood in for."""

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
    """What its logs' ends are; a partition that nobody leads has none."""

    def __init__(self, ends: dict[tuple[str, int], int]) -> None:
        self._ends = ends

    def offsets(self, partitions: Iterable[tuple[str, int]], at: str) -> dict[tuple[str, int], int]:
        asked = list(partitions)
        assert at == "latest"
        assert all(number >= 0 for _, number in asked), "no such partition"
        return {one: self._ends[one] for one in asked if one in self._ends}


def done(position: Position | None, end: int | None, lane: Lane = LANE, gone: bool = False) -> bool:
    lanes = (lane, Lane(EMPTY, "e", Place("empty", "e", 0), until=None))
    plan = Plan(lanes, (), {}, frozenset([SOURCE] if gone else []))
    positions = {} if position is None else {SOURCE: position}
    ends = {} if end is None else {("t", 3): end}
    return nothing_left(plan, positions, {SOURCE: 100, EMPTY: 0}, cast(ClusterView, Destination(ends)))


@pytest.mark.parametrize("end", [115, 116, 4_000])
def test_what_is_carried_and_still_there_needs_no_look(end: int) -> None:
    assert done(AT_END, end)


@pytest.mark.parametrize("end", [0, 114, None])
def test_a_destination_that_lost_its_end_or_does_not_answer_is_judged(end: int | None) -> None:
    assert not done(AT_END, end)


@pytest.mark.parametrize("partition", [3, BY_KEY])
def test_where_no_end_is_known_none_is_asked_for(partition: int) -> None:
    """Nothing was delivered there, or keys chose the partition."""
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
def test_whatever_does_not_stand_at_its_end_in_its_topics_is_carried_or_judged(
    position: Position | None,
) -> None:
    assert not done(position, 4_000)


def test_topics_that_are_gone_are_judged() -> None:
    assert not done(AT_END, 115, gone=True)
