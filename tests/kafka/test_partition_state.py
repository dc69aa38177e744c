"""What a lane makes of records that come, go aside, or lie where none may be."""

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


def lane(offset: int = 0, poison: dict[int, Finding] | None = None, **more: Any) -> PartitionState:
    position = Position(SOURCE, "id", 0, offset, -1, PLACE, 0, -1, 1, 0)
    return PartitionState(Lane(SOURCE, "id", PLACE, None), position, poison=poison, **more)


def add_record(one: PartitionState, offset: int, epoch: int) -> None:
    stretch = Stretch(offset)
    stretch.length = 1
    stretch.first = stretch.last = 100 + offset
    one.add_stretch(stretch, offset + 1, epoch, 1)


def test_what_was_sent_and_never_acknowledged_is_not_settled() -> None:
    one = lane()
    add_record(one, 0, 7)
    one.add_produced(1, 2, 7, 1)  # nobody reports of it
    with pytest.raises(Again, match="1 of 2 records"):
        one.next_position(1)


@pytest.mark.parametrize("offset", [1, 3, 4])
def test_a_record_where_markers_were_passed_stops_the_lane(offset: int) -> None:
    one = lane()
    add_record(one, 0, 7)
    one.advance_to(5)

    one.recognize(0, 7)
    assert one.finding is None, "it is the one that was seen"
    one.recognize(5, 8)
    assert one.finding is None, "it is the next one"
    one.recognize(offset, 8)

    assert one.finding is not None
    assert one.finding.verdict == "truncated"
    assert f"a record at offset {offset}" in one.finding.what
    position, _ = one.next_position(1)
    assert (position.offset, position.seen, position.epoch) == (5, 1, 7)


@pytest.mark.parametrize(
    ("offset", "epoch", "stops"), [(0, 7, False), (0, 8, True), (0, 6, True), (0, None, False)]
)
def test_the_last_record_seen_must_be_the_one_that_it_was(
    offset: int, epoch: int | None, stops: bool
) -> None:
    """Its epoch tells: a log that was cut off is written again by a later leader."""
    one = lane()
    add_record(one, 0, 7)
    one.advance_to(5)
    one.recognize(offset, epoch)
    assert (one.finding is not None) is stops
    if one.finding is not None:
        assert one.finding.verdict == "truncated"
        assert f"leader epoch {epoch}, it was of 7" in one.finding.what


def test_an_order_is_not_fulfilled_before_the_last_record_seen_was_looked_at() -> None:
    """A log that was written again up to the very same end would look as if nothing were left to do."""

    def ordered() -> PartitionState:
        one = lane(5, fetch_from=(4, 7))
        one.lane = replace(one.lane, until=5)
        one.epoch = 7
        return one

    assert not ordered().done
    for_sure = ordered()
    for_sure.recognize(4, 7)
    assert for_sure.done
    gone = ordered()
    gone.advance_to(5)
    assert gone.finding is not None, "the log goes on without it"
    assert not gone.done, "the source is asked first"
    other = ordered()
    other.recognize(4, 8)
    assert other.done
    assert other.finding is not None


def resumed(validated: bool = False) -> PartitionState:
    """Carried up to 8: the record at 4 was the last one seen, and markers come after it."""
    position = replace(lane(8).position, epoch=7, seen=5)
    return PartitionState(lane().lane, position, fetch_from=(5 if validated else 4, 7))


@pytest.mark.parametrize("first", [5, 6, 8, 20])
def test_the_last_record_seen_comes_first_or_its_log_was_cut_off(first: int) -> None:
    """A marker or an aborted record in its place never comes: the next record does, wherever that is."""
    one = resumed()
    one.recognize(first, 9)
    assert one.finding is not None
    assert (one.finding.verdict, one.finding.expected) == ("truncated", 8)
    assert "the record at offset 4, the last one seen, no longer exists" in one.finding.what
    assert (one.absent, one.done, one.next) == (True, False, 8)
    one.advance_to(30)
    assert one.next == 8


@pytest.mark.parametrize(("end", "stops"), [(4, False), (5, True), (8, True), (30, True)])
def test_an_end_after_the_last_record_seen_is_no_substitute_for_it(end: int, stops: bool) -> None:
    one = resumed()
    one.advance_to(end)
    assert (one.finding is not None, one.absent) == (stops, stops)
    assert (one.recognized, one.next) == (False, 8)


def test_once_it_came_everything_after_it_counts() -> None:
    one = resumed()
    one.recognize(4, 7)
    assert one.recognized
    one.advance_to(9)
    assert (one.finding, one.next) == (None, 9)


def test_where_compaction_may_have_taken_it_the_client_validates_and_whatever_comes_is_right() -> None:
    one = resumed(validated=True)
    assert (one.validated, one.done) == (True, False)
    one.recognize(8, 9)
    assert (one.finding, one.recognized) == (None, True)
    one = resumed(validated=True)
    one.advance_to(8)
    assert (one.finding, one.recognized) == (None, True)
    one = resumed(validated=True)
    one.recognize(6, 9)
    assert one.finding is not None, "there was no record"
    assert not one.absent


def test_what_was_sifted_out_was_seen() -> None:
    one = lane()
    add_record(one, 3, 7)
    one.advance_to(9)
    assert (one.seen, one.epoch) == (4, 7)
    one.add_filtered([10, 11], 8, 300)
    assert (one.next, one.seen, one.epoch) == (12, 12, 8)
    one.delivered = 0  # nothing of it was really sent
    one.produced = []
    position, _ = one.next_position(1)
    assert position.tally.filtered_bytes == 300
    one.committed(position)
    assert one.next_position(2)[0].tally.filtered_bytes == 300, "counted once"


