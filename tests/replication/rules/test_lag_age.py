"""A lag's age never exceeds the age of its records, and is zero only if everything is replicated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.replication.rules.lag_age import MOST, Ages


def test_the_drawing_at_the_top_of_the_module() -> None:
    ages = Ages[str]()
    for now, end in ((0, 5), (60, 8), (120, 9)):
        ages.saw(now, {"p": end}, {"p": 4})
    assert ages.age(130, "p", 6) == 70
    assert ages.age(130, "p", 8) == 10
    assert ages.age(130, "p", 9) == 0
    assert ages.age(130, "q", 0) == 0


def test_a_shorter_log_is_another_log() -> None:
    ages = Ages[str]()
    ages.saw(0, {"p": 100}, {})
    ages.saw(50, {"p": 3}, {})
    assert ages.age(60, "p", 0) == 10


def test_a_deleted_partition_is_forgotten() -> None:
    ages = Ages[str]()
    ages.saw(0, {"p": 100}, {})
    ages.saw(1, {}, {})
    assert ages.age(2, "p", 0) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=300))
def test_an_age_is_never_too_high_and_zero_only_at_the_end(steps: list[tuple[int, int]]) -> None:
    """Records arrive and are replicated; there is a sample every second."""
    ages = Ages[str]()
    came: list[float] = []
    position = 0
    for now, (more, replicated) in enumerate(steps):
        came += [now] * more
        position = min(len(came), position + replicated)
        ages.saw(now, {"p": len(came)}, {"p": position})
        age = ages.age(now, "p", position)
        assert (age == 0) == (position == len(came) or came[position] == now)
        assert age <= now - came[position] if position < len(came) else age == 0
        if len(steps) <= MOST and position < len(came):
            assert age == now - came[position], "exact, if every sample is kept"
