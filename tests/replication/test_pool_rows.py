"""What is displayed of a source pool: made of the driver's own checks and of what the shards wrote."""

from __future__ import annotations

from causeway.core.cluster import Cluster
from causeway.core.control_records import Generation, NodeRequest
from causeway.core.pool_health import NodeReport
from causeway.core.pool_snapshot import NodeView
from causeway.core.shard_records import NodeRequestDone
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.replication.pool_rows import NOT_MET, no_node, node_views, request_view
from causeway.rules.ledger_state import LedgerState
from causeway.rules.pool_health import judge_nodes

T0, T1 = ("t", 0), ("t", 1)


def pool(**ids: str) -> SourcePool:
    return SourcePool("p", "A", tuple(PoolNode(Cluster(name, {}), its_id) for name, its_id in ids.items()))


def rows(
    of: SourcePool, reports: dict[str, NodeReport], rejected: dict[str, str] | None = None
) -> dict[str, NodeView]:
    verdicts = judge_nodes(of, reports, {T0: 100, T1: 10}, 50.0)
    views = node_views(of, reports, verdicts, rejected or {}, {1: "a", 2: "a", 3: "b"}, 50.0, 1_000_000)
    return {view.name: view for view in views}


def checked(end0: int, end1: int, **more: object) -> NodeReport:
    return NodeReport({T0: (0, end0), T1: (0, end1)}, 49.0, **more)  # type: ignore[arg-type]


def test_each_node_has_its_state_its_lag_by_partition_and_its_shards() -> None:
    views = rows(pool(a="A", b="B"), {"a": checked(120, 10), "b": checked(110, 30)})
    assert views["a"] == NodeView("a", "A", "fit", "", True, 999_000, 130, lag={T0: 0, T1: 20}, shards=(1, 2))
    assert (views["b"].lag, views["b"].worst_lag, views["b"].shards) == ({T0: 10, T1: 0}, 10, (3,))


def test_a_dead_node_does_not_respond_and_is_not_the_furthest_one() -> None:
    dead = checked(900, 900, failures=1, failing_since=49.5, disconnected=True, error="refused")
    views = rows(pool(a="A", b="B"), {"a": dead, "b": checked(110, 30)})
    assert (views["a"].state, views["a"].responds, views["a"].why) == ("dead", False, "refused")
    assert views["b"].lag == {T0: 0, T1: 0}


def test_a_node_that_was_never_met_and_one_that_is_another_cluster() -> None:
    views = rows(pool(a="A", b="", c=""), {"a": checked(120, 30)}, {"c": '"c" is another cluster'})
    assert (views["b"].state, views["b"].why, views["b"].log_ends) == ("unknown", NOT_MET, -1)
    assert (views["c"].state, views["c"].why) == ("rejected", '"c" is another cluster')


def test_no_node_can_be_read_from() -> None:
    dead = checked(120, 30, failures=1, failing_since=49.5, disconnected=True, error="refused")
    short = checked(99, 10)
    views = rows(pool(a="A", b="B", c=""), {"a": dead, "b": short})
    why = no_node("p", views.values())
    assert why.startswith("no node of the pool p can be read from: a is dead (refused), b is short (t[0]:")
    assert NOT_MET in why
    readable = rows(pool(a="A", b="B"), {"a": dead, "b": checked(120, 10)})
    assert no_node("p", readable.values()) == ""
    unchecked = rows(pool(a="A", b="B"), {"a": dead, "b": NodeReport()})
    assert no_node("p", unchecked.values()) == "", "it is not known yet"


def state(*done: NodeRequestDone) -> LedgerState:
    image = LedgerState()
    image.apply(0, Generation(1, 3, 50))
    image.apply(0, NodeRequest("p", "b", "ann", 100))
    for result in done:
        image.apply(result.shard, result)
    return image


def test_a_request_waits_for_each_shard_that_reads_the_pool() -> None:
    old = NodeRequestDone(1, "p", 90, "moved", "a", "", 91)
    done = NodeRequestDone(2, "p", 100, "refused", "a", "b is short", 101)
    request = request_view(state(old, done), "p", [2, 1])
    assert request is not None
    assert [(result.shard, result.outcome) for result in request.results] == [(2, "refused")]
    assert request.waiting == (1,)
    assert request_view(LedgerState(), "p", [1]) is None


def test_a_request_from_before_the_sharding_counts_as_executed() -> None:
    image = state()
    image.apply(0, Generation(2, 4, 200))
    request = request_view(image, "p", [1, 4])
    assert request is not None
    assert request.waiting == ()
    assert image.executed_requests(4) == {"p": 200}
