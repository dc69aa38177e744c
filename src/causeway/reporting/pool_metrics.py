"""The metrics of source pools."""

from __future__ import annotations

from collections import Counter

from causeway.core.pool_snapshot import NodeView, SourcePoolView
from causeway.core.snapshot import MirrorView
from causeway.reporting.families import NODE_STATES, SWITCHES, Sheet


def put_pools(sheet: Sheet, mirror: MirrorView, *, aggregated: bool) -> None:
    """`aggregated`: the series by partition are summed by topic."""
    for pool in mirror.pools:
        for node in pool.nodes:
            labels = {"mirror": mirror.name, "pool": pool.name, "node": node.name}
            _put_node(sheet, labels, node, aggregated=aggregated)
        _put_switches(sheet, mirror.name, pool)


def _put_node(sheet: Sheet, labels: dict[str, str], node: NodeView, *, aggregated: bool) -> None:
    sheet.put_all(
        labels,
        {
            "causeway_source_node_up": int(node.responds),
            "causeway_source_node_shards": len(node.shards),
        },
    )
    for state in NODE_STATES:
        sheet.put("causeway_source_node_state", {**labels, "state": state}, int(state == node.state))
    lags = Counter[tuple[str, str]]()
    for (topic, partition), lag in node.lag.items():
        lags[topic, "" if aggregated else str(partition)] += lag
    for (topic, number), lag in lags.items():
        by = {**labels, "topic": topic} if aggregated else {**labels, "topic": topic, "partition": number}
        sheet.put("causeway_source_node_lag_records", by, lag)


def _put_switches(sheet: Sheet, mirror: str, pool: SourcePoolView) -> None:
    counts = Counter[str]()
    for (reason, _), count in pool.counts.items():
        counts[reason] += count
    for reason in dict.fromkeys((*SWITCHES, *counts)):
        labels = {"mirror": mirror, "pool": pool.name, "reason": reason}
        sheet.put("causeway_source_switches_total", labels, counts[reason])
