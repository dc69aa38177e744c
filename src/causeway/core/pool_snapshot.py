"""What is displayed of a mirror's source pools (`snapshot.py`). Times are milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from causeway.core.pool_health import NodeState
from causeway.core.shard_records import NodeRequestOutcome
from causeway.core.topic import Spot


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node of a source pool, as the driver's own checks show it."""

    name: str
    cluster_id: str  # empty if the node is not read: it has not responded yet, or it is another cluster
    state: NodeState
    why: str  # empty for a fit node
    responds: bool  # whether its newest check succeeded
    checked_at: int  # when it last did; -1: never
    log_ends: int  # sum of its log ends; -1 before the first check
    lag: Mapping[Spot, int] = field(default_factory=dict)  # records before the furthest log end of the pool
    shards: tuple[int, ...] = ()  # those that read it

    @property
    def worst_lag(self) -> int:
        return max(self.lag.values(), default=0)


@dataclass(frozen=True, slots=True)
class NodeMoveView:
    """A shard's move to another node. `left` or `to` is empty if no node could be read from."""

    at: int
    shard: int
    left: str
    to: str
    reason: str  # a pool_health.DecisionKind
    what: str
    pause_ms: int  # from the last commit with records before to the first one after; -1: not known


@dataclass(frozen=True, slots=True)
class NodeResultView:
    """What a shard did at an operator's request."""

    shard: int
    outcome: NodeRequestOutcome
    node: str  # that it reads now
    what: str


@dataclass(frozen=True, slots=True)
class NodeRequestView:
    """An operator's latest request for a node."""

    at: int
    node: str  # empty: the next fit one
    by: str
    force: bool
    results: tuple[NodeResultView, ...]
    waiting: tuple[int, ...]  # shards that have not executed it yet


@dataclass(frozen=True, slots=True)
class SourcePoolView:
    name: str
    nodes: tuple[NodeView, ...]
    moves: tuple[NodeMoveView, ...] = ()  # the latest first
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)  # moves by reason and node left
    no_node: str = ""  # why no node can be read from, if none can
    request: NodeRequestView | None = None
