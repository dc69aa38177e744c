"""The headers that a mirror adds, and what else a record has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.rules.added_headers import AddedHeaders
from causeway.rules.header_names import MOST_ADDED, MOST_HEADERS
from causeway.rules.provenance import HEADER
from causeway.rules.timings import CONSUMED, PRODUCED, without_times

headers = st.lists(
    st.tuples(st.sampled_from(["a", "b", HEADER, CONSUMED, PRODUCED]), st.none() | st.binary(max_size=3)),
    max_size=5,
)
times = st.integers(0, 1 << 45)


@given(st.none() | headers, times, times)
def test_a_record_has_each_time_once_and_its_other_headers_in_order(
    before: list[tuple[str, bytes | None]] | None, consumed: int, produced: int
) -> None:
    """Also on the second hop: the times are those of the last mirror."""
    after = AddedHeaders(consumed=consumed).to(before, produced)
    assert list(after[-2:]) == [(CONSUMED, str(consumed).encode()), (PRODUCED, str(produced).encode())]
    others = [header for header in before or [] if header[0] not in (CONSUMED, PRODUCED)]
    assert list(after[:-2]) == others
    again = AddedHeaders(consumed=consumed + 1).to(after, produced + 1)
    assert len(again) == len(after)
    assert list(without_times(again)) == list(without_times(before or [])) == others


@given(st.none() | headers, times)
def test_a_mark_of_origin_comes_before_the_times(
    before: list[tuple[str, bytes | None]] | None, consumed: int
) -> None:
    after = AddedHeaders(b"paris", consumed).to(before, consumed)
    assert sum(name == HEADER for name, _ in after) >= 1
    assert [name for name, _ in after[-2:]] == [CONSUMED, PRODUCED]
    assert len(after) <= len(before or []) + MOST_ADDED


def test_a_record_must_be_readable_with_what_is_added() -> None:
    room = AddedHeaders(b"paris", 1)
    assert room.fits([("h", b"")] * (MOST_HEADERS - MOST_ADDED))
    assert not room.fits([("h", b"")] * (MOST_HEADERS - MOST_ADDED + 1))
    assert room.fits([("h", b"")] * (MOST_HEADERS - MOST_ADDED) + [(HEADER, b"x")])
    assert AddedHeaders(b"paris").fits([("h", b"")] * (MOST_HEADERS - 1))
