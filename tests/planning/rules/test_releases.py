"""A release is reported only if everything up to it is supported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.planning.rules.releases import FETCH, PRODUCE, TRANSACTIONS, at_least

KAFKA_0_11 = {PRODUCE: 3, FETCH: 5, 2: 2, 3: 4, 11: 2, 16: 1, 22: 0, 24: 0, 26: 0}
KAFKA_2_8 = {PRODUCE: 9, FETCH: 12, 2: 6, 3: 11, 11: 7, 16: 4, 22: 4, 24: 3, 26: 3, 35: 2}
KAFKA_3_4 = {PRODUCE: 9, FETCH: 13, 2: 7, 3: 12, 11: 9, 16: 4, 22: 4, 24: 3, 26: 3, 35: 4}
KAFKA_4_1 = {PRODUCE: 13, FETCH: 18, 2: 10, 3: 13, 11: 9, 16: 5, 22: 5, 24: 5, 26: 5, 35: 4}
KAFKA_4_3 = {PRODUCE: 13, FETCH: 18, 2: 11, 3: 13, 11: 9, 16: 5, 22: 5, 24: 5, 26: 5, 35: 5}


@pytest.mark.parametrize(
    ("highest", "release"),
    [
        ({}, None),
        ({PRODUCE: 2, FETCH: 3}, None),
        (KAFKA_0_11, "0.11"),
        (KAFKA_2_8, "2.8"),
        (KAFKA_3_4, "3.3"),
        (KAFKA_4_1, "4.1"),
        (KAFKA_4_3, "4.3"),
        ({**KAFKA_4_3, FETCH: 99, PRODUCE: 99}, "4.3"),
        ({**KAFKA_4_3, 16: 3}, "2.5"),  # another implementation, with a gap
    ],
)
def test_releases_by_the_api_versions_of_their_brokers(highest: dict[int, int], release: str | None) -> None:
    assert at_least(highest) == release


def number(release: str | None) -> tuple[int, ...]:
    return tuple(map(int, release.split("."))) if release else ()


versions = st.dictionaries(st.sampled_from([*KAFKA_4_3]), st.integers(0, 20))


@given(versions, st.sampled_from([*KAFKA_4_3]))
def test_a_broker_with_higher_api_versions_never_counts_as_older(highest: dict[int, int], key: int) -> None:
    more = {**highest, key: highest.get(key, -1) + 1}
    assert number(at_least(more)) >= number(at_least(highest))


def test_transactions_are_as_old_as_the_first_release_known() -> None:
    assert set(TRANSACTIONS) <= set(KAFKA_0_11)
