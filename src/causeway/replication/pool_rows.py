"""The rows of a source pool's status (`core/pool_snapshot.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.core.ledger_record import NodeMoved
from causeway.core.pool_health import NodeReport, NodeVerdict
from causeway.core.pool_snapshot import NodeMoveView, NodeRequestView, NodeResultView, NodeView
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.core.topic import Spot
from causeway.rules.ledger_state import LedgerState
from causeway.rules.pool_health import READABLE, UNREADABLE

NOT_MET = "it has not responded yet, so its cluster id is not known"


def node_views(
    pool: SourcePool,
    reports: Mapping[str, NodeReport],
    verdicts: Mapping[str, NodeVerdict],
    rejected: Mapping[str, str],
    readers: Mapping[int, str],
    now: float,
    now_at: int,
) -> tuple[NodeView, ...]:
    """A row for each node.

    `rejected`: nodes that are not the pool's clusters, and why. `readers`: the node that each shard reads.
    `now` and `now_at`: the same moment by the clock of the reports, and in milliseconds since 1970.
    """
    ends = furthest_ends(reports, verdicts)

    def row(node: PoolNode) -> NodeView:
        report, verdict = reports.get(node.name, NodeReport()), verdicts[node.name]
        state, why = verdict.state, verdict.why
        if not node.cluster_id:
            state, why = ("rejected", rejected[node.name]) if node.name in rejected else ("unknown", NOT_MET)
        checked = report.checked_at
        return NodeView(
            name=node.name,
            cluster_id=node.cluster_id,
            state=state,
            why=why,
            responds=checked is not None and not report.failures,
            checked_at=-1 if checked is None else now_at - int(max(0.0, now - checked) * 1_000),
            log_ends=-1 if checked is None else sum(end for _, end in report.bounds.values()),
            lag={} if checked is None else lag_of(report, ends),
            shards=tuple(sorted(shard for shard, name in readers.items() if name == node.name)),
        )

    return tuple(map(row, pool.nodes))


def furthest_ends(reports: Mapping[str, NodeReport], verdicts: Mapping[str, NodeVerdict]) -> dict[Spot, int]:
    """The furthest log end of each partition on nodes that can be read from; if none can, on any node."""
    readable = [report for name, report in reports.items() if verdicts[name].state in READABLE]
    others = [report for report in reports.values() if not report.rejected]
    ends: dict[Spot, int] = {}
    for report in readable or others:
        for spot, (_, end) in report.bounds.items():
            ends[spot] = max(end, ends.get(spot, end))
    return ends


def lag_of(report: NodeReport, ends: Mapping[Spot, int]) -> dict[Spot, int]:
    """How many records each partition of a node lacks."""
    return {spot: max(0, end - report.bounds.get(spot, (0, 0))[1]) for spot, end in sorted(ends.items())}


def no_node(pool: str, nodes: Iterable[NodeView]) -> str:
    """Why no node of the pool can be read from; empty if one can, or if that is not known yet."""
    known = list(nodes)
    if not known or any(node.cluster_id and node.state not in UNREADABLE for node in known):
        return ""
    described = ", ".join(f"{node.name} is {node.state} ({node.why})" for node in known)
    return f"no node of the pool {pool} can be read from: {described}"


def move_view(moved: NodeMoved) -> NodeMoveView:
    return NodeMoveView(moved.at, moved.shard, moved.left, moved.to, moved.reason, moved.what, moved.pause_ms)


def request_view(image: LedgerState, pool: str, shards: Iterable[int]) -> NodeRequestView | None:
    """The latest request for a node of this pool, and what the shards that read the pool made of it."""
    request = image.node_requests.get(pool)
    if request is None:
        return None
    mine = sorted(set(shards))
    done = {
        shard: result
        for shard in mine
        if (result := image.node_results.get((shard, pool))) is not None and result.request >= request.at
    }
    results = (
        NodeResultView(shard, result.outcome, result.node, result.what) for shard, result in done.items()
    )
    waiting = (
        shard
        for shard in mine
        if shard not in done and image.executed_requests(shard).get(pool, 0) < request.at
    )
    return NodeRequestView(
        request.at, request.node, request.by, request.force, tuple(results), tuple(waiting)
    )
