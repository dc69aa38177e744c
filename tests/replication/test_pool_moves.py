"""What the shards report of a pool, as the driver counts and shows it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Heartbeat, NodeMoved
from causeway.core.pool_health import NodeReport
from causeway.core.pool_snapshot import NodeView
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.replication import pool_status
from causeway.replication.pool_status import PoolStatus
from causeway.rules.ledger_state import LedgerState

POOL = SourcePool("p", "A", (PoolNode(Cluster("a", {}), "A"), PoolNode(Cluster("b", {}), "B")))
SPOT: Spot = ("t", 0)


class Watch:
    """Checks that all succeed."""

    made: ClassVar[list[Watch]] = []

    def __init__(self, pool: SourcePool, spots: frozenset[Spot]) -> None:
        self.reports = {node.name: NodeReport({SPOT: (0, 10)}, 1.0) for node in pool.nodes}
        self.closed = False
        Watch.made.append(self)

    def close(self, _seconds: float = 0.0) -> None:
        self.closed = True


class View:
    """A view of the pool."""

    pool = POOL


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> PoolStatus:
    monkeypatch.setattr(pool_status, "PoolWatch", Watch)
    monkeypatch.setattr(Watch, "made", [])
    monkeypatch.setattr(pool_status, "PoolMembership", lambda _view: SimpleNamespace(rejected={}))
    view: Any = View()
    return PoolStatus(view)


def moved(shard: int, left: str, to: str, reason: str, at: int, pause_ms: int = -1) -> NodeMoved:
    return NodeMoved(shard, "p", left, to, reason, "why", at, pause_ms)


def beat(shard: int, node: str, slice_number: int = 1) -> Heartbeat:
    return Heartbeat(shard, 7, slice_number, 1, "host", 1, nodes={"p": node})


def shown(status: PoolStatus, *beats: Heartbeat) -> dict[str, NodeView]:
    status.measure(LedgerState(), frozenset([SPOT]), [1, 2], {each.shard: each for each in beats})
    return {node.name: node for node in status.shown.nodes}


def test_a_move_that_is_written_again_with_its_pause_counts_once(status: PoolStatus) -> None:
    status.apply(moved(1, "a", "b", "dead", 5), 1)
    status.apply(moved(2, "a", "b", "dead", 6), 1)
    status.apply(moved(1, "a", "b", "dead", 5, 900), 1)
    nodes = shown(status, beat(1, "b"), beat(2, "a"))
    assert [(move.shard, move.pause_ms) for move in status.shown.moves] == [(2, -1), (1, 900)]
    assert status.shown.counts == {("dead", "a"): 2}
    assert (nodes["a"].shards, nodes["b"].shards) == ((2,), (1,))


def test_a_node_that_a_task_rejected_is_shown_so_until_it_is_read_again(status: PoolStatus) -> None:
    status.apply(moved(1, "b", "a", "rejected", 5), 3)
    assert shown(status, beat(1, "a", 3))["b"].state == "rejected"
    assert shown(status, beat(1, "b", 3))["b"].state == "rejected", "the heartbeat may be an older one"
    assert shown(status, beat(1, "b", 4))["b"].state == "fit", "a later task has forgotten it"
    status.apply(moved(1, "b", "a", "rejected", 9), 4)
    status.apply(moved(2, "a", "b", "dead", 10), 4)
    assert shown(status, beat(1, "a", 4))["b"].state == "fit"


def test_all_nodes_rejected_is_no_node(status: PoolStatus) -> None:
    status.apply(moved(1, "a", "b", "rejected", 5), 1)
    status.apply(moved(1, "b", "", "rejected", 6), 1)
    shown(status)
    assert status.shown.no_node == (
        "no node of the pool p can be read from: a is rejected (why), b is rejected (why)"
    )


def test_other_nodes_or_partitions_are_watched_anew(
    status: PoolStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(status)
    shown(status)
    assert len(Watch.made) == 1
    monkeypatch.setattr(View, "pool", replace(POOL, nodes=POOL.nodes[:1]))
    assert list(shown(status)) == ["a"]
    assert [watch.closed for watch in Watch.made] == [True, False]
    status.close()
    assert Watch.made[-1].closed
