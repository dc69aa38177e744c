"""Which nodes of a source pool may be read, while the mirror runs: a node may have been away at the start."""

from __future__ import annotations

from collections.abc import Mapping

from causeway.core.clock import now_ms
from causeway.kafka.node_ids import NodeIds
from causeway.kafka.pool_view import PoolView
from causeway.replication.event_log import EventLog
from causeway.replication.open_ledger import OpenLedger
from causeway.replication.timers import Timers
from causeway.rules.pool_members import settle_pool

ASK_SECONDS = 10.0


class PoolMembership:
    def __init__(self, view: PoolView) -> None:
        self.rejected: Mapping[str, str] = {}  # nodes that may not be read, and why
        self._view = view
        self._ids = NodeIds(node.cluster for node in view.pool.nodes)
        self._responded: dict[str, str] = {}  # cluster ids, the latest of each node
        self._timers = Timers()

    def settle(self, ledger: OpenLedger, events: EventLog) -> str:
        """Compare what the nodes respond with the ledger. From time to time it asks them again.

        Returns why the orders must be made again; an empty string if they need not.
        """
        view = self._view
        responses = self._ids.responses()
        if self._timers.due("ask", ASK_SECONDS):
            self._ids.ask()
        self._responded |= responses
        known = ledger.state.pools.get(view.pool.name)
        if not responses or known is None:
            return ""
        settled = settle_pool(view.pool, known, self._responded, view.cluster.alias, (), now_ms())
        self.rejected = settled.rejected
        for why in settled.refused:
            events.report_once("error", f"pool {view.pool.name}: {why}")
        if settled.pool == view.pool:
            return ""
        if settled.record is not None:
            ledger.record([settled.record])
        before = {node.name for node in view.pool.nodes if node.cluster_id}
        view.settle(settled.pool)
        now = {node.name for node in settled.pool.nodes if node.cluster_id}
        added = f"{', '.join(sorted(now - before))} can be read from now" if now - before else ""
        removed = f"{', '.join(sorted(before - now))} is not read any more" if before - now else ""
        what = f"pool {view.pool.name}: {', '.join(filter(None, (added, removed)))}"
        events.report("info", what)
        return what
