"""The events that a mirror reports of a partition that stops."""

from __future__ import annotations

from causeway.core.ledger_record import Stopped
from causeway.core.snapshot import EventView
from causeway.replication.event_log import EventLog

GAP = Stopped("c", "orders", 1, "gap", "20 offsets are gone", "skip them", 5, expected=50, found=70, gone=20)


def test_a_stop_is_reported_once_with_its_offsets() -> None:
    reported: list[tuple[str, EventView]] = []
    events = EventLog("m", lambda mirror, event: reported.append((mirror, event)))

    events.report_stopped(GAP)
    events.report_stopped(GAP)

    [(mirror, event)] = reported
    assert (mirror, event.level, event.todo) == ("m", "error", "skip them")
    assert event.what == "orders[1] stopped (gap): 20 offsets are gone"
    assert (event.topic, event.partition, event.offset) == ("orders", 1, 50)
    assert (event.expected, event.found, event.gone) == (50, 70, 20)
    assert events.kept == (event,)


def test_other_events_have_no_offsets() -> None:
    events = EventLog("m", lambda mirror, event: None)
    events.report("info", "slice 3 began")
    [event] = events.kept
    assert (event.expected, event.found, event.gone) == (-1, -1, -1)
