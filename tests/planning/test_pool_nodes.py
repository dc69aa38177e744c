"""Which node of a pool a command reads, and what it says about the others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeState, NodeVerdict
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.errors import IntegrityError, Unreachable
from causeway.kafka.pool_view import PoolView
from causeway.planning import pool_nodes
from causeway.planning.pool_nodes import NodeRead, best_node, read_from


def verdicts(**states: NodeState) -> dict[str, NodeVerdict]:
    return {name: NodeVerdict(state, "" if state == "fit" else "why") for name, state in states.items()}


def view(**ids: str) -> PoolView:
    nodes = tuple(
        PoolNode(Cluster(name, {"bootstrap.servers": "127.0.0.1:1"}), its_id) for name, its_id in ids.items()
    )
    made = PoolView(SourcePool("pool", "", nodes))
    made.settle(SourcePool("pool", "id-1", nodes))
    return made


@pytest.mark.parametrize(
    ("states", "best"),
    [
        ({"n1": "fit", "n2": "fit"}, "n1"),
        ({"n1": "short", "n2": "lagging", "n3": "fit"}, "n3"),
        ({"n1": "short", "n2": "trimmed"}, "n2"),
        ({"n1": "dead", "n2": "short"}, "n2"),
        ({"n1": "dead", "n2": "unknown"}, ""),
    ],
)
def test_the_first_node_of_the_best_state_is_read(states: Mapping[str, NodeState], best: str) -> None:
    assert best_node(verdicts(**states)) == best


def test_what_is_said_about_it() -> None:
    found = verdicts(n1="dead", n2="fit", n3="short")
    assert str(NodeRead("pool", "n2", found)) == "pool pool is read from n2 (n1 is dead: why)"
    named = str(NodeRead("pool", "n3", found, named=True))
    assert named == "pool pool is read from n3, which is short: why"


def test_a_named_node_is_read_whatever_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = view(n1="id-1", n2="id-2", n3="")
    found = verdicts(n1="fit", n2="short")
    monkeypatch.setattr(pool_nodes, "node_verdicts", lambda _view, _positions: found)
    assert read_from(pool, [], "n2").node == pool.cluster.alias == "n2"
    assert read_from(pool, []).node == pool.cluster.alias == "n1"
    with pytest.raises(IntegrityError, match="n3 does not respond, or is no cluster of the pool"):
        read_from(pool, [], "n3")


def test_without_a_node_that_responds_each_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = view(n1="id-1", n2="id-2")
    monkeypatch.setattr(pool_nodes, "node_verdicts", lambda _view, _positions: verdicts(n1="dead", n2="dead"))
    with pytest.raises(Unreachable) as caught:
        read_from(pool, [])
    assert caught.value.why == "n1 is dead: why; n2 is dead: why"


def test_a_node_without_a_cluster_id_is_not_used() -> None:
    assert list(view(n1="", n2="id-2").node_views()) == ["n2"]
