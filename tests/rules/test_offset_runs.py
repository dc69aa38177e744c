"""Runs stay an exact map of source offsets to destination offsets, in as few pieces as possible."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from causeway.rules.offset_runs import OffsetRun, contiguous, join

Pairs = list[tuple[int, int]]


@st.composite
def maps(draw: st.DrawFn) -> Pairs:
    """Source and destination offsets of records in order, with jumps on either side."""
    source, destination = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    pairs = []
    jumps = st.sampled_from([1, 1, 1, 1, 2, 5])
    for _ in range(draw(st.integers(0, 60))):
        pairs.append((source, destination))
        source += draw(jumps)
        destination += draw(jumps)
    return pairs


def joined(*pieces: Iterable[OffsetRun]) -> list[OffsetRun]:
    runs: list[OffsetRun] = []
    for piece in pieces:
        join(runs, list(piece))
    return runs


def single(pairs: Pairs) -> list[OffsetRun]:
    """A run for each record."""
    return joined(*([OffsetRun(source, destination, 1)] for source, destination in pairs))


def spelled(runs: list[OffsetRun]) -> Pairs:
    return [(run.source + i, run.destination + i) for run in runs for i in range(run.length)]


@given(maps())
def test_joining_keeps_the_map_exact(pairs: Pairs) -> None:
    assert spelled(single(pairs)) == pairs


@given(maps())
def test_no_two_adjacent_runs_can_be_joined(pairs: Pairs) -> None:
    runs = single(pairs)
    for before, after in pairwise(runs):
        both_go_on = (before.source + before.length, before.destination + before.length)
        assert both_go_on != (after.source, after.destination)


@given(maps(), st.lists(st.integers(1, 5), max_size=60))
def test_the_map_is_the_same_however_it_is_split(pairs: Pairs, sizes: list[int]) -> None:
    whole = single(pairs)
    pieces, rest = [], list(pairs)
    for size in [*sizes, len(pairs)]:
        piece, rest = rest[:size], rest[size:]
        pieces.append(single(piece))
    assert joined(*pieces) == whole
    assert joined(whole) == whole


def test_the_drawing_at_the_top_of_the_module() -> None:
    pairs = [(10, 7), (11, 8), (12, 9), (15, 10), (16, 11)]
    assert single(pairs) == [(10, 7, 3), (15, 10, 2)]


@given(st.integers(0, 100), st.lists(st.integers(0, 3), min_size=0, max_size=30))
def test_first_last_and_count_show_whether_others_wrote_in_between(first: int, others: list[int]) -> None:
    """Before each record except the first, other producers wrote this many."""
    last = first + sum(others) + len(others)
    assert contiguous(first, last, len(others) + 1) is (sum(others) == 0)


def test_a_report_without_an_offset_is_never_contiguous() -> None:
    assert not contiguous(-1, -1, 1)
    assert not contiguous(-1001, -1000, 2)
