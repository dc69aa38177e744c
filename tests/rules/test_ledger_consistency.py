"""A ledger that is before the offset map is outdated, unless an operator moved it back."""

from __future__ import annotations

import pytest

from causeway.core.ledger_record import Gap
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.topic import NO_TOPIC_ID
from causeway.rules.ledger_consistency import MapEntry, contradicted

SOURCE = SourcePartition("c", "t", 0)
OTHER = SourcePartition("c", "t", 1)


def position(offset: int, topic_id: str = "a") -> Position:
    return Position(SOURCE, topic_id, 0, offset, -1, Place("t", "p", 0), 0, -1, 1, 0)


def map_entry(source: SourcePartition, topic_id: str, end: int) -> MapEntry:
    return MapEntry(source, topic_id, end, ("t", 0), end)


def gap(begin: int, end: int, topic_id: str = "a", to_topic_id: str = "a") -> Gap:
    return Gap(
        *SOURCE,
        topic_id=topic_id,
        begin=begin,
        to_topic_id=to_topic_id,
        end=end,
        verdict="skip",
        by="",
        why="",
        at=0,
    )


@pytest.mark.parametrize(
    ("known", "gaps", "trusted"),
    [
        (position(10), [], True),
        (position(11), [], True),
        (position(9), [], False),
        (None, [], False),
        (position(0, "b"), [], True),  # restarted: it has other offsets
        (position(4), [gap(12, 4)], True),
        (position(4), [gap(10, 4)], True),
        (position(4), [gap(9, 4)], False),  # moved back before the map was written
        (position(4), [gap(4, 12)], False),  # a move forward explains nothing
        (position(4), [gap(12, 14)], False),
        (position(4), [gap(12, 4, "b", "b")], False),
    ],
)
def test_the_ledger_must_not_be_before_the_map(
    known: Position | None, gaps: list[Gap], trusted: bool
) -> None:
    entries = [map_entry(SOURCE, "a", 3), map_entry(SOURCE, "a", 10)]
    contradiction = contradicted(entries, {SOURCE: known} if known else {}, gaps)
    assert (contradiction is None) is trusted
    if known is not None and not trusted:
        assert contradiction == map_entry(SOURCE, "a", 10)


@pytest.mark.parametrize(
    ("known", "gaps", "trusted"),
    [
        (position(10), [], True),
        (position(9), [], True),  # killed between map and ledger
        (position(6), [], True),
        (position(5), [], False),  # it was at 6 when the map was written
        (None, [], False),
        (position(0, "b"), [], True),
        (position(2), [gap(6, 2)], True),  # moved back after the kill
        (position(2), [gap(12, 2)], True),
        (position(2), [gap(5, 2)], False),
        (position(2), [gap(12, 8)], False),
    ],
)
def test_without_a_transaction_the_map_proves_the_position_that_its_commit_started_at(
    known: Position | None, gaps: list[Gap], trusted: bool
) -> None:
    entry = MapEntry(SOURCE, "a", 10, ("t", 0), 10, base=6)
    assert (contradicted([entry], {SOURCE: known} if known else {}, gaps) is None) is trusted


def test_a_later_transaction_proves_its_end_again() -> None:
    """Killed in at-least-once, switched to exactly-once; then the ledger loses its end."""
    entries = [MapEntry(SOURCE, "a", 10, ("t", 0), 10, base=6), map_entry(SOURCE, "a", 8)]
    assert contradicted(entries, {SOURCE: position(8)}, []) is None
    assert contradicted(entries, {SOURCE: position(7)}, []) == entries[1]


def test_every_partition_is_compared() -> None:
    entries = [map_entry(SOURCE, "a", 10), map_entry(OTHER, "a", 1)]
    assert contradicted(entries, {SOURCE: position(10)}, []) == map_entry(OTHER, "a", 1)


def test_records_replicated_before_the_topic_had_an_id_count() -> None:
    entries = [map_entry(SOURCE, NO_TOPIC_ID, 10)]
    assert contradicted(entries, {SOURCE: position(10)}, []) is None
    assert contradicted(entries, {SOURCE: position(9)}, []) == entries[0]
    assert contradicted(entries, {SOURCE: position(0, "b")}, [gap(10, 0, "a", "b")]) is None
