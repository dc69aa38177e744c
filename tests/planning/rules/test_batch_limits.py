"""A topic's limit does not affect the batches of other topics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.planning.rules.batch_limits import (
    BATCH_OVERHEAD,
    LARGEST,
    SMALL,
    Room,
    batch_bytes,
    limit_of,
    small,
)

limits = st.integers(0, 2 * LARGEST)


@given(st.lists(limits))
def test_a_batch_fits_every_topic_that_has_no_limit_of_its_own(topic_limits: list[int]) -> None:
    size = batch_bytes(topic_limits)
    assert SMALL <= size <= LARGEST
    assert all(size <= limit for limit in topic_limits if small(limit) is None)


def test_a_topics_limit_is_the_least_of_its_settings() -> None:
    assert limit_of({"max.message.bytes": "5000000", "segment.bytes": "1048576"}) == 1_048_576
    assert limit_of({"max.message.bytes": "1000", "segment.bytes": "1048576"}) == 1_000
    assert limit_of({}) > LARGEST


@given(limits, st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2_000))))
def test_records_in_flight_fit_into_one_batch_or_are_one_record(
    limit: int, records: list[tuple[int, int]]
) -> None:
    room = Room()
    waiting: dict[int, list[int]] = {}
    for place, size in records:
        if not room.fits(("t", place), size, limit):
            room.acknowledged()
            waiting.clear()
        room.sent(("t", place), size)
        waiting.setdefault(place, []).append(size)
        for sizes in waiting.values():
            assert len(sizes) == 1 or sum(sizes) + BATCH_OVERHEAD <= limit
