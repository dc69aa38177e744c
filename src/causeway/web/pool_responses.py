"""Builds the API's responses about source pools (`api_pools`) from a snapshot."""

from __future__ import annotations

from causeway.core.pool_snapshot import NodeMoveView, NodeView, SourcePoolView
from causeway.core.snapshot import MirrorView
from causeway.web.api_pools import (
    ApiNode,
    ApiNodeLag,
    ApiNodeLagList,
    ApiNodeMove,
    ApiNodeRequest,
    ApiNodeResult,
    ApiPool,
)

MOVES = 20


def pool(view: SourcePoolView) -> ApiPool:
    request = view.request
    return ApiPool(
        name=view.name,
        nodes=[_node(node) for node in view.nodes],
        no_node=view.no_node,
        moves=[_move(move) for move in view.moves[:MOVES]],
        request=ApiNodeRequest(
            at=request.at,
            node=request.node,
            by=request.by,
            force=request.force,
            results=[
                ApiNodeResult(shard=result.shard, outcome=result.outcome, node=result.node, what=result.what)
                for result in request.results
            ],
            waiting=list(request.waiting),
        )
        if request is not None
        else None,
    )


def node_lags(mirror: MirrorView, limit: int) -> ApiNodeLagList:
    """Partitions of nodes that lack records which another node has."""
    lags = [
        ApiNodeLag(pool=pool.name, node=node.name, topic=topic, partition=partition, lag_records=lag)
        for pool in mirror.pools
        for node in pool.nodes
        for (topic, partition), lag in node.lag.items()
        if lag
    ]
    lags.sort(key=lambda lag: -lag.lag_records)
    return ApiNodeLagList(total=len(lags), lags=lags[:limit])


def _node(view: NodeView) -> ApiNode:
    checked = view.checked_at >= 0
    return ApiNode(
        name=view.name,
        cluster_id=view.cluster_id,
        state=view.state,
        why=view.why,
        responds=view.responds,
        checked_at=view.checked_at if checked else None,
        log_ends=view.log_ends if checked else None,
        lag_records=view.worst_lag if checked else None,
        shards=list(view.shards),
    )


def _move(view: NodeMoveView) -> ApiNodeMove:
    return ApiNodeMove(
        at=view.at,
        shard=view.shard,
        left=view.left,
        to=view.to,
        reason=view.reason,
        what=view.what,
        pause_seconds=view.pause_ms / 1_000 if view.pause_ms >= 0 else None,
    )
