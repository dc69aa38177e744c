"""Positions only advance, account for every offset, and those of the newest generation count."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import (
    LATENCY_BOUNDS_MS,
    NO_LATENCY,
    KnownRecord,
    Place,
    Position,
    SourcePartition,
    Tally,
)
from causeway.core.topic import NO_TOPIC_ID
from causeway.rules.positions import (
    Replicated,
    Waits,
    advance,
    known_record,
    latency_bucket,
    newest,
    on_node,
    percentile,
    resume,
)

ORDERS = SourcePartition("cluster", "orders", 0)


def at(offset: int, *, start: int = 0, generation: int = 1, source: SourcePartition = ORDERS) -> Position:
    """A position with only holes since its start."""
    return Position(
        source, "source-id", start, offset, -1, Place("orders", "place-id", 0), 0, -1, generation, 0,
        Tally(holes=offset - start),
    )  # fmt: skip


small = st.integers(0, 50)
buckets = st.lists(st.integers(0, 1_000), min_size=len(NO_LATENCY), max_size=len(NO_LATENCY)).map(tuple)


@st.composite
def transactions(draw: st.DrawFn) -> list[tuple[int, int, int, int, int, int]]:
    """The delivered, filtered, quarantined records and holes of each transaction; its epoch; its end."""
    return draw(
        st.lists(st.tuples(small, small, small, small, st.integers(-1, 5), st.integers(-1, 500)), max_size=20)
    )


@given(st.integers(0, 1_000), transactions(), buckets)
def test_every_offset_is_accounted_for_at_every_commit(
    start: int, moves: list[tuple[int, int, int, int, int, int]], latency: tuple[int, ...]
) -> None:
    position = at(start, start=start)
    position = replace(position, offset=start + 7, tally=Tally(skipped=7))
    waits = Waits()
    waits.counts = list(latency)
    for now, (delivered, filtered, quarantined, holes, epoch, place_end) in enumerate(moves, 1):
        before = position
        offset = before.offset + delivered + filtered + quarantined + holes
        replicated = Replicated(
            offset, epoch, delivered, filtered, quarantined, 10 * delivered, place_end, waits
        )
        position = advance(before, replicated, now)

        # Invariant H, at every commit and since the start.
        assert position.offset - position.start == position.tally.offsets
        assert position.tally.delivered - before.tally.delivered == delivered
        assert position.tally.filtered - before.tally.filtered == filtered
        assert position.tally.quarantined - before.tally.quarantined == quarantined
        assert position.tally.holes - before.tally.holes == holes
        assert position.tally.bytes - before.tally.bytes == 10 * delivered
        assert sum(position.tally.latency) - sum(before.tally.latency) == sum(latency)
        # Nothing goes back.
        assert position.offset >= before.offset
        assert position.place_end == max(before.place_end, place_end)
        assert position.epoch == (epoch if epoch >= 0 else before.epoch)
        # Its identity does not change.
        assert position.at == now
        assert replace(
            position, offset=start, epoch=-1, seen=-1, place_end=-1, at=0, tally=Tally()
        ) == at(start, start=start)  # fmt: skip


@given(st.integers(0, 100), st.integers(-10, 200), small, small, small)
def test_a_position_never_goes_back_and_never_counts_more_than_its_offsets(
    offset: int, target: int, delivered: int, filtered: int, quarantined: int
) -> None:
    replicated = Replicated(target, 0, delivered, filtered, quarantined)
    if target >= offset and delivered + filtered + quarantined <= target - offset:
        assert advance(at(offset), replicated, 1).offset == target
    else:
        with pytest.raises(ValueError, match="cannot move"):
            advance(at(offset), replicated, 1)


@pytest.mark.parametrize(
    ("epoch", "seen", "log_start", "fetch_from"),
    [
        (3, 10, 0, (9, 3)),  # markers up to 16: the epoch is that of the record at 9
        (3, 10, 9, (9, 3)),
        (3, 10, 10, (16, -1)),  # the record was deleted: nothing to check
        (3, 16, 0, (15, 3)),
        (3, -1, 0, (15, 3)),  # a position of the first versions
        (-1, 10, 0, (16, -1)),
        (3, 0, 0, (16, -1)),  # nothing was seen yet
    ],
)
def test_the_last_record_seen_is_fetched_again(
    epoch: int, seen: int, log_start: int, fetch_from: tuple[int, int]
) -> None:
    assert resume(replace(at(16), epoch=epoch, seen=seen), log_start) == fetch_from


def test_on_a_compacted_topic_the_fetch_begins_after_the_last_record_seen() -> None:
    assert resume(replace(at(16), epoch=3, seen=10), 0, compacted=True) == (10, 3)
    assert resume(replace(at(16), epoch=3, seen=10), 10, compacted=True) == (16, -1)
    assert resume(replace(at(16), epoch=-1, seen=10), 0, compacted=True) == (16, -1)


def test_the_last_record_seen_is_kept_until_another_is_seen() -> None:
    once = advance(at(0), Replicated(5, 2, 5, seen=5), 1)
    assert (once.seen, once.epoch) == (5, 2)
    advanced = advance(once, Replicated(9, -1), 2)
    assert (advanced.offset, advanced.seen, advanced.epoch) == (9, 5, 2)


def test_a_transaction_without_latencies_keeps_the_earlier_ones() -> None:
    waits = Waits()
    waits.add(7)
    counted = advance(at(0), Replicated(1, 0, 1, waits=waits), 1)
    assert counted.tally.latency_ms == 7
    after = advance(counted, Replicated(2, 0, 1), 2)
    assert (after.tally.latency, after.tally.latency_ms) == (counted.tally.latency, 7)


histories = st.lists(
    st.builds(
        at,
        st.integers(0, 100),
        generation=st.integers(1, 4),
        source=st.sampled_from([ORDERS, SourcePartition("cluster", "orders", 1)]),
    ),
    max_size=12,
)


@given(histories)
def test_the_newest_generation_counts_and_within_it_the_highest_offset(positions: list[Position]) -> None:
    best = newest(positions)
    assert set(best) == {position.source for position in positions}
    for source, winner in best.items():
        rivals = [position for position in positions if position.source == source]
        assert winner in rivals
        assert (winner.generation, winner.offset) == max((p.generation, p.offset) for p in rivals)


def test_an_older_generation_loses_even_with_a_higher_offset() -> None:
    """A zombie of the old sharding may have continued; its positions do not count."""
    assert newest([at(9, generation=1), at(5, generation=2)])[ORDERS].offset == 5
    assert newest([at(5, generation=2), at(9, generation=1)])[ORDERS].offset == 5


@given(st.integers(-1_000, 10**9))
def test_a_latency_is_in_the_bucket_with_the_first_bound_not_below_it(milliseconds: int) -> None:
    bucket = latency_bucket(milliseconds)
    assert 0 <= bucket < len(NO_LATENCY)
    if bucket < len(LATENCY_BOUNDS_MS):
        assert milliseconds <= LATENCY_BOUNDS_MS[bucket]
    if bucket > 0:
        assert milliseconds > LATENCY_BOUNDS_MS[bucket - 1]


@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(latencies: list[int], share: float) -> None:
    latency = list(NO_LATENCY)
    for milliseconds in latencies:
        latency[latency_bucket(milliseconds)] += 1
    true = sorted(latencies)[math.ceil(len(latencies) * share) - 1]
    bucket = latency_bucket(true)
    low = LATENCY_BOUNDS_MS[bucket - 1] if bucket else 0
    high = LATENCY_BOUNDS_MS[bucket] if bucket < len(LATENCY_BOUNDS_MS) else low
    assert low <= percentile(latency, share) <= high


@given(buckets, st.floats(0, 1), st.floats(0, 1))
def test_percentiles_rise_with_the_share_and_stay_within_the_bounds(
    latency: tuple[int, ...], share: float, other: float
) -> None:
    low, high = sorted((share, other))
    assert 0 <= percentile(latency, low) <= percentile(latency, high) <= LATENCY_BOUNDS_MS[-1]


def test_within_a_bucket_latencies_are_interpolated() -> None:
    latency = list(NO_LATENCY)
    latency[latency_bucket(15)] = 100  # above 10 ms, at most 15
    assert percentile(latency, 0.5) == 12.5
    assert percentile(latency, 1.0) == 15.0
    latency[-1] = 900  # above the last bound nothing is known
    assert percentile(latency, 0.99) == LATENCY_BOUNDS_MS[-1]


def test_without_records_there_is_no_latency() -> None:
    assert percentile(NO_LATENCY, 0.99) == 0.0


texts = st.text(max_size=30)
numbers = st.integers(-1, 2**62)
positions = st.builds(
    Position,
    source=st.builds(SourcePartition, texts, texts, st.integers(0, 10_000)),
    topic_id=texts,
    start=numbers,
    offset=numbers,
    epoch=numbers,
    place=st.builds(Place, texts, texts, st.integers(0, 10_000)),
    place_start=numbers,
    place_end=numbers,
    generation=numbers,
    at=numbers,
    tally=st.builds(Tally, numbers, numbers, numbers, numbers, numbers, buckets),
)


@given(positions)
def test_a_position_survives_json(position: Position) -> None:
    assert Position.from_json(json.loads(json.dumps(position.to_json()))) == position


def test_on_another_node_of_a_pool_nothing_is_known_of_topic_and_epoch() -> None:
    read = replace(at(10), node="a", epoch=4)
    assert on_node(read, "a") == read
    assert on_node(read, "b") == replace(read, node="b", epoch=-1, topic_id=NO_TOPIC_ID)


def test_a_position_from_before_the_pool_is_of_the_cluster_that_gave_it_its_id() -> None:
    read = replace(at(10), epoch=4)
    assert on_node(read, "cluster") == replace(read, node="cluster")
    assert on_node(read, "b").epoch == -1


@pytest.mark.parametrize(
    ("known", "epoch", "log_start", "compared"),
    [
        (9, -1, 0, True),
        (9, -1, 9, True),
        (9, -1, 10, False),  # retention has removed it
        (9, 4, 0, False),  # the epoch identifies the last record seen
        (10, -1, 0, False),  # the position was moved back: a fetch from there would skip records
        (None, -1, 0, False),
    ],
)
def test_the_known_record_is_compared_where_the_epoch_says_nothing(
    known: int | None, epoch: int, log_start: int, *, compared: bool
) -> None:
    record = KnownRecord(known, "digest") if known is not None else None
    position = replace(at(10), node="a", known=record, epoch=epoch)
    assert known_record(position, log_start) == (record if compared else None)


def test_a_position_keeps_the_known_record_until_there_is_a_later_one() -> None:
    position = replace(at(10), node="a", known=KnownRecord(9, "nine"))
    assert advance(position, Replicated(12, 1), 5).known == KnownRecord(9, "nine")
    assert advance(position, Replicated(12, 1, known=KnownRecord(11, "x")), 5).known == KnownRecord(11, "x")
