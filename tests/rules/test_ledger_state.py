"""The ledger's state depends on its log's order and on leases; never on a clock."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.ledger_record import CopiedSchema, Gap, NeededSchemas, Stopped
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.schema import SchemaUse
from causeway.rules.ledger_state import LedgerState

SOURCE = SourcePartition("c", "orders", 0)
STOPPED = Stopped(*SOURCE, verdict="gap", what="what", todo="todo", at=1_000, expected=5, lease=3)
CLEARED = Stopped(*SOURCE, verdict="", what="", todo="", at=1_001, lease=3)
GAP = Gap(*SOURCE, "t", 10, "t", 30, "gap", "ann", "retention", 1_000)


def state_of(*written: tuple[int, Stopped | Gap]) -> LedgerState:
    made = LedgerState()
    for partition, record in written:
        made.apply(partition, record)
    return made


def test_a_partition_that_stops_after_the_clock_was_set_back_is_stopped() -> None:
    """In one run: it stopped, resumed, and stopped again an hour earlier by its clock."""
    again = replace(STOPPED, at=400)
    assert state_of((1, STOPPED), (1, CLEARED), (1, again)).stopped == {SOURCE: again}


def test_a_partition_that_resumes_after_the_clock_was_set_back_is_not_stopped() -> None:
    assert not state_of((1, STOPPED), (1, replace(CLEARED, at=400))).stopped


@given(st.lists(st.tuples(st.sampled_from(["gap", ""]), st.integers(0, 100)), min_size=1))
def test_in_one_log_the_last_record_counts_whatever_its_timestamp(words: list[tuple[str, int]]) -> None:
    records = [replace(STOPPED, verdict=verdict, at=at) for verdict, at in words]
    stopped = state_of(*((1, record) for record in records)).stopped
    assert stopped == ({SOURCE: records[-1]} if records[-1].verdict else {})


def test_of_a_partition_that_moved_to_another_shard_the_later_lease_counts() -> None:
    """Whichever of the ledger's partitions was read first, and with a clock that was set back in between."""
    earlier, later = replace(STOPPED, lease=3, at=5_000), replace(CLEARED, lease=4, at=100)
    assert not state_of((1, earlier), (2, later)).stopped
    assert not state_of((2, later), (1, earlier)).stopped
    back = replace(STOPPED, lease=5, at=50)
    for order in ([(1, earlier), (1, back), (2, later)], [(2, later), (1, earlier), (1, back)]):
        assert state_of(*order).stopped == {SOURCE: back}


def test_an_operators_gap_of_an_older_version_clears_a_verdict_in_another_partition() -> None:
    """It was written under the lease of the verdict, a millisecond later."""
    for order in ([(1, STOPPED), (2, CLEARED)], [(2, CLEARED), (1, STOPPED)]):
        assert not state_of(*order).stopped


def test_gaps_are_in_the_order_of_their_log() -> None:
    first, second, elsewhere = GAP, replace(GAP, begin=40, at=400), replace(GAP, partition=1, at=900)
    known = state_of((2, elsewhere), (1, first), (1, second))
    assert known.gaps_in_order() == [elsewhere, first, second]
    assert known.gaps_of(SOURCE) == [first, second]


def test_partitions_wait_for_schemas_until_they_are_known_or_went_on() -> None:
    ledger = LedgerState()
    use, other = SchemaUse("c", "orders", "value", 7), SchemaUse("c", "orders", "key", 8)
    needed = NeededSchemas(*SOURCE, 20, (("value", 7), ("key", 8)), 0)
    ledger.apply(1, needed)
    assert ledger.needed_schemas(3) == {SOURCE: [use, other]}
    ledger.apply(0, CopiedSchema(*use, 70, "s", "s", 1, 2, 0))
    ledger.apply(0, CopiedSchema(*other, None, "", "", 0, 2, 0))  # unknown, in an earlier run
    assert ledger.needed_schemas(3) == {SOURCE: [other]}
    assert ledger.needed_schemas(2) == {}
    assert ledger.schemas_known(3) == {use: 70}
    ledger.apply(1, Position(SOURCE, "t", 0, 20, -1, Place("t", "id", 0), 0, -1, 1, 0))
    assert ledger.needed_schemas(3) == {SOURCE: [other]}
    ledger.apply(1, Position(SOURCE, "t", 0, 21, -1, Place("t", "id", 0), 0, -1, 1, 0))
    assert ledger.needed_schemas(3) == {}, "an operator skipped the record"
