"""A quarantined record's label is read back as it was written, behind headers that stay as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.model.position import SourcePartition
from causeway.policy.quarantine import PREFIX, Label, label_of, labelled

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


def test_what_is_no_label_is_none() -> None:
    assert label_of(None) is None
    assert label_of([("a", None)]) is None
    whole = labelled([], Label(SourcePartition("c", "t", 0), "id", 1, 2, "why"))
    assert label_of(whole[:-1]) is None
    assert label_of([*whole, (f"{PREFIX}offset", b"far")]) is None
