"""Every way a partition and its position can stand to what the brokers say, and the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import Lane
from causeway.rules.integrity import NO_TOPIC_ID, LogFacts, Verdict, falls_short, judge, same_topic
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


def expected(offset: int | None, known: str, place_known: str, found: LogFacts) -> Verdict | None:
    """The rules in plain words, gravest first, written without looking at the code."""
    ids_can_tell = NO_TOPIC_ID not in (known, found.topic_id)
    place_ids_can_tell = NO_TOPIC_ID not in (place_known, found.place_topic_id)
    if found.topic_id is None:
        return "deleted"
    if ids_can_tell and known != found.topic_id:
        return "recreated"
    if found.place_topic_id is None:
        return "destination-deleted"
    if place_ids_can_tell and place_known != found.place_topic_id:
        return "destination-recreated"
    if offset is None or found.log_start <= offset <= found.log_end:
        return None
    return "gap" if offset < found.log_start else "truncated"


BOUNDS = [(start, end) for start, end in product(OFFSETS, OFFSETS) if start <= end]


@pytest.mark.parametrize("known", IDS)
@pytest.mark.parametrize("place_known", IDS)
@pytest.mark.parametrize("offset", [None, *OFFSETS])
def test_every_case(offset: int | None, known: str, place_known: str) -> None:
    for topic_id, place_id, (start, end) in product(FOUND_IDS, FOUND_IDS, BOUNDS):
        found = LogFacts(topic_id, start, end, place_id)
        finding = judge(
            lane(known, place_known),
            None if offset is None else position(offset, known, place_known),
            found,
        )
        verdict = expected(offset, known, place_known, found)
        assert (finding.verdict if finding else None) == verdict, found
        if finding is not None:
            assert finding.what
            assert finding.todo


def test_a_position_knows_better_than_the_lane_which_topics_it_is_about() -> None:
    """The lane was made from what is there now: a topic that was recreated since looks right to it."""
    recreated = judge(lane("b", "a"), position(2, "a", "a"), LogFacts("b", 0, 5, "a"))
    assert recreated is not None
    assert recreated.verdict == "recreated"
    replaced = judge(lane("a", "b"), position(2, "a", "a"), LogFacts("a", 0, 5, "b"))
    assert replaced is not None
    assert replaced.verdict == "destination-recreated"


def test_a_gap_says_how_much_is_missing_and_where() -> None:
    finding = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 25, 40, "a"))
    assert finding is not None
    assert "orders[3]" in finding.what
    assert "begins at offset 25" in finding.what
    assert "10 is next" in finding.what
    assert "15 offsets" in finding.what


def test_a_truncation_says_how_much_is_gone() -> None:
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
def test_a_place_that_lost_what_was_carried(
    partitions: int, place_end: int | None, verdict: Verdict | None
) -> None:
    carried = replace(position(5, "a", "a"), place_end=7)
    finding = judge(lane("a", "a"), carried, LogFacts("a", 0, 9, "a", partitions, place_end))
    assert (finding and finding.verdict) == verdict
    if finding is not None and place_end is not None:
        assert (finding.expected, finding.found, finding.gone) == (7, place_end, 7 - place_end)
        assert f"ends at offset {place_end}" in finding.what


def test_a_place_that_moved_is_not_measured_by_where_it_was() -> None:
    carried = replace(position(5, "a", "a"), place=Place("copy", "a", 1), place_end=7)
    assert judge(lane("a", "a"), carried, LogFacts("a", 0, 9, "a", 4, 2)) is None


def test_findings_say_their_offsets_in_numbers_too() -> None:
    gap = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 25, 40, "a"))
    assert gap is not None
    assert (gap.expected, gap.found, gap.gone) == (10, 25, 15)
    cut = judge(lane("a", "a"), position(10, "a", "a"), LogFacts("a", 0, 7, "a"))
    assert cut is not None
    assert (cut.expected, cut.found, cut.gone) == (10, 7, 3)


@pytest.mark.parametrize("known", IDS)
@pytest.mark.parametrize("found", IDS)
def test_ids_tell_topics_apart_where_there_are_any(known: str, found: str) -> None:
    assert same_topic(known, found) is (known == found or NO_TOPIC_ID in (known, found))
    assert same_topic(known, found) is same_topic(found, known)


@pytest.mark.parametrize(
    ("offset", "topic_id", "reached", "short"),
    [
        (None, "A", None, False),  # nothing is known yet
        (None, "A", 0, True),  # a start is a position, too
        (None, "A", 7, True),
        (6, "A", 7, True),
        (7, "A", 7, False),
        (8, "A", 7, False),
        (0, "B", 7, False),  # another topic was begun with
        (0, NO_TOPIC_ID, 7, False),  # it may be another topic
    ],
)
def test_a_ledger_that_shows_less_than_is_known_falls_short(
    offset: int | None, topic_id: str, reached: int | None, short: bool
) -> None:
    known = position(offset, "A" if topic_id == "B" else topic_id, "P") if offset is not None else None
    assert falls_short(known, topic_id, reached) is short


def failures(*offsets: int) -> UnreadableLog | None:
    found = None
    for offset in offsets:
        found = unread(found, offset, f"bad at {offset}")
    return found


@pytest.mark.parametrize(
    ("offsets", "known", "stops"),
    [
        ((), False, False),
        ((), True, False),  # a new start has not looked yet
        ((20,) * (LOOKS - 1), False, False),
        ((20,) * LOOKS, False, True),
        ((20,), True, True),
        ((20, 20, 19, 20), False, False),  # it came further in between, or was moved
        ((19,) * LOOKS, False, False),  # it is not what is next to replicate any more
        ((19,), True, False),
    ],
)
def test_a_log_is_damaged_where_it_cannot_be_read_again_and_again(
    offsets: tuple[int, ...], known: bool, stops: bool
) -> None:
    finding = corrupt(SOURCE, 20, failures(*offsets), known=known)
    assert (finding is not None) == stops
    if finding is not None:
        assert (finding.verdict, finding.expected) == ("corrupt", 20)
        assert "orders[3] cannot be read at offset 20, which is next to replicate (bad at 20)" in finding.what
        assert "causeway offsets skip" in finding.todo