def test_what_was_sifted_out_before_a_carried_record_does_not_take_its_epoch_back() -> None:
    one = lane()
    add_record(one, 5, 7)
    one.add_filtered([2, 3], 6, 300)
    assert (one.next, one.seen, one.epoch) == (6, 6, 7)


def test_without_a_quarantine_nothing_passes_a_record_that_is_refused() -> None:
    one = lane(poison={4: REFUSED, 6: REFUSED})
    one.advance_to(9)
    assert (one.next, one.barrier, one.limit) == (4, 4, 4)
    assert one.update_barrier(5) == 4, "also where the record itself is gone"


@pytest.mark.parametrize("gone", [False, True])
def test_with_a_quarantine_refused_records_go_aside_one_by_one(gone: bool) -> None:
    one = lane(poison={4: REFUSED, 6: REFUSED}, quarantine="q")
    assert (one.barrier, one.limit) == (4, NEVER)
    if gone:  # compaction took it: the record behind it is not refused
        assert one.update_barrier(5) == 6
    else:
        one.add_quarantined(4, 2, 100)
    assert one.barrier == 6
    one.add_quarantined(6, 2, 20)
    assert (one.barrier, one.next, one.epoch) == (NEVER, 7, 2)
    position, runs = one.next_position(1)
    assert not runs
    assert position.tally.quarantined == (1 if gone else 2)
    assert position.tally.quarantined_bytes == (20 if gone else 120)
    assert position.offset - position.start == position.tally.offsets


LOST = Finding("gap", "lost", "", 4, 9, 5)


@pytest.mark.parametrize("quarantine", ["", "q"])
@pytest.mark.parametrize("poison", [None, {2: REFUSED, 4: REFUSED, 9: REFUSED}])
def test_a_record_after_a_hole_stops_the_lane_before_the_hole(
    quarantine: str, poison: dict[int, Finding] | None
) -> None:
    one = lane(poison=poison, quarantine=quarantine, hole=LOST)
    add_record(one, 3, 7)
    one.update_barrier(9)
    assert (one.finding, one.next) == (LOST, 4)
    one.stop(9, REFUSED)
    one.advance_to(20)
    assert (one.finding, one.next) == (LOST, 4)
    assert one.stop_before(9) == (4, LOST)


def test_so_does_an_end_after_it() -> None:
    one = lane(hole=LOST)
    add_record(one, 3, 7)
    for end, finding in ((4, None), (9, LOST)):
        one.advance_to(end)
        assert (one.finding, one.next) == (finding, 4)


def test_a_hole_that_is_filled_again_stops_nothing() -> None:
    one = lane(poison={6: REFUSED}, hole=LOST)
    assert one.update_barrier(4) == 6
    add_record(one, 4, 7)
    one.advance_to(6)
    assert (one.finding, one.next) == (None, 6)


def test_holes_are_what_neither_arrived_nor_was_taken_out_nor_set_aside() -> None:
    one = lane(quarantine="q")
    add_record(one, 0, 7)
    one.add_filtered([2, 3, 5], 7, 30)
    one.add_quarantined(8, 7, 10)
    one.advance_to(12)
    _, runs = one.next_position(1)
    assert one.holes(runs) == [(1, 2), (4, 5), (6, 8), (9, 12)]
    one.committed(one.next_position(1)[0])
    one.advance_to(13)
    assert one.holes({}) == [(12, 13)], "what was taken out before does not count again"


def stopped_by_a_record(one: PartitionState) -> None:
    one.stop(3, no_timestamp(SOURCE, 3, -1))


def stopped_by_a_filter(one: PartitionState) -> None:
    one.stop(3, Finding("filter", "raised", "", 3))


def stopped_by_its_log(one: PartitionState) -> None:
    one.advance_to(3)
    one.recognize(2, 8)


@pytest.mark.parametrize("stops", [stopped_by_a_record, stopped_by_a_filter, stopped_by_its_log])
def test_a_lane_that_has_stopped_does_not_move(stops: Callable[[PartitionState], None]) -> None:
    """Ends of the partition, records that filters took out and further records are still told."""
    one = lane()
    add_record(one, 0, 7)
    stops(one)
    one.advance_to(100)
    one.add_filtered([50], 7, 10)
    one.stop(60, no_timestamp(SOURCE, 60, -1))
    one.stop(70, REFUSED)
    position, _ = one.next_position(1)
    assert position.offset == 3
    assert one.finding is not None
    assert one.finding is not REFUSED


def test_only_what_comes_from_the_position_on_says_that_it_can_be_read() -> None:
    one = lane(5, fetch_from=(4, 7))
    assert not one.read
    one.recognize(4, 7)
    assert (one.recognized, one.read) == (True, False), "that one lies before what could not be read"
    add_record(one, 5, 7)
    assert one.read
    other = lane(5)
    other.advance_to(5)
    assert other.read, "there is nothing any more that could not be read"


def test_a_record_set_aside_right_before_a_hole_does_not_hide_it() -> None:
    finding = lost(SOURCE, Hole(100, 200))
    one = lane(90, quarantine="q", hole=finding)
    one.add_produced(9, 99, None, 0)
    one.add_quarantined(99, None, 1)
    one.update_barrier(200)
    assert one.finding == finding
