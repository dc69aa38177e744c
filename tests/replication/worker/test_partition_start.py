"""Which partitions may continue: the ledger's earlier verdict, and the brokers' facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from causeway.core.ledger_record import Stopped
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, Policies
from causeway.core.topic import NO_TOPIC_ID
from causeway.replication.worker.partition_start import PartitionStarts, open_lanes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.holes import Hole
from causeway.rules.integrity import LogFacts
from causeway.rules.unreadable import LOOKS, UnreadableLog
from support.plain_order import plain_order

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "there", 0)
LANE = Lane(SOURCE, "id", PLACE, None)
REPLICATED = Position(SOURCE, "id", 0, 50, 7, PLACE, 0, 50, 1, 0, seen=48)
TRUNCATED = Stopped(*SOURCE, verdict="truncated", what="cut", todo="", at=1, expected=50, found=40, gone=10)
ORDER = plain_order(LANE)


class BothSides:
    """Both sides, as they are read before a partition is opened."""

    node = ""  # no pool

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
    both: Any = BothSides(log_start, 90)
    known = {SOURCE: before} if before else {}
    return open_lanes(
        replace(ORDER, policies=Policies(**policy)),
        both,
        both,
        {SOURCE: position},
        known,
        memory or TaskState(),
    )


def test_a_truncated_log_that_has_grown_again_is_compared_before_it_is_accepted() -> None:
    starts = opened(REPLICATED, TRUNCATED)
    assert [state.fetch_from for state in starts.lanes] == [(47, 7)]
    assert not starts.records, "the verdict holds until the record was seen"
    assert [record.verdict for record in starts.doubtful[SOURCE] if isinstance(record, Stopped)] == [""]


@pytest.mark.parametrize(
    ("position", "log_start"),
    [(replace(REPLICATED, epoch=-1), 0), (REPLICATED, 48)],
    ids=["without an epoch", "taken by retention"],
)
def test_a_truncated_log_that_cannot_be_compared_stays_stopped(position: Position, log_start: int) -> None:
    """Records between the truncation and the position would be skipped without a report."""
    starts = opened(position, TRUNCATED, log_start)
    assert not starts.lanes
    assert starts.closed == [SOURCE]
    (record,) = starts.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.what, record.expected, record.gone) == ("truncated", "cut", 50, 10)
    assert opened(position, None, log_start).lanes, "without that verdict it continues"
    other = replace(TRUNCATED, verdict="destination-truncated")
    assert opened(position, other, log_start).lanes


def test_a_policy_that_continues_after_a_gap_clears_the_earlier_verdict() -> None:
    starts = opened(REPLICATED, TRUNCATED, 60, on_gap="continue")
    assert [state.next for state in starts.lanes] == [60]


DAMAGED = Stopped(*SOURCE, verdict="corrupt", what="damaged", todo="", at=1, expected=50)


def unread(times: int, offset: int = 50) -> TaskState:
    return TaskState(unreadable={SOURCE: UnreadableLog(offset, times, "failed CRC32C check")})


def test_an_unreadable_log_is_retried_a_few_times_and_then_stops_the_partition() -> None:
    assert opened(REPLICATED, None, memory=unread(LOOKS - 1)).lanes
    memory = unread(LOOKS)
    starts = opened(REPLICATED, None, memory=memory)
    assert not starts.lanes
    assert starts.closed == [SOURCE]
    (record,) = starts.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.expected, record.topic_id) == ("corrupt", 50, "id")
    assert "failed CRC32C check" in record.what
    assert memory.stopped[SOURCE].verdict == "corrupt"


def test_a_later_start_retries_once_and_clears_the_verdict_as_soon_as_the_log_can_be_read() -> None:
    starts = opened(REPLICATED, DAMAGED)
    assert starts.lanes
    assert not starts.records, "the verdict holds until it was read"
    assert [record.verdict for record in starts.doubtful[SOURCE] if isinstance(record, Stopped)] == [""]
    assert opened(REPLICATED, DAMAGED, memory=unread(1)).closed == [SOURCE]


def test_after_a_skip_the_read_failures_before_it_are_forgotten() -> None:
    """Here by a policy: retention deleted the damaged part. The same offset may be of another log now."""
    memory = unread(LOOKS, 60)
    assert opened(REPLICATED, DAMAGED, 60, memory, on_gap="continue").lanes
    assert not memory.unreadable


LOST = Stopped(*SOURCE, verdict="gap", what="lost", todo="", at=1, expected=50, found=60, gone=10)


def test_records_that_the_source_lost_stop_the_partition_before_them() -> None:
    starts = opened(REPLICATED, None, memory=TaskState(holes={SOURCE: Hole(50, 60)}))
    assert starts.closed == [SOURCE]
    (record,) = starts.records
    assert isinstance(record, Stopped)
    assert (record.verdict, record.expected, record.found, record.gone) == ("gap", 50, 60, 10)
    (state,) = opened(REPLICATED, None, memory=TaskState(holes={SOURCE: Hole(55, 60)})).lanes
    assert (state.hole_start, state.limit) == (55, 55)
    (state,) = opened(REPLICATED, None, memory=TaskState(holes={SOURCE: Hole(45, 50)})).lanes
    assert state.hole is None, "an operator has skipped it"
    known = TaskState(holes={SOURCE: Hole(50, 60)})
    assert opened(REPLICATED, LOST, memory=known, on_gap="continue").lanes


@pytest.mark.parametrize("still", [True, False])
def test_a_later_start_checks_whether_the_hole_is_still_lost(
    monkeypatch: pytest.MonkeyPatch, still: bool
) -> None:
    monkeypatch.setattr("causeway.replication.worker.partition_verdict.is_still_lost", lambda *_: still)
    monkeypatch.setattr(BothSides, "view", None, raising=False)
    starts = opened(REPLICATED, LOST)
    assert (starts.closed == [SOURCE]) is still
    assert [record.verdict for record in starts.records if isinstance(record, Stopped)] == [
        "gap" if still else ""
    ]


def test_a_hole_is_forgotten_after_the_position_moved_past_the_log_start() -> None:
    memory = TaskState(holes={SOURCE: Hole(70, 80)})
    (state,) = opened(REPLICATED, None, 60, memory, on_gap="continue").lanes
    assert (state.hole, memory.holes) == (None, {})


def test_a_position_without_topic_ids_gets_them_before_the_first_fetch() -> None:
    """Otherwise any later topic of that name would count as the replicated one."""
    nameless = replace(REPLICATED, topic_id=NO_TOPIC_ID, place=PLACE._replace(topic_id=NO_TOPIC_ID))
    starts = opened(nameless, None)
    (state,) = starts.lanes
    (record,) = starts.records
    assert record == state.position
    assert (state.position.topic_id, state.position.place) == ("id", PLACE)
    assert (state.position.place_start, state.position.place_end) == (0, 50), "its place is still the same"
    assert opened(REPLICATED, None).records == []
