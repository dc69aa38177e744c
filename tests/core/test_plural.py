from __future__ import annotations

import pytest

from causeway.core.plural import counted, is_are


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 partitions"),
        (1, "1 partition"),
        (2, "2 partitions"),
        (1_234, "1,234 partitions"),
        (-1, "-1 partition"),
        (-2, "-2 partitions"),
    ],
)
def test_a_count_agrees_with_its_noun(count: int, text: str) -> None:
    assert counted(count, "partition") == text


def test_irregular_plurals_are_given() -> None:
    assert [counted(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]


def test_the_verb_agrees_with_the_count() -> None:
    assert [is_are(count) for count in (0, 1, 2)] == ["are", "is", "are"]
