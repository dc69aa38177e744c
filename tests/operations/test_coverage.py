"""How many times each offset was replicated, whatever the moves and the clocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.ledger_record import Gap
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.topic import NO_TOPIC_ID
from causeway.rules.coverage import QuarantineMismatch, compare_quarantine, coverage_of, quarantined_ranges
from causeway.rules.gaps import begun_again, moved

FIRST = Position(
    source=SourcePartition("paris", "orders", 1),
    topic_id="here",
    start=20,
    offset=20,
    epoch=3,
    place=Place("orders", "there", 1),
    place_start=0,
    place_end=-1,
    generation=1,
    at=0,
)
MOST = 60


def move(position: Position, to: int, at: int = 0) -> tuple[Position, Gap]:
    return moved(position, to, verdict="skip", by="me@here", why="", at=at)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("replicate"), st.integers(0, 15)),
            st.tuples(st.just("move"), st.integers(0, MOST)),
        ),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_every_offset_is_covered_as_often_as_it_was_replicated(steps, clock) -> None:  # type: ignore[no-untyped-def]
    position, gaps, replicated = FIRST, [], Counter[int]()
    for step, number in steps:
        if step == "replicate":
            end = min(MOST, position.offset + number)
            replicated.update(range(position.offset, end))
            position = replace(position, offset=end)
        else:
            position, gap = move(position, number, at=clock.randrange(1_000))
            gaps.append(gap)
    clock.shuffle(gaps)

    coverage = coverage_of(position, gaps)

    everywhere = range(MOST + 5)
    assert [coverage.at(offset) for offset in everywhere] == [replicated[offset] for offset in everywhere]
    assert coverage.repeats == any(times > 1 for times in replicated.values())
    assert coverage.begin == min([FIRST.start, *(gap.end for gap in gaps)])
    skipped = [offset for begin, end in coverage.skipped() for offset in range(begin, end)]
    assert skipped == [n for n in range(coverage.begin, position.offset) if not replicated[n]]
    for low, high in ((0, MOST), (10, 30), (25, 26)):
        assert coverage.within(low, high) == sum(replicated[n] > 0 for n in range(low, high))


def test_gaps_of_a_recreated_topic_do_not_count_for_this_one() -> None:
    old, forward = move(replace(FIRST, offset=30), 50)
    new, restart = begun_again(replace(old, offset=55), "another", 4, FIRST.place, 35, "recreated", 9)

    coverage = coverage_of(replace(new, offset=10), [forward, restart])

    assert (coverage.begin, coverage.skipped(), coverage.repeats) == (4, (), False)


def test_quarantined_records_are_listed_unless_they_were_delivered_too() -> None:
    position = replace(FIRST, offset=40)
    back, gap = move(position, 30)
    again = coverage_of(replace(back, offset=40), [gap])

    assert quarantined_ranges(coverage_of(position, []), {22: 1, 23: 1, 31: 1}) == ((22, 24), (31, 32))
    assert quarantined_ranges(again, {22: 1, 31: 1, 32: 2}) == ((22, 23), (32, 33)), (
        "31 was delivered in the end"
    )


def test_after_the_position_a_label_may_be_newer_or_from_before_a_move_back() -> None:
    back, gap = move(replace(FIRST, offset=40), 30)

    assert quarantined_ranges(coverage_of(replace(FIRST, offset=40), []), {45: 1}) == ((45, 46),)
    assert quarantined_ranges(coverage_of(back, [gap]), {35: 1}) == (), "it will be retried"


def test_a_skipped_record_does_not_count_as_quarantined_by_a_label() -> None:
    position, gap = move(FIRST, 30)

    assert quarantined_ranges(coverage_of(position, [gap]), {25: 1}) == ()


def test_the_ledger_and_the_quarantine_must_agree() -> None:
    assert compare_quarantine(2, {5: 1, 7: 1}, 10) == QuarantineMismatch()
    assert compare_quarantine(3, {5: 1, 7: 1}, 10) == QuarantineMismatch(missing=1)
    assert compare_quarantine(1, {5: 1, 7: 1}, 10) == QuarantineMismatch(uncounted=1)
    assert compare_quarantine(1, {5: 1, 17: 1}, 10) == QuarantineMismatch(), (
        "the second came after the ledger was read"
    )
    assert compare_quarantine(2, {5: 1, 17: 1}, 10) == QuarantineMismatch(), "or before a move back"


def test_records_skipped_before_the_topic_had_an_id_count_as_skipped() -> None:
    nameless, gap = move(replace(FIRST, topic_id=NO_TOPIC_ID), 30)
    assert coverage_of(replace(nameless, topic_id="here"), [gap]).skipped() == ((20, 30),)
    other, began = begun_again(replace(nameless, topic_id="here"), "other", 0, FIRST.place, 0, "", 1)
    other = replace(other, offset=40)
    assert coverage_of(other, [gap, began]).skipped() == (), "of another topic of the name"


def test_on_a_source_pool_gaps_count_whichever_node_they_were_found_on() -> None:
    """Each node has a topic id of its own."""
    of_pool, gap = move(replace(FIRST, node="n1"), 30)
    on_another = replace(of_pool, topic_id="id on n2", node="n2", offset=60)
    assert coverage_of(on_another, [gap]).skipped() == ((20, 30),)
    restarted, began = begun_again(on_another, "new on n2", 0, FIRST.place, 0, "", 1)
    assert coverage_of(replace(restarted, offset=10), [began]).within(0, 10) == 10
    later, skipped = move(restarted, 5)
    coverage = coverage_of(replace(later, topic_id="new on n1", node="n1", offset=9), [began, skipped])
    assert coverage.skipped() == ((0, 5),)
