"""The source pools of a mirror, as its driver sees them: members, nodes, moves. Empty without pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.core.ledger_record import Heartbeat, NodeMoved
from causeway.core.plan import Plan
from causeway.core.pool_snapshot import SourcePoolView
from causeway.core.position import SourcePartition
from causeway.kafka.admin import ClusterView
from causeway.kafka.pool_view import PoolView
from causeway.replication.event_log import EventLog
from causeway.replication.open_ledger import OpenLedger
from causeway.replication.pool_status import PoolStatus
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of

CLOSE_SECONDS = 5.0
"""How long the end of a mirror waits for checks that are under way."""


class Pools:
    def __init__(self, views: Iterable[ClusterView]) -> None:
        views = list(views)
        self._pools = [PoolStatus(view) for view in views if isinstance(view, PoolView)]
        self._nodes = {
            node.name: view.pool.name
            for view in views
            if isinstance(view, PoolView)
            for node in view.pool.nodes
        }
        self._names = [pool.name for pool in self._pools]
        self._planned: tuple[Plan, dict[str, list[SourcePartition]]] | None = None  # the newest, by cluster

    def reject(self, rejected: Mapping[str, Mapping[str, str]]) -> None:
        """Nodes that may not be read, as found at the start: why, by pool and node."""
        for pool in self._pools:
            pool.membership.rejected = rejected.get(pool.name, {})

    def settle(self, ledger: OpenLedger, events: EventLog) -> str:
        """Add nodes that were away; returns why the orders must be made again, if they must."""
        changes = [pool.membership.settle(ledger, events) for pool in self._pools]
        return "; ".join(filter(None, changes))

    def apply(self, moved: NodeMoved, slice_number: int) -> None:
        for pool in self._pools:
            if pool.name == moved.pool:
                pool.apply(moved, slice_number)

    def measure(self, image: LedgerState, plan: Plan, shards: int, beats: Mapping[int, Heartbeat]) -> None:
        for pool in self._pools:
            mine = self._partitions(plan).get(pool.pool_id, [])
            spots = frozenset((source.topic, source.partition) for source in mine)
            pool.measure(image, spots, {shard_of(source, shards) for source in mine}, beats)

    def _partitions(self, plan: Plan) -> dict[str, list[SourcePartition]]:
        if self._planned is None or self._planned[0] is not plan:
            by_cluster: dict[str, list[SourcePartition]] = {}
            for lane in plan.lanes:
                by_cluster.setdefault(lane.source.cluster, []).append(lane.source)
            self._planned = plan, by_cluster
        return self._planned[1]

    @property
    def nodes(self) -> dict[str, list[str]]:
        """The nodes of each pool, by name."""
        return {pool: [node for node, its in self._nodes.items() if its == pool] for pool in self._names}

    @property
    def shown(self) -> tuple[SourcePoolView, ...]:
        return tuple(pool.shown for pool in self._pools)

    @property
    def without_node(self) -> SourcePoolView | None:
        """A pool of which no node can be read from."""
        return next((shown for shown in self.shown if shown.no_node), None)

    def pool_of(self, node: str) -> str:
        """The pool that a cluster is a node of, by its alias; empty if it is of none."""
        return self._nodes.get(node, "")

    def close(self) -> None:
        for pool in self._pools:
            pool.close(CLOSE_SECONDS)
