"""Every combination of a partition's position with the brokers' facts, and its verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import Lane
from causeway.core.topic import NO_TOPIC_ID
from causeway.rules.integrity import LogFacts, Verdict, falls_short, judge, same_topic
from causeway.rules.unreadable import LOOKS, UnreadableLog, corrupt, unread

SOURCE = SourcePartition("cluster", "orders", 3)
IDS = ("a", "b", NO_TOPIC_ID)
FOUND_IDS: tuple[str | None, ...] = (None, *IDS)
OFFSETS = range(4)


def lane(topic_id: str, place_id: str) -> Lane:
    return Lane(SOURCE, topic_id, Place("copy", place_id, 3), None)


def position(offset: int, topic_id: str, place_id: str) -> Position:
    place = Place("copy", place_id, 3)
    return Position(SOURCE, topic_id, 0, offset, 0, place, 0, -1, 1, 0, Tally(delivered=offset))


def expected(offset: int | None, known: str, place_known: str, facts: LogFacts) -> Verdict | None:
    """The rules, most severe first, written independently of the code."""
    ids_known = NO_TOPIC_ID not in (known, facts.topic_id)
    place_ids_known = NO_TOPIC_ID not in (place_known, facts.place_topic_id)
    if facts.topic_id is None:
        return "deleted"
    if ids_known and known != facts.topic_id:
        return "recreated"
    if facts.place_topic_id is None:
        return "destination-deleted"
    if place_ids_known and place_known != facts.place_topic_id:
        return "destination-recreated"
    if offset is None or facts.log_start <= offset <= facts.log_end:
        return None
    return "gap" if offset < facts.log_start else "truncated"


BOUNDS = [(start, end) for start, end in product(OFFSETS, OFFSETS) if start <= end]


@pytest.mark.parametrize("known", IDS)
@pytest.mark.parametrize("place_known", IDS)
@pytest.mark.parametrize("offset", [None, *OFFSETS])
def test_every_case(offset: int | None, known: str, place_known: str) -> None:
    for topic_id, place_id, (start, end) in product(FOUND_IDS, FOUND_IDS, BOUNDS):
        facts = LogFacts(topic_id, start, end, place_id)
        finding = judge(
            lane(known, place_known),
            None if offset is None else position(offset, known, place_known),
            facts,
        )
        verdict = expected(offset, known, place_known, facts)
        assert (finding.verdict if finding else None) == verdict, facts
        if finding is not None:
            assert finding.what
            assert finding.todo


def test_the_positions_topic_ids_override_the_lanes() -> None:
    """The lane has today's topic ids, so only the position shows that a topic was recreated."""
    recreated = judge(lane("b", "a"), position(2, "a", "a"), LogFacts("b", 0, 5, "a"))
    assert recreated is not None
    assert recreated.verdict == "recreated"
    replaced = judge(lane("a", "b"), position(2, "a", "a"), LogFacts("a", 0, 5, "b"))
    assert replaced is not None
    assert replaced.verdict == "destination-recreated"


def test_a_gap_names_how_much_is_missing_and_where() -> None:
    finding = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 25, 40, "a"))
    assert finding is not None
    assert "orders[3]" in finding.what
    assert "begins at offset 25" in finding.what
    assert "10 is next" in finding.what
    assert "15 offsets" in finding.what


def test_a_truncation_names_how_much_is_missing() -> None:
    finding = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 0, 7, "a"))
    assert finding is not None
    assert "ends at offset 7" in finding.what
    assert "3 replicated offsets" in finding.what


@pytest.mark.parametrize(
    ("partitions", "place_end", "verdict"),
    [
        (4, 7, None),
        (4, 8, None),
        (4, None, None),
        (3, None, "destination-shrunk"),
        (4, 6, "destination-truncated"),
        (4, 0, "destination-truncated"),
    ],
)
def test_a_place_that_lost_replicated_records(
    partitions: int, place_end: int | None, verdict: Verdict | None
) -> None:
    replicated = replace(position(5, "a", "a"), place_end=7)
    finding = judge(lane("a", "a"), replicated, LogFacts("a", 0, 9, "a", partitions, place_end))
    assert (finding and finding.verdict) == verdict
    if finding is not None and place_end is not None:
        assert (finding.expected, finding.found, finding.gone) == (7, place_end, 7 - place_end)
        assert f"ends at offset {place_end}" in finding.what


def test_a_place_that_moved_is_not_compared_with_its_old_end() -> None:
    replicated = replace(position(5, "a", "a"), place=Place("copy", "a", 1), place_end=7)
    assert judge(lane("a", "a"), replicated, LogFacts("a", 0, 9, "a", 4, 2)) is None


def test_findings_have_their_offsets_as_numbers() -> None:
    gap = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 25, 40, "a"))
    assert gap is not None
    assert (gap.expected, gap.found, gap.gone) == (10, 25, 15)
    cut = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 0, 7, "a"))
    assert cut is not None
    assert (cut.expected, cut.found, cut.gone) == (10, 7, 3)


@pytest.mark.parametrize("known", IDS)
@pytest.mark.parametrize("current", IDS)
def test_topic_ids_distinguish_topics_if_both_are_known(known: str, current: str) -> None:
    assert same_topic(known, current) is (known == current or NO_TOPIC_ID in (known, current))
    assert same_topic(known, current) is same_topic(current, known)


@pytest.mark.parametrize(
    ("offset", "topic_id", "reached", "short"),
    [
        (None, "A", None, False),  # nothing is known yet
        (None, "A", 0, True),  # a start is a position, too
        (None, "A", 7, True),
        (6, "A", 7, True),
        (7, "A", 7, False),
        (8, "A", 7, False),
        (0, "B", 7, False),  # another topic was started
        (0, NO_TOPIC_ID, 7, False),  # it may be another topic
    ],
)
def test_a_ledger_before_a_known_position_is_incomplete(
    offset: int | None, topic_id: str, reached: int | None, short: bool
) -> None:
    known = position(offset, "A" if topic_id == "B" else topic_id, "P") if offset is not None else None
    assert falls_short(known, topic_id, reached) is short


def failures(*offsets: int) -> UnreadableLog | None:
    log = None
    for offset in offsets:
        log = unread(log, offset, f"bad at {offset}")
    return log


@pytest.mark.parametrize(
    ("offsets", "known", "stops"),
    [
        ((), False, False),
        ((), True, False),  # a new start has not read yet
        ((20,) * (LOOKS - 1), False, False),
        ((20,) * LOOKS, False, True),
        ((20,), True, True),
        ((20, 20, 19, 20), False, False),  # it advanced in between, or was moved
        ((19,) * LOOKS, False, False),  # it is not the next offset to replicate any more
        ((19,), True, False),
    ],
)
def test_a_log_is_corrupt_after_repeated_failures_at_one_offset(
    offsets: tuple[int, ...], known: bool, stops: bool
) -> None:
    finding = corrupt(SOURCE, 20, failures(*offsets), known=known)
    assert (finding is not None) == stops
    if finding is not None:
        assert (finding.verdict, finding.expected) == ("corrupt", 20)
        assert "orders[3] cannot be read at offset 20, which is next to replicate (bad at 20)" in finding.what
        assert "causeway offsets skip" in finding.todo
