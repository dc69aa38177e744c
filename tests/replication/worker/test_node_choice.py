"""Before an attempt: whether the node in use is dead. The checks are scripted; pool tests have real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeReport
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.kafka.task_errors import NodeLeft
from causeway.replication.worker import node_choice
from causeway.replication.worker.node_choice import NodeChoice
from causeway.replication.worker.node_log import NodeLog
from causeway.replication.worker.task_state import TaskState

SPOT = ("orders", 0)
NODES = tuple(PoolNode(Cluster(name, {"bootstrap.servers": f"{name}:9092"}), f"id-{name}") for name in "ab")
FIT = NodeReport({SPOT: (0, 10)}, checked_at=1.0)


class Scripted:
    """In place of the watch: each wait brings the next report of node a."""

    def __init__(self, *reports: NodeReport) -> None:
        self._a = iter(reports)
        self.reports = {"a": next(self._a), "b": FIT}
        self.version = 0
        self.waits = 0
        self.checked: list[str] = []
        self.fresh = {"a", "b"}

    def wait_checked(self, seconds: float) -> None: ...

    def check_all(self, seconds: float, leaving: str = "") -> set[str]:
        self.version += 1
        return self.fresh

    def check_now(self, node: str) -> None:
        self.checked.append(node)

    def wait_changed(self, version: int, seconds: float) -> None:
        self.waits += 1
        self.reports["a"] = next(self._a, self.reports["a"])
        self.version += 1


Make = Callable[[Scripted, float], NodeChoice]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    def made(watch: Scripted, interval: float) -> NodeChoice:
        monkeypatch.setattr(node_choice, "PoolWatch", lambda _pool, _spots: watch)
        monkeypatch.setattr(node_choice, "AGAIN_SECONDS", 0.0)
        pool = SourcePool("p", "id-a", NODES, healthcheck_interval=interval)
        return NodeChoice(pool, "", 0, {SPOT: None}, NodeLog(1, TaskState()))

    yield made


def failing(for_seconds: float, failures: int = 2) -> NodeReport:
    since = time.monotonic() - for_seconds
    return replace(FIT, failures=failures, failing_since=since, error="timed out")


def test_an_attempt_waits_for_the_verdict_and_begins_on_the_next_node(make: Make) -> None:
    watch = Scripted(FIT, failing(0.0), failing(1.0), failing(60.0))
    choice = make(watch, 3.0)
    assert choice.current().name == "a"
    watch.wait_changed(0, 0.0)
    assert choice.current().name == "b"
    assert watch.waits == 3


def test_a_node_that_responds_again_is_kept(make: Make) -> None:
    watch = Scripted(FIT, failing(0.0), failing(1.0), FIT)
    choice = make(watch, 3.0)
    assert choice.current().name == "a"
    watch.wait_changed(0, 0.0)
    assert choice.current().name == "a"
    assert watch.waits == 3


def test_a_long_interval_is_not_waited_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt goes on with its node: others of its sources may be read meanwhile."""
    monkeypatch.setattr(node_choice, "DOUBT_SECONDS", 0.05)
    watch = Scripted(FIT, failing(0.0))
    choice = make(watch, 600.0)
    assert choice.current().name == "a"
    watch.wait_changed(0, 0.0)
    assert choice.current().name == "a"


def test_a_request_that_waits_for_the_node_lets_it_be_checked(make: Make) -> None:
    watch = Scripted(replace(FIT, checked_at=time.monotonic() - 10))
    choice = make(watch, 3.0)
    choice.current()
    assert not choice.is_gone()
    assert watch.checked == ["a"]
    watch.reports["a"] = replace(FIT, checked_at=time.monotonic())
    assert not choice.is_gone()
    assert watch.checked == ["a"]


SOURCE = SourcePartition("id-a", *SPOT)
READ = Position(SOURCE, "", 0, 20, -1, Place("dst", "orders", 0), 0, -1, 1, 0)


def test_only_a_check_that_is_newer_than_the_position_makes_the_node_in_use_short(make: Make) -> None:
    """What was read from it since its last check is after the log end that the check returned."""
    watch = Scripted(FIT)
    choice = make(watch, 3.0)
    choice.current()
    watch.reports["b"] = replace(FIT, bounds={SPOT: (0, 20)})
    watch.fresh = {"b"}
    choice.check({SOURCE: READ}, 1, None)
    assert choice.node == "a"

    watch.fresh = {"a", "b"}
    again = make(watch, 3.0)
    again.current()
    with pytest.raises(NodeLeft, match="a is short"):
        again.check({SOURCE: READ}, 1, None)
