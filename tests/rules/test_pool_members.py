"""Which clusters are nodes of a pool, by the ledger's record and by what responds."""

from __future__ import annotations

import pytest

from causeway.core.cluster import Cluster
from causeway.core.control_records import PoolMembers
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.rules.pool_members import NotThePool, settle_pool

POOL = SourcePool("p", "", tuple(PoolNode(Cluster(name, {})) for name in ("a", "b", "c")))
IDS = {"a": "A", "b": "B", "c": "C"}
RECORD = PoolMembers("p", "A", IDS, 1)


def node_ids(pool: SourcePool) -> dict[str, str]:
    return {node.name: node.cluster_id for node in pool.nodes}


def test_a_new_pool_has_the_id_of_the_node_that_it_begins_with() -> None:
    settled = settle_pool(POOL, None, IDS, "b", (), 5)
    assert settled.pool.id == "B"
    assert node_ids(settled.pool) == IDS
    assert settled.record == PoolMembers("p", "B", IDS, 5)
    assert settled.refused == ()


def test_nothing_is_written_if_nothing_changed() -> None:
    settled = settle_pool(POOL, RECORD, IDS, "c", ("A",), 5)
    assert (settled.pool.id, settled.record) == ("A", None)


def test_a_node_that_is_away_keeps_its_cluster() -> None:
    settled = settle_pool(POOL, RECORD, {"b": "B"}, "b", ("A",), 5)
    assert node_ids(settled.pool) == IDS
    assert settled.record is None


def test_a_node_that_never_responded_is_not_read() -> None:
    settled = settle_pool(POOL, None, {"a": "A", "c": "C"}, "a", (), 5)
    assert node_ids(settled.pool) == {"a": "A", "b": "", "c": "C"}
    later = settle_pool(POOL, settled.record, IDS, "a", (), 6)
    assert node_ids(later.pool) == IDS
    assert later.record == PoolMembers("p", "A", IDS, 6)


def test_another_cluster_under_a_nodes_name_is_refused() -> None:
    settled = settle_pool(POOL, RECORD, {**IDS, "b": "X"}, "a", ("A",), 5)
    assert node_ids(settled.pool) == {"a": "A", "b": "", "c": "C"}
    assert len(settled.refused) == 1
    assert '"b" is another cluster than before' in settled.refused[0]
    assert settled.record is None
    again = settle_pool(POOL, RECORD, {"a": "A", "b": "X"}, "a", ("A",), 6)
    assert again.refused == settled.refused


def test_one_cluster_under_two_names_is_refused() -> None:
    settled = settle_pool(POOL, None, {"a": "A", "b": "A", "c": "C"}, "a", (), 5)
    assert node_ids(settled.pool)["b"] == ""
    assert settled.refused == ('"b" is the same cluster as "a"',)


@pytest.mark.parametrize("responded", [IDS, {"b": "B", "c": "C"}])
def test_positions_of_one_cluster_are_no_pools(responded: dict[str, str]) -> None:
    """Also while that cluster does not respond: a new pool would replicate everything again."""
    with pytest.raises(NotThePool, match="a"):
        settle_pool(POOL, None, responded, "b", ("A",), 5)


def test_positions_of_a_cluster_that_is_no_node_are_none_of_the_pools_business() -> None:
    assert settle_pool(POOL, None, IDS, "a", ("Z",), 5).pool.id == "A"
