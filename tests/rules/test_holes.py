"""Offsets without records: which of them the log's batches explain, and which not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.kafka.batches import batches_logged, markers_counted
from causeway.rules.gaps import passed_holes
from causeway.rules.holes import FEW, Hole, LogBatch, holes_between, lost, ordinary, unexplained

SOURCE = SourcePartition("c", "t", 0)


@given(st.integers(0, 50), st.integers(0, 50), st.sets(st.integers(0, 60)))
def test_every_offset_is_replicated_or_in_one_hole(begin: int, length: int, taken: set[int]) -> None:
    end = begin + length
    inside = {offset for offset in taken if begin <= offset < end}
    holes = holes_between(begin, end, [(offset, 1) for offset in inside])
    missing = [offset for hole in holes for offset in range(*hole)]
    assert sorted(missing) == sorted(set(range(begin, end)) - inside)
    assert all(hole.size > 0 for hole in holes)
    assert all(hole.end < following.begin for hole, following in pairwise(holes))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), st.booleans()), max_size=8))
def test_batches_explain_exactly_their_own_offsets(drawn: list[tuple[int, int, bool]]) -> None:
    batches = [LogBatch(first, first + more, marker) for first, more, marker in drawn]
    held = {offset for batch in batches for offset in range(batch.first, batch.last + 1)}
    left = [offset for hole in unexplained(Hole(10, 30), batches) for offset in range(*hole)]
    assert left == [offset for offset in range(10, 30) if offset not in held]


@pytest.mark.parametrize(
    ("batches", "size"),
    [
        ([LogBatch(10, 10, True)], 1),
        ([LogBatch(number, number, True) for number in range(10, 110)], 100),  # of a hundred producers
        ([LogBatch(10, 12, False), LogBatch(13, 13, True)], 4),
        ([LogBatch(10, 108, False), LogBatch(109, 109, True)], 0),  # an abort: checked each time
        ([LogBatch(10, 10, True), LogBatch(11, 90, False)], 1),  # a batch after the hole does not count
    ],
)
def test_adjacent_markers_are_ordinary_and_long_aborts_are_not(batches: list[LogBatch], size: int) -> None:
    end = 11 if len(batches) == 2 and batches[1].last == 90 else batches[-1].last + 1
    assert ordinary(Hole(10, end), batches) == size
    assert FEW < 100


def test_a_hole_that_a_policy_skips_is_counted_and_recorded_as_a_gap() -> None:
    position = Position(
        SOURCE, "id", 0, 50, 7, Place("t", "id", 0), 0, 30, 1, 5, Tally(delivered=28, holes=22)
    )
    after, gaps = passed_holes(position, [Hole(10, 20), Hole(30, 40)])
    assert (after.tally.holes, after.tally.skipped) == (2, 20)
    assert after.offset - after.start == after.tally.offsets
    assert [(gap.begin, gap.end, gap.skipped, gap.verdict) for gap in gaps] == [
        (10, 20, 10, "gap"), (30, 40, 10, "gap"),
    ]  # fmt: skip


def test_a_verdict_names_what_is_lost_and_how_to_continue() -> None:
    finding = lost(SOURCE, Hole(1_000, 3_000))
    assert (finding.verdict, finding.expected, finding.found, finding.gone) == ("gap", 1_000, 3_000, 2_000)
    assert "t[0] has no records at offsets 1000 to 2999 (2,000)" in finding.what
    assert "causeway offsets skip --to 3000" in finding.todo


LINE = (
    "CONSUME [causeway#consumer-7] [thrd:h:9092/0]: h:9092/0: Enqueue {} message(s) (0 bytes, 1 ops) on"
    " t [0] fetch queue (qlen 1, v4, last_offset {}, {} ctrl msgs, 0 aborted msgsets, uncompressed)"
)


def test_the_clients_log_names_batches() -> None:
    lines = ["FETCH [causeway#consumer-7] …", LINE.format(5, 14, 0), LINE.format(1, 15, 1)]
    assert batches_logged(lines) == [LogBatch(10, 14, False), LogBatch(15, 15, True)]
    assert batches_logged(lines[:1]) is None, "another client version may log it differently"


ABORTED = [LogBatch(offset, offset, False) for offset in (1, 3, 5, 7)]  # and a marker after each


def test_a_complete_fetch_shows_where_markers_are() -> None:
    lines = [LINE.format(4, 4, 2), LINE.format(4, 8, 2)]
    assert [batch.first for batch in markers_counted(lines, 1, ABORTED)] == [2, 4, 6, 8]


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        ([(3, 4, 1), (4, 8, 2)], [6, 8]),  # an offset before 4 is missing
        ([(4, 4, 1), (4, 8, 2)], [6, 8]),  # a record came that was not delivered
        ([(4, 4, 2), (6, 8, 3)], [2, 4]),  # offsets that were fetched again prove nothing
        ([(4, 4, 2), (0, -1, 0), (4, 8, 2), (4, 8, 2)], [2, 4, 6, 8]),
        ([], []),
    ],
)
def test_inconsistent_counts_prove_nothing(lines: list[tuple[int, int, int]], known: list[int]) -> None:
    logged = [LINE.format(*line) for line in lines]
    assert [batch.first for batch in markers_counted(logged, 1, ABORTED)] == known
