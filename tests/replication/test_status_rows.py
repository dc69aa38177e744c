"""Partition views that are kept, and views that are made again."""

from __future__ import annotations

from dataclasses import replace

from causeway.core.ledger_record import Gap, Stopped
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.snapshot import PartitionView
from causeway.core.task_order import Lane
from causeway.replication.rules.lag_age import Ages
from causeway.replication.status_rows import Logs, PartitionRows, gaps
from causeway.rules.ledger_state import LedgerState

SOURCE = SourcePartition("c", "orders", 0)
PLACE = Place("orders", "u", 0)
LANE = Lane(SOURCE, "t", PLACE, None)
POSITION = Position(SOURCE, "t", 0, 100, 0, PLACE, 0, 100, 1, 1, Tally(delivered=100, bytes=1_000))
STOPPED = Stopped("c", "orders", 0, "gap", "what", "todo", 1, expected=100, found=130, gone=30)


def test_a_view_is_kept_as_long_as_nothing_changes_and_nothing_waits() -> None:
    known = PartitionRows()
    ages: Ages[SourcePartition] = Ages()

    def view(position: Position = POSITION, end: int = 100, stopped: Stopped | None = None) -> PartitionView:
        logs = Logs({SOURCE: 0}, {SOURCE: end}, ages, {SOURCE: position})
        standing = {SOURCE: stopped} if stopped else {}
        [row] = known.views([LANE], standing, logs, {"c": "paris"}, 2)
        return row

    first = view()
    assert (first.cluster, first.delivered, first.lag_records) == ("paris", 100, 0)
    assert view() is first
    assert view(end=103).lag_records == 3
    assert view(end=103) is not view(end=103), "it waits longer each time"
    moved = view(replace(POSITION, offset=103, tally=Tally(delivered=103, bytes=1_030)), 103)
    assert (moved.delivered, moved.lag_records, moved.bytes) == (103, 0, 1_030)
    standing, going = view(stopped=STOPPED), view()
    assert (standing.verdict, standing.expected, standing.found, standing.gone) == ("gap", 100, 130, 30)
    assert (going.verdict, going.expected, going.found, going.gone) == ("", -1, -1, 0)


def test_gaps_show_who_why_and_how_many_with_the_latest_first() -> None:
    skipped = Gap("c", "orders", 0, "t", 10, "t", 30, "gap", "ann", "retention", 1)
    begun = replace(skipped, to_topic_id="another", end=5, at=2)
    image = LedgerState()
    for gap in (skipped, begun):
        image.apply(1, gap)

    latest, first = gaps(image, {"c": "paris"})

    assert (first.cluster, first.begin, first.end, first.skipped) == ("paris", 10, 30, 20)
    assert (first.by, first.why) == ("ann", "retention")
    assert (latest.begin, latest.end, latest.skipped) == (10, 5, 0), (
        "offsets of another topic are no way back"
    )
