"""What is read again while a mirror runs. The clusters are fakes."""

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


def topology_of(there: dict[str, dict[str, str]], before: Topology = UNKNOWN, **more: Any) -> Topology:
    given = {"name": "m", "source": "src", "destination": "dst", "topics": [".*"], "prefix": "p.", **more}
    mirror = MirrorSettings.model_validate(given)
    source, destination = View("src", {"t": STAMPING, "u": {}}), View("dst", there)
    return read_topology(mirror, {"src": cast(ClusterView, source)}, cast(ClusterView, destination), before)


def test_only_destination_topics_of_routes_are_read() -> None:
    """Also those that do not exist yet; the source's timestamp type does not matter."""
    assert topology_of({"p.t": {}, "strange": STAMPING}).stamping == frozenset()
    assert topology_of({"p.t": STAMPING, "p.u": {}}).stamping == {"p.t"}


def test_a_mirror_that_accepts_broker_timestamps_does_not_read_them() -> None:
    assert topology_of({"p.t": STAMPING}, timestamps="broker").stamping == frozenset()


def test_settings_that_take_long_are_read_less_often_and_topics_are_not() -> None:
    first = topology_of({"p.t": {}})
    busy = replace(first, again_at=math.inf, routes={}, at=7)
    assert topology_of({"p.t": STAMPING}, busy) == first
    assert topology_of({"p.t": STAMPING}, busy).at == 7, "since when they may have changed"
    assert topology_of({"p.t": STAMPING}, replace(busy, again_at=0.0)).stamping == {"p.t"}


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [({}, {}, True), ({}, STAMPING, False), (STAMPING, {}, False), ({}, {"retention.ms": "5"}, True)],
)
def test_a_topology_changes_with_what_a_start_would_refuse(
    before: dict[str, str], now: dict[str, str], same: bool
) -> None:
    assert (topology_of({"p.t": before}) == topology_of({"p.t": now})) is same


def test_a_change_between_two_reads_is_reported_with_the_message_of_a_start() -> None:
    before, now = (
        topology_of({"p.t": {}, "p.u": STAMPING}),
        topology_of({"p.t": STAMPING, "p.u": STAMPING}),
    )
    assert stamped_since(before, now, ["p.t", "p.u"]) == ["p.t"]
    assert stamped_since(before, now, ["p.u"]) == [], "nothing is replicated to it"
    assert stamped_since(now, before, ["p.t", "p.u"]) == []
    (refusal,) = refused(now, ["p.t"])
    assert (refusal.source, refusal.topic) == ("src", "t")
    assert "topic p.t has message.timestamp.type=LogAppendTime" in refusal.why
