"""A position moves without carrying by a policy or by somebody's word alone, and never without a Gap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.choices import OnGap, OnRecreate
from causeway.core.offsets import describe_gap
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import Lane
from causeway.rules.gaps import Settled, moved, settle
from causeway.rules.integrity import LogFacts

SOURCE = SourcePartition("cluster", "orders", 3)
LANE = Lane(SOURCE, "a", Place("copy", "p", 3), None)
AT = 99


def position(offset: int, delivered: int = 0) -> Position:
    tally = Tally(delivered=delivered, holes=offset - delivered)
    return Position(SOURCE, "a", 0, offset, 4, LANE.place, 2, 7, 1, 0, tally)


def settled(
    found: LogFacts, offset: int = 10, on_gap: OnGap = "stop", on_recreate: OnRecreate = "stop"
) -> Settled:
    return settle(LANE, position(offset), found, on_gap=on_gap, on_recreate=on_recreate, at=AT)


def test_policies_change_nothing_where_nothing_is_wrong() -> None:
    found = LogFacts("a", 0, 40, "p", 4, 20)
    assert settled(found, on_gap="continue", on_recreate="restart") == Settled(position(10))


def test_a_gap_stops_unless_the_policy_says_otherwise() -> None:
    found = LogFacts("a", 25, 40, "p", 4, 20)
    stopped = settled(found, on_recreate="restart")
    assert stopped.finding is not None
    assert stopped.finding.verdict == "gap"
    assert not stopped.gaps

    went_on = settled(found, on_gap="continue")

    assert went_on.finding is None
    (gap,) = went_on.gaps
    assert went_on.position is not None
    assert (went_on.position.offset, went_on.position.tally.skipped, went_on.position.epoch) == (25, 15, -1)
    assert (gap.source, gap.begin, gap.end, gap.skipped, gap.verdict) == (SOURCE, 10, 25, 15, "gap")
    assert gap.by == 'on_gap = "continue"'
    assert gap.at == went_on.position.at == AT
    assert "offsets 10 to 24" in describe_gap(gap)


def test_another_topic_of_the_name_begins_with_books_of_its_own_behind_what_is_there() -> None:
    found = LogFacts("b", 5, 40, "p", 4, 20)
    assert settled(found, on_gap="continue").finding is not None

    restarted = settled(found, on_recreate="restart")

    assert restarted.finding is None
    now = restarted.position
    assert now is not None
    assert (now.topic_id, now.start, now.offset, now.epoch) == ("b", 5, 5, -1)
    assert (now.place, now.place_start, now.place_end) == (LANE.place, 20, -1)
    assert now.tally == Tally()
    (gap,) = restarted.gaps
    assert (gap.topic_id, gap.begin, gap.to_topic_id, gap.end, gap.skipped) == ("a", 10, "b", 5, 0)
    assert "another topic" in describe_gap(gap)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (LogFacts("a", 0, 5, "p", 4, 20), "truncated"),
        (LogFacts(None, -1, -1, "p", 4, 20), "deleted"),
        (LogFacts("a", 25, 40, None), "destination-deleted"),
        (LogFacts("a", 25, 40, "q", 4, 20), "destination-recreated"),
        (LogFacts("b", 0, 40, "q", 4, 20), "destination-recreated"),
        (LogFacts("b", 0, 40, None), "recreated"),
        (LogFacts("a", 25, 40, "p", 3), "destination-shrunk"),
        (LogFacts("a", 25, 40, "p", 4, 6), "destination-truncated"),
    ],
)
def test_no_policy_goes_over_anything_else(found: LogFacts, verdict: str) -> None:
    stopped = settled(found, on_gap="continue", on_recreate="restart")
    assert stopped.finding is not None
    assert stopped.finding.verdict == verdict


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_the_books_balance_behind_every_move(delivered: int, holes: int, to: int, back: int) -> None:
    carried = position(delivered + holes, delivered)
    for target in (to, back):
        carried, gap = moved(carried, target, verdict="skip", by="me", why="", at=AT)
        assert carried.offset == target == gap.end
        assert carried.offset - carried.start == carried.tally.offsets
    assert carried.tally.delivered == delivered


def test_gaps_of_one_partition_do_not_hide_each_other() -> None:
    first, gap = moved(position(10), 20, verdict="skip", by="me", why="", at=1)
    back, again = moved(first, 10, verdict="skip", by="me", why="", at=2)
    _, once_more = moved(back, 20, verdict="skip", by="me", why="", at=3)
    assert len({gap.key(), again.key(), once_more.key(), replace(gap, partition=4).key()}) == 4
    assert "moved back from offset 20 to 10" in describe_gap(again)
