"""What is looked at again while a mirror runs. The clusters are stood in for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from causeway.config import MirrorSettings
from causeway.core.topic import TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.planning.topology import UNKNOWN, Topology, read_topology, refused, stamped_since

STAMPING = {"message.timestamp.type": "LogAppendTime"}


class View:
    def __init__(self, alias: str, configs: dict[str, dict[str, str]]) -> None:
        self.alias = alias
        self._configs = configs
        self.asked: list[str] = []

    def cluster_id(self) -> str:
        return self.alias

    def topic_names(self) -> list[str]:
        return sorted(self._configs)

    def describe(self, names: Iterable[str], **_how: Any) -> dict[str, TopicFacts]:
        return {name: TopicFacts(name, name, 1, 1) for name in names if name in self._configs}

    def configs(self, names: Iterable[str], **_how: Any) -> dict[str, dict[str, str]]:
        self.asked = sorted(names)
        return {name: self._configs[name] for name in self.asked if name in self._configs}


def look(there: dict[str, dict[str, str]], before: Topology = UNKNOWN, **more: Any) -> Topology:
    given = {"name": "m", "source": "src", "destination": "dst", "topics": [".*"], "prefix": "p.", **more}
    mirror = MirrorSettings.model_validate(given)
    source, destination = View("src", {"t": STAMPING, "u": {}}), View("dst", there)
    return read_topology(mirror, {"src": cast(ClusterView, source)}, cast(ClusterView, destination), before)


def test_only_topics_that_records_go_to_are_looked_at() -> None:
    """Also those that do not exist yet; what the source does with timestamps is its own affair."""
    assert look({"p.t": {}, "strange": STAMPING}).stamping == frozenset()
    assert look({"p.t": STAMPING, "p.u": {}}).stamping == {"p.t"}


def test_whoever_accepts_the_brokers_timestamps_is_not_asked() -> None:
    assert look({"p.t": STAMPING}, timestamps="broker").stamping == frozenset()


def test_settings_that_take_long_are_left_alone_for_a_while_and_topics_are_not() -> None:
    first = look({"p.t": {}})
    busy = replace(first, again_at=math.inf, routes={}, at=7)
    assert look({"p.t": STAMPING}, busy) == first
    assert look({"p.t": STAMPING}, busy).at == 7, "since when they may have changed"
    assert look({"p.t": STAMPING}, replace(busy, again_at=0.0)).stamping == {"p.t"}


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [({}, {}, True), ({}, STAMPING, False), (STAMPING, {}, False), ({}, {"retention.ms": "5"}, True)],
)
def test_a_shape_changes_with_what_a_start_would_refuse(
    before: dict[str, str], now: dict[str, str], same: bool
) -> None:
    assert (look({"p.t": before}) == look({"p.t": now})) is same


def test_what_began_between_two_looks_is_named_in_the_words_of_a_start() -> None:
    before, now = look({"p.t": {}, "p.u": STAMPING}), look({"p.t": STAMPING, "p.u": STAMPING})
    assert stamped_since(before, now, ["p.t", "p.u"]) == ["p.t"]
    assert stamped_since(before, now, ["p.u"]) == [], "nothing is carried to it"
    assert stamped_since(now, before, ["p.t", "p.u"]) == []
    (refusal,) = refused(now, ["p.t"])
    assert (refusal.source, refusal.topic) == ("src", "t")
    assert "topic p.t has message.timestamp.type=LogAppendTime" in refusal.why
