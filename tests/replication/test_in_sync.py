"""Too few in-sync replicas are shown while shards are stuck, and not if no shard waits for them."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.topic import Replicas
from causeway.errors import Unreachable
from causeway.kafka.admin import ClusterView
from causeway.replication.event_log import EventLog
from causeway.replication.in_sync import HOLD_SECONDS, LOOK_SECONDS, InSync

MIRROR = MirrorSettings(name="m", source=["src"], destination="dst", topics=["t"])


class Destination:
    cluster = Cluster("dst", {})

    def __init__(self) -> None:
        self.in_sync = 1
        self.responds = True
        self.requests = 0

    def replicas(self, _names: Any) -> dict[tuple[str, int], Replicas]:
        self.requests += 1
        if not self.responds:
            raise Unreachable("no response")
        return {("t", 0): Replicas(3, self.in_sync), ("t", 1): Replicas(3, 3)}

    def configs(self, names: Any, **_how: Any) -> dict[str, dict[str, str]]:
        return {name: {"min.insync.replicas": "2"} for name in names}


class FakeEventLog:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def report(self, _level: str, what: str, **_more: Any) -> None:
        self.lines.append(what)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def made() -> tuple[InSync, Destination, FakeEventLog]:
    there, events = Destination(), FakeEventLog()
    return InSync(MIRROR, cast(ClusterView, there), cast(EventLog, events)), there, events


def test_while_shards_commit_no_replicas_are_requested(clock: list[float]) -> None:
    watched, there, events = made()
    assert not watched.watch(False, ["t"])
    assert (there.requests, events.lines, watched.short) == (0, [], None)


def test_a_shortage_is_reported_once_and_ends_when_replicas_are_back(clock: list[float]) -> None:
    watched, there, events = made()
    assert watched.watch(True, ["t"])
    assert watched.short is not None
    assert watched.short.holds_up("t", 0)
    assert not watched.short.holds_up("t", 1)
    assert watched.short.holds_up("t", -1)
    for _ in range(5):
        clock[0] += LOOK_SECONDS
        assert not watched.watch(True, ["t"])
    there.in_sync = 2
    clock[0] += LOOK_SECONDS
    assert watched.watch(True, ["t"])
    assert watched.short is None
    assert len(events.lines) == 2
    assert "NOT_ENOUGH_REPLICAS" in events.lines[0]


def test_a_destination_that_does_not_respond_keeps_its_shortage(clock: list[float]) -> None:
    watched, there, events = made()
    watched.watch(True, ["t"])
    there.responds = False
    clock[0] += LOOK_SECONDS
    assert not watched.watch(True, ["t"])
    assert watched.short is not None
    assert len(events.lines) == 1


def test_a_shortage_that_delays_nothing_is_not_shown(clock: list[float]) -> None:
    """A shard was late once, and a topic without writes permanently lacks replicas."""
    watched, _, _ = made()
    watched.watch(True, ["t"])
    clock[0] += HOLD_SECONDS - 1
    watched.watch(False, ["t"])
    assert watched.short is not None
    clock[0] += 2
    assert watched.watch(False, ["t"])
    assert watched.short is None
