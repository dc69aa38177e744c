"""What is said, as text and as JSON."""

from __future__ import annotations

import json

from causeway.core.progress import MirrorProgress, TopicProgress
from causeway.core.snapshot import EventView
from causeway.errors import IntegrityError, PlanRefused
from causeway.reporting import lines

AT = 1_790_000_000_123
GAP = EventView(AT, "error", "stopped (gap)", "skip it", 2, "orders", 0, 50, 50, 70, 20)


def test_an_event_for_people() -> None:
    assert lines.plain("m", GAP) == "error: m: shard 2: stopped (gap); skip it"


def test_an_event_has_its_coordinates_as_fields() -> None:
    assert json.loads(lines.structured("m", GAP)) == {
        "at": "2026-09-21T14:13:20.123Z", "level": "error", "what": "stopped (gap)", "mirror": "m",
        "todo": "skip it", "shard": 2, "topic": "orders", "partition": 0, "offset": 50,
        "expected": 50, "found": 70, "gone": 20,
    }  # fmt: skip


def test_a_stop_at_the_first_offset_with_nothing_gone_says_so() -> None:
    poison = EventView(AT, "error", "stopped (poison)", "", 0, "orders", 0, 0, 0, -1, 0)
    said = json.loads(lines.structured("m", poison))
    assert (said["offset"], said["expected"], said["gone"]) == (0, 0, 0)
    assert "found" not in said


def test_what_does_not_apply_is_left_out() -> None:
    said = json.loads(lines.structured("m", EventView(AT, "info", "carrier: native")))
    assert set(said) == {"at", "level", "what", "mirror"}


def test_text_with_line_breaks_stays_one_line() -> None:
    assert "\n" not in lines.structured("m", EventView(AT, "error", "two\nlines", "é\u2028"))


def test_progress_has_numbers() -> None:
    topics = (
        TopicProgress("a", 10, 100, 5.4, 50.0, 3, 1.0, 2.0, stopped=1),
        TopicProgress("b", 20, 200, 0.2, 0.0, 4, 1.0, 2.0, quarantined=2, skipped=7),
    )
    said = json.loads(lines.progress(MirrorProgress("m", "running", topics, 2), AT))
    assert (said["records"], said["lag"], said["records_per_second"]) == (30, 7, 6)
    assert (said["stopped"], said["quarantined"], said["skipped"]) == (1, 2, 7)
    assert (said["state"], said["level"]) == ("running", "info")


def test_an_end_says_why_and_what_to_do() -> None:
    said = json.loads(lines.failure(IntegrityError("gone", where="orders[0]", why="retention", todo="skip")))
    assert {key: said[key] for key in ("what", "where", "why", "todo", "exit_code", "level")} == {
        "what": "gone", "where": "orders[0]", "why": "retention", "todo": "skip", "exit_code": 6,
        "level": "error",
    }  # fmt: skip
    said = json.loads(lines.failure(PlanRefused("two topics", problems=("a", "b"))))
    assert said["problems"] == ["a", "b"]
