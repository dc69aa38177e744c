"""Whether a position may be moved, and the effect."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.ledger_record import decode, encode
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.topic import NO_TOPIC_ID
from causeway.operations.rules.skipping import SourceLog, TargetOffset, describe_move, refusal_of, target
from causeway.rules.coverage import coverage_of
from causeway.rules.gaps import moved

POSITION = Position(
    source=SourcePartition("paris", "orders", 1),
    topic_id="here",
    start=0,
    offset=50,
    epoch=3,
    place=Place("orders", "there", 1),
    place_start=0,
    place_end=50,
    generation=1,
    at=0,
    tally=Tally(delivered=50),
)
LOG = SourceLog("here", 70, 100)


def refused_because(
    wanted: TargetOffset, log: SourceLog = LOG, *, back: bool = False, position: Position = POSITION
) -> str:
    refusal = refusal_of(position, log, wanted, back=back)
    return refusal.what if refusal else ""


@pytest.mark.parametrize("wanted", ["earliest", "latest", 70, 85, 100])
def test_forward_inside_of_the_log_is_allowed(wanted: TargetOffset) -> None:
    assert refused_because(wanted) == ""


@pytest.mark.parametrize(("wanted", "named"), [(69, "offset 69 is out of range"), (101, "offsets 70 to 100")])
def test_a_move_outside_of_the_log_is_refused(wanted: int, named: str) -> None:
    assert named in refused_because(wanted)
    refusal = refusal_of(POSITION, LOG, wanted, back=True)
    assert refusal is not None
    assert refusal.usage


def test_a_move_back_needs_its_option_and_names_the_number_of_duplicates() -> None:
    log = SourceLog("here", 0, 100)

    assert "would replicate 30 offsets again" in refused_because(20, log)
    assert refused_because(20, log, back=True) == ""
    assert refused_because("latest", SourceLog("here", 0, 40)) != "", (
        "a truncated source ends before the position"
    )


def test_a_recreated_topic_is_not_the_ledgers() -> None:
    assert "deleted and created again" in refused_because(85, replace(LOG, topic_id="another"), back=True)
    assert "no longer exists" in refused_because(85, SourceLog(None), back=True)
    assert refused_because(85, replace(LOG, topic_id=NO_TOPIC_ID)) == ""


def described(to: int, log: SourceLog = LOG) -> str:
    return describe_move(POSITION, to, log, coverage_of(POSITION, []))


def test_the_effect_is_described_in_one_line_with_counts() -> None:
    assert described(70) == ("orders[1] moves from offset 50 to 70: skips offsets 50 to 69 (20)")
    assert described(51) == "orders[1] moves from offset 50 to 51: skips offset 50"
    assert described(50) == "orders[1] is at offset 50 already: it does not move"
    assert described(20) == ("orders[1] moves back from offset 50 to 20: duplicates up to 30 records")
    assert described(40, SourceLog("here", 0, 40)).endswith("duplicates no record"), "the source ends there"


@given(st.integers(0, 200), st.integers(0, 100), st.integers(0, 100))
def test_a_moved_position_is_at_its_target_and_the_counts_balance(to: int, low: int, more: int) -> None:
    log = SourceLog("here", low, low + more)
    if refusal_of(POSITION, log, to, back=True) is None:
        assert log.start <= to <= log.end
        position, gap = moved(POSITION, target(to, log), verdict="skip", by="me", why="", at=7)
        assert position.offset - position.start == position.tally.offsets
        assert (gap.begin, gap.end, gap.skipped) == (50, to, to - 50)
        assert position.generation == POSITION.generation
        assert decode(encode(position)[1]) == position
        assert decode(encode(gap)[1]) == gap
