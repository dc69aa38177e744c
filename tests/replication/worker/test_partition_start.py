"""Which lanes may go on: what the ledger said of a partition before, and what the brokers say now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.ledger_record import Stopped
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, Policies
from causeway.replication.worker.partition_start import PartitionStarts, open_lanes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.holes import Hole
from causeway.rules.integrity import NO_TOPIC_ID, LogFacts
from causeway.rules.unreadable import LOOKS, UnreadableLog
from support.plain_order import plain_order

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "there", 0)
LANE = Lane(SOURCE, "id", PLACE, None)
CARRIED = Position(SOURCE, "id", 0, 50, 7, PLACE, 0, 50, 1, 0, seen=48)
CUT = Stopped(*SOURCE, verdict="truncated", what="cut", todo="", at=1, expected=50, found=40, gone=10)
ORDER = plain_order(LANE)


class Sight:
    """Both sides, as they are asked before a lane is opened."""

    def __init__(self, log_start: int, log_end: int) -> None:
        self.waiting = {SOURCE: LANE}
        self._found = LogFacts("id", log_start, log_end, "there")

    def describe(self, _topics: Any, **_how: Any) -> dict[str, Any]:
        return {}

    def offsets(self, _spots: Any, _which: str) -> dict[Any, int]:
        return {}

    def log_facts(self, *_known: Any) -> dict[SourcePartition, LogFacts]:
        return {SOURCE: self._found}


def opened(
    position: Position,
    before: Stopped | None,
    log_start: int = 0,
    memory: TaskState | None = None,
    **policy: Any,
) -> PartitionStarts:
    sight: Any = Sight(log_start, 90)
    known = {SOURCE: before} if before else {}
    return open_lanes(
        replace(ORDER, policies=Policies(**policy)),
        sight,
        sight,
        {SOURCE: position},
        known,
        memory or TaskState(),
    )


def test_a_log_that_was_cut_and_has_grown_again_is_compared_before_it_counts_as_the_old_one() -> None:
    found = opened(CARRIED, CUT)
    assert [lane.fetch_from for lane in found.lanes] == [(47, 7)]
    assert not found.records, "the verdict holds until the record was seen"
    assert [one.verdict for one in found.doubtful[SOURCE] if isinstance(one, Stopped)] == [""]


@pytest.mark.parametrize(
    ("position", "log_start"),
    [(replace(CARRIED, epoch=-1), 0), (CARRIED, 48)],
    ids=["without an epoch", "taken by retention"],
)
def test_where_nothing_can_be_compared_a_log_that_was_cut_stays_stopped(
    position: Position, log_start: int
) -> None:
    """What was written between the cut and the position would never be carried, and nobody would say so."""
    found = opened(position, CUT, log_start)
    assert not found.lanes
    assert found.closed == [SOURCE]
    (record,) = found.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.what, record.expected, record.gone) == ("truncated", "cut", 50, 10)
    assert opened(position, None, log_start).lanes, "without that verdict it goes on"
    other = replace(CUT, verdict="destination-truncated")
    assert opened(position, other, log_start).lanes


def test_a_policy_that_goes_on_behind_a_gap_clears_what_was_said_before() -> None:
    found = opened(CARRIED, CUT, 60, on_gap="continue")
    assert [lane.next for lane in found.lanes] == [60]


DAMAGED = Stopped(*SOURCE, verdict="corrupt", what="damaged", todo="", at=1, expected=50)


def unread(times: int, offset: int = 50) -> TaskState:
    return TaskState(unreadable={SOURCE: UnreadableLog(offset, times, "failed CRC32C check")})


def test_what_cannot_be_read_is_tried_a_few_times_and_then_stops_the_partition() -> None:
    assert opened(CARRIED, None, memory=unread(LOOKS - 1)).lanes
    memory = unread(LOOKS)
    found = opened(CARRIED, None, memory=memory)
    assert not found.lanes
    assert found.closed == [SOURCE]
    (record,) = found.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.expected, record.topic_id) == ("corrupt", 50, "id")
    assert "failed CRC32C check" in record.what
    assert memory.stopped[SOURCE].verdict == "corrupt"


def test_a_later_start_tries_again_once_and_says_so_as_soon_as_it_can_be_read() -> None:
    found = opened(CARRIED, DAMAGED)
    assert found.lanes
    assert not found.records, "the verdict holds until it was read"
    assert [one.verdict for one in found.doubtful[SOURCE] if isinstance(one, Stopped)] == [""]
    assert opened(CARRIED, DAMAGED, memory=unread(1)).closed == [SOURCE]


def test_behind_what_was_passed_over_nothing_is_remembered_of_it() -> None:
    """By a policy here: retention took what was damaged. The same offset may be one of another log now."""
    memory = unread(LOOKS, 60)
    assert opened(CARRIED, DAMAGED, 60, memory, on_gap="continue").lanes
    assert not memory.unreadable


LOST = Stopped(*SOURCE, verdict="gap", what="lost", todo="", at=1, expected=50, found=60, gone=10)


def test_what_the_source_lost_stops_the_lane_before_it() -> None:
    found = opened(CARRIED, None, memory=TaskState(holes={SOURCE: Hole(50, 60)}))
    assert found.closed == [SOURCE]
    (record,) = found.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.expected, record.found, record.gone) == ("gap", 50, 60, 10)
    (lane,) = opened(CARRIED, None, memory=TaskState(holes={SOURCE: Hole(55, 60)})).lanes
    assert (lane.hole_start, lane.limit) == (55, 55)
    (lane,) = opened(CARRIED, None, memory=TaskState(holes={SOURCE: Hole(45, 50)})).lanes
    assert lane.hole is None, "an operator has moved on"
    known = TaskState(holes={SOURCE: Hole(50, 60)})
    assert opened(CARRIED, LOST, memory=known, on_gap="continue").lanes


@pytest.mark.parametrize("still", [True, False])
def test_a_later_start_looks_whether_it_is_still_lost(monkeypatch: pytest.MonkeyPatch, still: bool) -> None:
    monkeypatch.setattr("causeway.replication.worker.partition_start.is_still_lost", lambda *_: still)
    monkeypatch.setattr(Sight, "view", None, raising=False)
    found = opened(CARRIED, LOST)
    assert (found.closed == [SOURCE]) is still
    assert [one.verdict for one in found.records if isinstance(one, Stopped)] == ["gap" if still else ""]


def test_of_another_topic_of_the_name_nothing_is_lost() -> None:
    memory = TaskState(holes={SOURCE: Hole(70, 80)})
    (lane,) = opened(CARRIED, None, 60, memory, on_gap="continue").lanes
    assert (lane.hole, memory.holes) == (None, {})


def test_a_position_that_was_begun_without_topic_ids_gets_them_before_the_first_fetch() -> None:
    """Otherwise every later topic of the name would pass for the one that was carried."""
    nameless = replace(CARRIED, topic_id=NO_TOPIC_ID, place=PLACE._replace(topic_id=NO_TOPIC_ID))
    found = opened(nameless, None)
    (lane,) = found.lanes
    (record,) = found.records
    assert record == lane.position
    assert (lane.position.topic_id, lane.position.place) == ("id", PLACE)
    assert (lane.position.place_start, lane.position.place_end) == (0, 50), "its place is still the same"
    assert opened(CARRIED, None).records == []
