"""Routes that clash with the topics for timings."""

from __future__ import annotations

import re

import pytest

from causeway.core.route import Route
from causeway.core.topic import TopicFacts
from causeway.planning.rules.timings import timings_clash, timings_of


def route(name: str, to: str = "") -> Route:
    return Route("src", TopicFacts(name, "id", 1, 1), to or name)


ORDERS = route("orders", "eu.orders")


def test_routes_without_a_clash() -> None:
    routes = [ORDERS, route("timings_orders"), route("returns", "eu.orders")]
    timings = timings_of(routes)
    assert timings == {"timings_eu.orders": "eu.orders"}
    assert [timings_clash(each, timings, {"eu.returns": "other"}) for each in routes] == [("", "")] * 3


@pytest.mark.parametrize(
    ("clashing", "replicated", "why"),
    [
        (route("timings_eu.orders"), {}, "the one for the timings of topic eu.orders"),
        (route("old", "timings_eu.orders"), {}, "the one for the timings of topic eu.orders"),
        (route("x" * 242), {}, r"not a valid topic name \(250 characters\)"),
        (ORDERS, {"timings_eu.orders": "other"}, 'a destination topic of mirror "other"'),
    ],
)
def test_a_clash_is_named_with_what_to_change(clashing: Route, replicated: dict[str, str], why: str) -> None:
    found, todo = timings_clash(clashing, timings_of([ORDERS, clashing]), replicated)
    assert re.search(why, found)
    assert "name" in todo
