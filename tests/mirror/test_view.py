"""Views of partitions that are kept, and made anew."""

from __future__ import annotations

from dataclasses import replace

from causeway.mirror.view import Logs, Partitions
from causeway.model.order import Lane
from causeway.model.position import Place, Position, SourcePartition, Tally
from causeway.model.record import Stopped
from causeway.model.snapshot import PartitionView
from causeway.policy.ages import Ages

SOURCE = SourcePartition("c", "orders", 0)
PLACE = Place("orders", "u", 0)
LANE = Lane(SOURCE, "t", PLACE, "earliest", None)
POSITION = Position(SOURCE, "t", 0, 100, 0, PLACE, 0, 100, 1, 1, Tally(delivered=100, bytes=1_000))
STOPPED = Stopped("c", "orders", 0, "gap", "what", "todo", 1)


def test_a_view_is_kept_as_long_as_nothing_changes_and_nothing_waits() -> None:
    known = Partitions()
    ages: Ages[SourcePartition] = Ages()

    def view(position: Position = POSITION, end: int = 100, stopped: Stopped | None = None) -> PartitionView:
        logs = Logs({SOURCE: 0}, {SOURCE: end}, ages)
        standing = {SOURCE: stopped} if stopped else {}
        [one] = known.views([LANE], {SOURCE: position}, standing, logs, {"c": "paris"}, 2)
        return one

    first = view()
    assert (first.cluster, first.delivered, first.lag_records) == ("paris", 100, 0)
    assert view() is first
    assert view(end=103).lag_records == 3
    assert view(end=103) is not view(end=103), "it waits longer each time"
    moved = view(replace(POSITION, offset=103, tally=Tally(delivered=103, bytes=1_030)), 103)
    assert (moved.delivered, moved.lag_records, moved.bytes) == (103, 0, 1_030)
    assert view(stopped=STOPPED).verdict == "gap"
    assert view().verdict == ""
