"""Names choose themselves, expressions choose whole names, internal topics are chosen by name alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.planning.rules.selection import absent, is_name, nearest, select

topics = st.from_regex(r"[a-c._-]{1,6}", fullmatch=True) | st.from_regex(r"__[a-c]{1,3}", fullmatch=True)
expressions = st.sampled_from([".*", "a.*", "a|b", ".*-c", "[ab]+", "(a|b)\\..*", "__.*", ".+"])
entries = st.lists(topics | expressions, max_size=6)


@given(st.lists(topics, max_size=20), entries)
def test_a_topic_is_chosen_exactly_when_an_entry_matches(names: list[str], wanted: list[str]) -> None:
    chosen = select(names, wanted)
    assert chosen == sorted(set(chosen))
    for name in names:
        named = name in [entry for entry in wanted if is_name(entry)]
        matched = any(re.fullmatch(entry, name) for entry in wanted if not is_name(entry))
        assert (name in chosen) == (named or (matched and not name.startswith("__")))
    assert set(chosen) <= set(names)


@given(st.lists(topics, max_size=20), entries)
def test_named_topics_are_either_chosen_or_absent(names: list[str], wanted: list[str]) -> None:
    missing = absent(names, wanted)
    chosen = select(names, wanted)
    for entry in wanted:
        if is_name(entry):
            assert (entry in missing) != (entry in chosen)
        else:
            assert entry not in missing


@pytest.mark.parametrize(
    ("entry", "chosen"),
    [
        ("orders", ["orders"]),
        ("orders.v1", ["orders.v1"]),  # a dot is a legal character of a name, not any character
        ("orders.*", ["orders", "orders-eu", "orders.v1"]),
        ("orders|eu-orders", ["eu-orders", "orders"]),
        ("order", []),
        ("rders.*", []),
        (".*", ["eu-orders", "orders", "orders-eu", "orders.v1", "ordersXv1"]),
        ("__consumer_offsets", ["__consumer_offsets"]),
        ("__.*", []),
        ("__causeway.m.ledger", ["__causeway.m.ledger"]),
    ],
)
def test_examples(entry: str, chosen: list[str]) -> None:
    names = ["orders", "orders-eu", "eu-orders", "orders.v1", "__consumer_offsets", "__causeway.m.ledger"]
    if entry == ".*":
        names = [*names, "ordersXv1"]
    assert select(names, [entry]) == chosen


@pytest.mark.parametrize(
    ("entry", "name"),
    [("a" * 249, True), ("a" * 250, False), ("", False), ("a b", False), ("é", False), ("A-z_0.9", True)],
)
def test_what_counts_as_a_name(entry: str, name: bool) -> None:
    assert is_name(entry) is name


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("oders", "orders"),
        ("Orders", "orders"),
        ("paymnets.*", "payments"),
        (r"ordres\..+", "orders.eu.created"),
        (r"shop\.evnts\.v[0-9]+", "shop.events.v1"),
        ("consumer_offsets", ""),
        ("inventory", ""),
        (".*", ""),
    ],
)
def test_the_nearest_topic_is_the_intended_one(entry: str, meant: str) -> None:
    names = frozenset({"orders", "orders.eu.created", "payments", "shop.events.v1", "__consumer_offsets"})
    assert nearest(entry, names) == meant
