"""Source pools of a mirror: views of them, and what the ledger knows of their nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from causeway.config import Settings
from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.control_records import PoolMembers
from causeway.core.position import Position, SourcePartition
from causeway.core.source_pool import SourcePool
from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.pool_view import PoolView
from causeway.planning.clusters import cluster_of, pool_of
from causeway.rules.pool_health import ends_to_reach
from causeway.rules.pool_members import NotThePool, settle_pool


def source_view(settings: Settings, alias: str) -> ClusterView:
    """A view of a source, which is a cluster or a pool."""
    pool = pool_of(settings, alias)
    return PoolView(pool) if pool is not None else ClusterView(cluster_of(settings, alias))


@dataclass(frozen=True, slots=True)
class SettledPools:
    records: tuple[PoolMembers, ...] = ()  # to be written to the ledger
    rejected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # by pool and node: nodes that may not be read, and why

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(f"pool {name}: {why}" for name, nodes in self.rejected.items() for why in nodes.values())


def settle_pools(views: Collection[ClusterView], destination: Cluster, mirror: str) -> SettledPools:
    """Give the pools their ids and members, by the ledger and by the nodes that respond."""
    pools = [view for view in views if isinstance(view, PoolView)]
    if not pools:
        return SettledPools()
    image = read_image(destination, mirror)
    others = {view.cluster_id() for view in views if not isinstance(view, PoolView)}
    others |= {record.id for record in image.pools.values()}
    replicated = {source.cluster for source in image.positions} - others
    records: list[PoolMembers] = []
    rejected: dict[str, Mapping[str, str]] = {}
    for view in pools:
        try:
            settled = settle_pool(
                view.pool,
                image.pools.get(view.pool.name),
                view.node_ids(),
                view.cluster.alias,
                replicated,
                now_ms(),
            )
        except NotThePool as error:
            raise IntegrityError(
                f"the ledger's positions are of one cluster ({error}), not of the pool {view.pool.name}",
                where=f'mirror "{mirror}"',
                why="whether the other nodes have the same records at the same offsets was not checked",
                todo="`causeway adopt CONFIG --from pool` compares the nodes, and makes them a pool",
            ) from None
        if not any(node.cluster_id for node in settled.pool.nodes):
            raise IntegrityError(
                f"no node of the pool {view.pool.name} is one of the clusters that the mirror has read",
                where=f'mirror "{mirror}"',
                why="; ".join(settled.rejected.values()),
                todo="correct the addresses of the nodes, or give new clusters new aliases",
            )
        view.settle(settled.pool)
        records += [settled.record] if settled.record is not None else []
        rejected[view.pool.name] = settled.rejected
    return SettledPools(tuple(records), rejected)


def pool_in(view: ClusterView) -> SourcePool | None:
    """The pool that a view is of, if it is of one."""
    return view.pool if isinstance(view, PoolView) else None


def furthest_ends(
    views: Mapping[str, ClusterView],
    ends: Mapping[SourcePartition, int],
    positions: Mapping[SourcePartition, Position],
) -> dict[SourcePartition, int]:
    """The ends, for partitions of a pool the furthest on its fit nodes."""
    furthest = dict(ends)
    for view in views.values():
        if isinstance(view, PoolView):
            mine = {
                (source.topic, source.partition): source
                for source in ends
                if source.cluster == view.cluster_id()
            }
            current = {spot: positions[source].offset for spot, source in mine.items() if source in positions}
            found = ends_to_reach(view.pool, view.bounds(mine, "stable"), current)
            furthest |= {source: found.get(spot, ends[source]) for spot, source in mine.items()}
    return furthest
