"""A position moves without replicating only by a policy or an operator, and never without a Gap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.choices import OnGap, OnRecreate
from causeway.core.offsets import describe_gap
from causeway.core.position import KnownRecord, Place, Position, SourcePartition, Tally
from causeway.core.task_order import Lane
from causeway.rules.gaps import Settled, moved, settle
from causeway.rules.integrity import LogFacts
from causeway.rules.positions import known_record

SOURCE = SourcePartition("cluster", "orders", 3)
LANE = Lane(SOURCE, "a", Place("copy", "p", 3), None)
AT = 99


def position(offset: int, delivered: int = 0) -> Position:
    tally = Tally(delivered=delivered, holes=offset - delivered)
    return Position(SOURCE, "a", 0, offset, 4, LANE.place, 2, 7, 1, 0, tally)


def settled(
    facts: LogFacts, offset: int = 10, on_gap: OnGap = "stop", on_recreate: OnRecreate = "stop"
) -> Settled:
    return settle(LANE, position(offset), facts, on_gap=on_gap, on_recreate=on_recreate, at=AT)


def test_policies_change_nothing_without_a_finding() -> None:
    facts = LogFacts("a", 0, 40, "p", 4, 20)
    assert settled(facts, on_gap="continue", on_recreate="restart") == Settled(position(10))


def test_a_gap_stops_the_partition_unless_the_policy_continues() -> None:
    facts = LogFacts("a", 25, 40, "p", 4, 20)
    stopped = settled(facts, on_recreate="restart")
    assert stopped.finding is not None
    assert stopped.finding.verdict == "gap"
    assert not stopped.gaps

    continued = settled(facts, on_gap="continue")

    assert continued.finding is None
    (gap,) = continued.gaps
    assert continued.position is not None
    assert (continued.position.offset, continued.position.tally.skipped, continued.position.epoch) == (
        25,
        15,
        -1,
    )
    assert (gap.source, gap.begin, gap.end, gap.skipped, gap.verdict) == (SOURCE, 10, 25, 15, "gap")
    assert gap.by == 'on_gap = "continue"'
    assert gap.at == continued.position.at == AT
    assert "offsets 10 to 24" in describe_gap(gap)


def test_a_recreated_topic_starts_with_its_own_counts_after_the_existing_records() -> None:
    facts = LogFacts("b", 5, 40, "p", 4, 20)
    assert settled(facts, on_gap="continue").finding is not None

    restarted = settled(facts, on_recreate="restart")

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
    ("facts", "verdict"),
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
def test_no_policy_skips_anything_else(facts: LogFacts, verdict: str) -> None:
    stopped = settled(facts, on_gap="continue", on_recreate="restart")
    assert stopped.finding is not None
    assert stopped.finding.verdict == verdict


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_the_counts_balance_after_every_move(delivered: int, holes: int, to: int, back: int) -> None:
    replicated = position(delivered + holes, delivered)
    for target in (to, back):
        replicated, gap = moved(replicated, target, verdict="skip", by="me", why="", at=AT)
        assert replicated.offset == target == gap.end
        assert replicated.offset - replicated.start == replicated.tally.offsets
    assert replicated.tally.delivered == delivered


def test_gaps_of_one_partition_do_not_hide_each_other() -> None:
    first, gap = moved(position(10), 20, verdict="skip", by="me", why="", at=1)
    back, again = moved(first, 10, verdict="skip", by="me", why="", at=2)
    _, once_more = moved(back, 20, verdict="skip", by="me", why="", at=3)
    assert len({gap.key(), again.key(), once_more.key(), replace(gap, partition=4).key()}) == 4
    assert "moved back from offset 20 to 10" in describe_gap(again)


@pytest.mark.parametrize("to", [5, 40])
def test_after_a_move_the_record_before_the_position_is_another_one(to: int) -> None:
    """With the digest of the old one, a node would be read from there: over what was skipped, say."""
    of_pool = replace(position(20), node="n1", known=KnownRecord(19, "digest"))
    new, _ = moved(of_pool, to, verdict="skip", by="me", why="", at=AT)
    assert (new.offset, new.node) == (to, "n1")
    assert known_record(new, 0) is None
