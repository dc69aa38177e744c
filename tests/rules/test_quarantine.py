"""A quarantined record's label is read back as it was written, after headers that stay unchanged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import SourcePartition
from causeway.rules.header_names import MOST_HEADERS, as_text, encoded, is_plain
from causeway.rules.quarantine import PREFIX, Label, label_of, labelled

names = st.text(min_size=1, max_size=20)
labels = st.builds(
    Label,
    st.builds(SourcePartition, names, names, st.integers(0, 999)),
    names,
    st.integers(0),
    st.integers(-1),
    names,
)
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=20)), max_size=4)


@given(headers, labels, labels)
def test_a_label_is_read_back_and_the_newest_counts(
    own: list[tuple[str, bytes | None]], first: Label, second: Label
) -> None:
    once = labelled(own, first)
    assert once[: len(own)] == own
    assert label_of(once) == first
    assert label_of(labelled(once, second)) == second


def test_headers_without_a_complete_label_have_none() -> None:
    assert label_of(None) is None
    assert label_of([("a", None)]) is None
    whole = labelled([], Label(SourcePartition("c", "t", 0), "id", 1, 2, "why"))
    assert label_of(whole[:-1]) is None
    assert label_of([*whole, (f"{PREFIX}offset", b"far")]) is None


@given(st.lists(st.tuples(st.binary(max_size=8).map(as_text), st.none() | st.binary(max_size=8)), max_size=4))
def test_names_that_not_every_client_can_write_are_escaped_reversibly(
    own: list[tuple[str, bytes | None]],
) -> None:
    label = Label(SourcePartition("c", "t", 0), "id", 1, 2, "why")
    made = labelled(own, label, escape=True)

    assert all(is_plain(name) for name, _ in made)
    assert [value for _, value in made[: len(own)]] == [value for _, value in own]
    escaped = (dict(made).get(f"{PREFIX}escaped-names") or b"").decode()
    odd = {int(number) for number in escaped.split(",") if number}
    for number, (name, _) in enumerate(own):
        name_read = made[number][0]
        if number in odd:
            name_read = as_text(name_read.encode().decode("unicode_escape").encode("latin-1"))
        assert encoded(name_read) == encoded(name)
    assert label_of(made) == label


def test_a_copy_with_too_many_headers_has_none_and_its_label_names_that() -> None:
    label = Label(SourcePartition("c", "t", 0), "id", 1, 2, "why")
    made = labelled([("h", b"")] * MOST_HEADERS, label)
    assert len(made) < 20
    read = label_of(made)
    assert read is not None
    assert read.lacks == "headers"
