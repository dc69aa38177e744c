"""Which hanging transactions may be aborted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.replication.rules.hanging_transactions import KnownPlace, counts, known_to, to_abort
from causeway.rules.ledger_consistency import MapEntry

SPOT = ("t", 0)
ORDERS = SourcePartition("src", "orders", 0)


def position(offset: int, delivered: int, place_end: int, partition: int = 0) -> Position:
    place = Place("t", "T", partition)
    return Position(ORDERS, "O", 0, offset, -1, place, 0, place_end, 1, 0, Tally(delivered=delivered))


def mapped(end: int, topic_id: str = "O", source: SourcePartition = ORDERS) -> MapEntry:
    return MapEntry(source, topic_id, end, SPOT, 20)


@pytest.mark.parametrize(
    ("ends", "may_abort"),
    [
        ({}, True),
        ({SPOT: 10}, True),  # and a marker after it
        ({SPOT: 11}, True),
        ({SPOT: 12}, False),  # the ledger has the first of them: aborted, it would be lost
        ({("t", 1): 12}, True),
    ],
)
def test_only_records_that_the_ledger_does_not_have_are_aborted(
    ends: dict[tuple[str, int], int], may_abort: bool
) -> None:
    known = {spot: KnownPlace(end, ORDERS, 5) for spot, end in ends.items()}
    assert to_abort({SPOT: 11}, known) == ({SPOT: 11} if may_abort else {})


def test_without_an_open_transaction_nothing_is_done() -> None:
    assert to_abort({}, {SPOT: KnownPlace(3, ORDERS, 5)}) == {}


def test_of_several_sources_of_a_place_the_last_position_counts() -> None:
    another = replace(position(3, 3, 30), source=SourcePartition("src", "orders", 1))
    assert known_to([position(10, 10, 20), another, position(9, 9, 19)]) == {
        SPOT: KnownPlace(30, another.source, 3)
    }


def test_before_the_first_record_and_with_placement_by_key_the_ledger_has_no_end() -> None:
    assert known_to([position(10, 0, -1), position(10, 10, -1, partition=-1)]) == {}


BEFORE = {ORDERS: position(10, 10, 20)}


@pytest.mark.parametrize(
    ("landed", "known"),
    [
        (mapped(10), True),
        (mapped(11), False),
        (mapped(10, "another topic"), False),
        (mapped(10, source=SourcePartition("src", "orders", 1)), False),
    ],
)
def test_the_map_is_known_as_far_as_the_ledger_is(landed: MapEntry, known: bool) -> None:
    assert counts(landed, BEFORE) is known
