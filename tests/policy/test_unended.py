"""What may be thrown away of a transaction that lost its end."""

from __future__ import annotations

import pytest

from causeway.model.position import Place, Position, SourcePartition, Tally
from causeway.policy.runs import Run
from causeway.policy.unended import Landed, is_known, to_abort, witnesses

SPOT = ("t", 0)
ORDERS = SourcePartition("src", "orders", 0)


def position(offset: int, delivered: int, place_end: int, partition: int = 0) -> Position:
    place = Place("t", "T", partition)
    return Position(ORDERS, "O", 0, offset, -1, place, 0, place_end, 1, 0, Tally(delivered=delivered))


def mapped(source: int, destination: int, length: int, partition: int = 0) -> Landed:
    return Landed(ORDERS, "O", ("t", partition), (Run(source, destination, length),))


@pytest.mark.parametrize(
    ("known_to", "thrown_away"),
    [
        ({}, True),
        ({SPOT: -1}, True),  # nothing was carried there yet
        ({SPOT: 10}, True),  # and a marker behind it
        ({SPOT: 11}, True),
        ({SPOT: 12}, False),  # the ledger knows the first of them: thrown away, it would be lost
        ({("t", 1): 12}, True),
    ],
)
def test_only_what_the_ledger_does_not_know(known_to: dict[tuple[str, int], int], thrown_away: bool) -> None:
    assert to_abort({SPOT: 11}, known_to) == ({SPOT: 11} if thrown_away else {})


def test_where_nothing_is_open_nothing_is_done() -> None:
    assert to_abort({}, {SPOT: 3}) == {}


BEFORE = {ORDERS: position(10, 10, 20)}
BY_KEY = {ORDERS: position(10, 10, -1, partition=-1)}


def test_the_last_record_that_was_written_tells_of_the_rest() -> None:
    assert witnesses(BEFORE, [position(13, 13, 24)], []).seen == {SPOT: 23}
    assert witnesses({}, [position(3, 3, 4)], []).seen == {SPOT: 3}


def test_a_record_of_an_earlier_transaction_tells_nothing() -> None:
    filtered = position(13, 10, 20)
    assert witnesses(BEFORE, [filtered], []) == witnesses({}, [], [])


def test_where_keys_choose_the_offset_map_knows() -> None:
    moved = position(12, 12, -1, partition=-1)
    assert witnesses(BY_KEY, [moved], []).silent == {ORDERS}
    said = witnesses(BY_KEY, [moved], [mapped(10, 5, 1, 3), mapped(11, 7, 1, 4)])
    assert said.seen == {("t", 3): 5, ("t", 4): 7}
    assert not said.silent


@pytest.mark.parametrize(
    ("landed", "known"),
    [
        (mapped(7, 17, 3), True),
        (mapped(8, 18, 3), False),
        (Landed(ORDERS, "another topic", SPOT, (Run(7, 17, 3),)), False),
        (Landed(SourcePartition("src", "orders", 1), "O", SPOT, (Run(7, 17, 3),)), False),
    ],
)
def test_the_map_is_known_as_far_as_the_ledger_is(landed: Landed, known: bool) -> None:
    assert is_known(landed, BEFORE) is known
