"""How a partition's state changes: records replicated, filtered, quarantined, or where none may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.kafka.delivery_reports import Stretch
from causeway.kafka.partition_state import NEVER, PartitionState
from causeway.kafka.record_findings import no_timestamp
from causeway.kafka.task_errors import Again
from causeway.rules.holes import Hole, lost
from causeway.rules.integrity import Finding

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "id", 0)
REFUSED = Finding("poison", "refused", "", 4)


def partition_state(offset: int = 0, poison: dict[int, Finding] | None = None, **more: Any) -> PartitionState:
    position = Position(SOURCE, "id", 0, offset, -1, PLACE, 0, -1, 1, 0)
    return PartitionState(Lane(SOURCE, "id", PLACE, None), position, poison=poison, **more)


def add_record(state: PartitionState, offset: int, epoch: int) -> None:
    stretch = Stretch(offset)
    stretch.length = 1
    stretch.first = stretch.last = 100 + offset
    state.add_stretch(stretch, offset + 1, epoch, 1)


def test_a_record_that_was_produced_and_never_acknowledged_is_not_committed() -> None:
    state = partition_state()
    add_record(state, 0, 7)
    state.add_produced(1, 2, 7, 1)  # never acknowledged
    with pytest.raises(Again, match="1 of 2 records"):
        state.next_position(1)


@pytest.mark.parametrize("offset", [1, 3, 4])
def test_a_record_where_markers_were_stops_the_partition(offset: int) -> None:
    state = partition_state()
    add_record(state, 0, 7)
    state.advance_to(5)

    state.recognize(0, 7)
    assert state.finding is None, "it is the last record seen"
    state.recognize(5, 8)
    assert state.finding is None, "it is the next record"
    state.recognize(offset, 8)

    assert state.finding is not None
    assert state.finding.verdict == "truncated"
    assert f"a record at offset {offset}" in state.finding.what
    position, _ = state.next_position(1)
    assert (position.offset, position.seen, position.epoch) == (5, 1, 7)


@pytest.mark.parametrize(
    ("offset", "epoch", "stops"), [(0, 7, False), (0, 8, True), (0, 6, True), (0, None, False)]
)
def test_the_last_record_seen_must_have_its_leader_epoch(offset: int, epoch: int | None, stops: bool) -> None:
    """Its epoch shows it: a truncated log is written again by a later leader."""
    state = partition_state()
    add_record(state, 0, 7)
    state.advance_to(5)
    state.recognize(offset, epoch)
    assert (state.finding is not None) is stops
    if state.finding is not None:
        assert state.finding.verdict == "truncated"
        assert f"leader epoch {epoch}, it was of 7" in state.finding.what


def test_an_order_is_not_done_before_the_last_record_seen_was_checked() -> None:
    """A log that was rewritten up to the same end would look as if nothing were left to replicate."""

    def ordered() -> PartitionState:
        state = partition_state(5, fetch_from=(4, 7))
        state.lane = replace(state.lane, until=5)
        state.epoch = 7
        return state

    assert not ordered().done
    for_sure = ordered()
    for_sure.recognize(4, 7)
    assert for_sure.done
    gone = ordered()
    gone.advance_to(5)
    assert gone.finding is not None, "the log continues without it"
    assert not gone.done, "the source is checked first"
    other = ordered()
    other.recognize(4, 8)
    assert other.done
    assert other.finding is not None


def resumed(validated: bool = False) -> PartitionState:
    """Replicated up to 8: the record at 4 was the last one seen, and markers come after it."""
    position = replace(partition_state(8).position, epoch=7, seen=5)
    return PartitionState(partition_state().lane, position, fetch_from=(5 if validated else 4, 7))


@pytest.mark.parametrize("first", [5, 6, 8, 20])
def test_the_last_record_seen_comes_first_or_its_log_was_truncated(first: int) -> None:
    """A marker or an aborted record in its place never comes: the next record does, wherever that is."""
    state = resumed()
    state.recognize(first, 9)
    assert state.finding is not None
    assert (state.finding.verdict, state.finding.expected) == ("truncated", 8)
    assert "the record at offset 4, the last one seen, no longer exists" in state.finding.what
    assert (state.absent, state.done, state.next) == (True, False, 8)
    state.advance_to(30)
    assert state.next == 8


@pytest.mark.parametrize(("end", "stops"), [(4, False), (5, True), (8, True), (30, True)])
def test_an_end_after_the_last_record_seen_is_no_substitute_for_it(end: int, stops: bool) -> None:
    state = resumed()
    state.advance_to(end)
    assert (state.finding is not None, state.absent) == (stops, stops)
    assert (state.recognized, state.next) == (False, 8)


def test_after_the_last_record_seen_came_everything_after_it_counts() -> None:
    state = resumed()
    state.recognize(4, 7)
    assert state.recognized
    state.advance_to(9)
    assert (state.finding, state.next) == (None, 9)


def test_on_a_compacted_topic_the_client_validates_and_any_next_record_is_accepted() -> None:
    state = resumed(validated=True)
    assert (state.validated, state.done) == (True, False)
    state.recognize(8, 9)
    assert (state.finding, state.recognized) == (None, True)
    state = resumed(validated=True)
    state.advance_to(8)
    assert (state.finding, state.recognized) == (None, True)
    state = resumed(validated=True)
    state.recognize(6, 9)
    assert state.finding is not None, "there was no record"
    assert not state.absent


def test_a_filtered_record_counts_as_seen() -> None:
    state = partition_state()
    add_record(state, 3, 7)
    state.advance_to(9)
    assert (state.seen, state.epoch) == (4, 7)
    state.add_filtered([10, 11], 8, 300)
    assert (state.next, state.seen, state.epoch) == (12, 12, 8)
    state.delivered = 0  # nothing was really produced
    state.produced = []
    position, _ = state.next_position(1)
    assert position.tally.filtered_bytes == 300
    state.committed(position)
    assert state.next_position(2)[0].tally.filtered_bytes == 300, "counted once"


def test_a_filtered_record_before_a_replicated_one_does_not_set_its_epoch_back() -> None:
    state = partition_state()
    add_record(state, 5, 7)
    state.add_filtered([2, 3], 6, 300)
    assert (state.next, state.seen, state.epoch) == (6, 6, 7)


def test_without_a_quarantine_a_partition_stops_before_a_rejected_record() -> None:
    state = partition_state(poison={4: REFUSED, 6: REFUSED})
    state.advance_to(9)
    assert (state.next, state.barrier, state.limit) == (4, 4, 4)
    assert state.update_barrier(5) == 4, "also if the record itself was deleted"


@pytest.mark.parametrize("gone", [False, True])
def test_with_a_quarantine_rejected_records_are_quarantined_one_by_one(gone: bool) -> None:
    state = partition_state(poison={4: REFUSED, 6: REFUSED}, quarantine="q")
    assert (state.barrier, state.limit) == (4, NEVER)
    if gone:  # compaction removed it: the record after it is not rejected
        assert state.update_barrier(5) == 6
    else:
        state.add_quarantined(4, 2, 100)
    assert state.barrier == 6
    state.add_quarantined(6, 2, 20)
    assert (state.barrier, state.next, state.epoch) == (NEVER, 7, 2)
    position, runs = state.next_position(1)
    assert not runs
    assert position.tally.quarantined == (1 if gone else 2)
    assert position.tally.quarantined_bytes == (20 if gone else 120)
    assert position.offset - position.start == position.tally.offsets


LOST = Finding("gap", "lost", "", 4, 9, 5)


@pytest.mark.parametrize("quarantine", ["", "q"])
@pytest.mark.parametrize("poison", [None, {2: REFUSED, 4: REFUSED, 9: REFUSED}])
def test_a_record_after_a_hole_stops_the_partition_before_the_hole(
    quarantine: str, poison: dict[int, Finding] | None
) -> None:
    state = partition_state(poison=poison, quarantine=quarantine, hole=LOST)
    add_record(state, 3, 7)
    state.update_barrier(9)
    assert (state.finding, state.next) == (LOST, 4)
    state.stop(9, REFUSED)
    state.advance_to(20)
    assert (state.finding, state.next) == (LOST, 4)
    assert state.stop_before(9) == (4, LOST)


def test_a_log_end_after_a_hole_stops_the_partition_before_the_hole() -> None:
    state = partition_state(hole=LOST)
    add_record(state, 3, 7)
    for end, finding in ((4, None), (9, LOST)):
        state.advance_to(end)
        assert (state.finding, state.next) == (finding, 4)


def test_a_hole_that_is_filled_again_stops_nothing() -> None:
    state = partition_state(poison={6: REFUSED}, hole=LOST)
    assert state.update_barrier(4) == 6
    add_record(state, 4, 7)
    state.advance_to(6)
    assert (state.finding, state.next) == (None, 6)


def test_holes_are_offsets_neither_replicated_nor_filtered_nor_quarantined() -> None:
    state = partition_state(quarantine="q")
    add_record(state, 0, 7)
    state.add_filtered([2, 3, 5], 7, 30)
    state.add_quarantined(8, 7, 10)
    state.advance_to(12)
    _, runs = state.next_position(1)
    assert state.holes(runs) == [(1, 2), (4, 5), (6, 8), (9, 12)]
    state.committed(state.next_position(1)[0])
    state.advance_to(13)
    assert state.holes({}) == [(12, 13)], "what was filtered before does not count again"


def stopped_by_a_record(state: PartitionState) -> None:
    state.stop(3, no_timestamp(SOURCE, 3, -1))


def stopped_by_a_filter(state: PartitionState) -> None:
    state.stop(3, Finding("filter", "raised", "", 3))


def stopped_by_its_log(state: PartitionState) -> None:
    state.advance_to(3)
    state.recognize(2, 8)


@pytest.mark.parametrize("stops", [stopped_by_a_record, stopped_by_a_filter, stopped_by_its_log])
def test_a_stopped_partition_does_not_advance(stops: Callable[[PartitionState], None]) -> None:
    """Although ends of the partition, filtered records and further records are still reported."""
    state = partition_state()
    add_record(state, 0, 7)
    stops(state)
    state.advance_to(100)
    state.add_filtered([50], 7, 10)
    state.stop(60, no_timestamp(SOURCE, 60, -1))
    state.stop(70, REFUSED)
    position, _ = state.next_position(1)
    assert position.offset == 3
    assert state.finding is not None
    assert state.finding is not REFUSED


def test_only_records_from_the_position_on_show_that_the_log_can_be_read() -> None:
    state = partition_state(5, fetch_from=(4, 7))
    assert not state.read
    state.recognize(4, 7)
    assert (state.recognized, state.read) == (True, False), "that record is before what could not be read"
    add_record(state, 5, 7)
    assert state.read
    other = partition_state(5)
    other.advance_to(5)
    assert other.read, "nothing unreadable is left"


def test_a_record_quarantined_right_before_a_hole_does_not_hide_it() -> None:
    finding = lost(SOURCE, Hole(100, 200))
    state = partition_state(90, quarantine="q", hole=finding)
    state.add_produced(9, 99, None, 0)
    state.add_quarantined(99, None, 1)
    state.update_barrier(200)
    assert state.finding == finding
