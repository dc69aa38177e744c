"""Queries a source pool: one node at a time, and the next one when it fails.

A pool's topics have no ids of their own, since each node has others: `describe` returns none, so nothing is
compared with them. Tasks compare the ids of the node that they read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from causeway.core.pool_health import NodeReport
from causeway.core.source_pool import SourcePool
from causeway.core.topic import NO_TOPIC_ID, Spot, TopicFacts
from causeway.errors import CausewayError, Unreachable
from causeway.kafka.admin import CONNECT_SECONDS, At, ClusterView

OTHERS_SECONDS = 2.0
"""How long to wait for a node's cluster id when another node has responded."""


class PoolView(ClusterView):
    """A view of the node in use. Its cluster id is the pool's, once the pool is settled."""

    def __init__(self, pool: SourcePool) -> None:
        self._nodes = [ClusterView(node.cluster) for node in pool.nodes]
        self._use(self._nodes[0])
        self.pool = pool

    def connect(self, seconds: float = CONNECT_SECONDS) -> str:
        """Connect to the node in use or, if it does not respond, to the next one that does."""
        self._connect_to_one(seconds)
        return self.cluster_id()

    def cluster_id(self) -> str:
        return self.pool.id or self._current.cluster_id()

    def settle(self, pool: SourcePool) -> None:
        """From now on the pool has its id, and nodes without a cluster id are not read."""
        self.pool = pool
        usable = self._usable()
        if self._current not in usable:
            responding = [view for view in usable if view._cluster_id]
            if responding:
                self._use(responding[0])

    def node_views(self) -> dict[str, ClusterView]:
        """Views of the nodes that may be read, by name."""
        return {view.cluster.alias: view for view in self._usable()}

    def node_in_use(self) -> ClusterView:
        """The node itself: it has topic ids, and its own cluster id."""
        return self._current

    def use(self, node: str) -> None:
        """Queries go to this node from now on."""
        self._use(self.node_views()[node])

    def node_ids(self) -> dict[str, str]:
        """Return the cluster ids of the nodes that respond, by name."""

        def ask(view: ClusterView) -> tuple[str, str]:
            try:
                return view.cluster.alias, view.connect(OTHERS_SECONDS)
            except CausewayError:
                return view.cluster.alias, ""

        with ThreadPoolExecutor(len(self._nodes), thread_name_prefix="nodes") as asking:
            return {name: its_id for name, its_id in asking.map(ask, self._nodes) if its_id}

    def move(self, failed: str) -> bool:
        """After a failure of this node: use the next one that responds. Returns whether there is one."""
        if failed != self.cluster.alias:
            return False
        start = self._nodes.index(self._current)
        usable = self._usable()
        for view in self._nodes[start + 1 :] + self._nodes[:start]:
            if view not in usable:
                continue
            try:
                view.connect(OTHERS_SECONDS)
            except CausewayError:
                continue
            self._use(view)
            return True
        return False

    def descriptions(self, requests: Mapping[str, Future[Any]], **options: Any) -> dict[str, TopicFacts]:
        facts = super().descriptions(requests, **options)
        return {name: replace(topic, topic_id=NO_TOPIC_ID) for name, topic in facts.items()}

    def bounds(self, spots: Iterable[Spot], at: At) -> dict[str, NodeReport]:
        """Return log starts, and this end, of each node that responds."""
        wanted = list(spots)

        def ask(view: ClusterView) -> tuple[str, NodeReport]:
            try:
                view.connect(OTHERS_SECONDS)
                starts, ends = view.offsets(wanted, "earliest"), view.offsets(wanted, at)
            except CausewayError:
                return view.cluster.alias, NodeReport()
            bounds = {spot: (starts[spot], end) for spot, end in ends.items() if spot in starts}
            return view.cluster.alias, NodeReport(bounds, checked_at=0.0)

        with ThreadPoolExecutor(len(self._nodes), thread_name_prefix="nodes") as asking:
            return dict(asking.map(ask, self._usable()))

    def _connect_to_one(self, seconds: float) -> None:
        failure: CausewayError | None = None
        for view in [self._current, *(view for view in self._usable() if view is not self._current)]:
            try:
                view.connect(min(seconds, OTHERS_SECONDS) if len(self._nodes) > 1 else seconds)
            except CausewayError as error:
                failure = failure or error
                continue
            return self._use(view)
        assert failure is not None
        raise Unreachable(
            f"no node of the pool responds: {', '.join(view.cluster.alias for view in self._nodes)}",
            where=f'pool "{self.pool.name}"',
            why=str(failure),
            cluster=self.cluster.alias,
        )

    def _usable(self) -> list[ClusterView]:
        """Nodes that may be read: a settled pool knows their cluster ids."""
        known = {node.name for node in self.pool.nodes if node.cluster_id or not self.pool.id}
        return [view for view in self._nodes if view.cluster.alias in known]

    def _use(self, view: ClusterView) -> None:
        """Queries go to this node from now on."""
        self._current = view
        self.cluster, self._admin = view.cluster, view._admin
        self._cluster_id = view._cluster_id
