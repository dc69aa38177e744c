"""The API's models of source pools; `api_schema.py` has the others."""

from __future__ import annotations

from pydantic import Field

from causeway.core.pool_health import NodeState
from causeway.core.shard_records import NodeRequestOutcome
from causeway.web.api_base import ApiModel


class ApiNode(ApiModel):
    name: str = Field(description="alias of the cluster")
    cluster_id: str = Field(
        description="its cluster id; empty if it is not read, since it never responded or is another cluster"
    )
    state: NodeState = Field(
        description="`fit`, `dead`, `short`, `trimmed`, `lagging`, `rejected` or `unknown`"
        " ([verdicts](pools.md#verdicts)), by the driver's own checks"
    )
    why: str = Field(description="the reason; empty for a fit node")
    responds: bool = Field(description="whether the newest check succeeded")
    checked_at: int | None = Field(description="when a check last succeeded")
    log_ends: int | None = Field(description="sum of the log ends of all replicated partitions")
    lag_records: int | None = Field(
        description="of the partition that lacks most: records that another node has; `null` before the"
        " first check"
    )
    shards: list[int] = Field(description="the shards that read it")


class ApiNodeMove(ApiModel):
    at: int = Field(description="when the shard left the node")
    shard: int = Field(description="the shard that moved")
    left: str = Field(description="the node before; empty if none could be read from")
    to: str = Field(description="the node after; empty if none can be read from")
    reason: str = Field(
        description="`dead`, `short`, `trimmed`, `rejected`, `lagging`: the state of the node before;"
        " `resumed` after none could be read from, `manual` for an operator's request"
    )
    what: str = Field(description="the reason as text")
    pause_seconds: float | None = Field(
        description="from the last commit with records before to the first one after, including time"
        " without new records; `null` if there was none yet"
    )


class ApiNodeResult(ApiModel):
    shard: int = Field(description="the shard")
    outcome: NodeRequestOutcome = Field(description="`moved`, `unchanged` or `refused`")
    node: str = Field(description="the node that it reads now")
    what: str = Field(description="the reason as text")


class ApiNodeRequest(ApiModel):
    at: int = Field(description="when it was requested")
    node: str = Field(description="the requested node; empty for the next fit one")
    by: str = Field(description="who requested it")
    force: bool = Field(description="also a node that is not fit")
    results: list[ApiNodeResult] = Field(description="what the shards made of it")
    waiting: list[int] = Field(description="shards that have not executed it yet")


class ApiPool(ApiModel):
    name: str = Field(description="as configured")
    nodes: list[ApiNode] = Field(description="in the configured order")
    no_node: str = Field(description="why no node can be read from, or empty")
    moves: list[ApiNodeMove] = Field(description="the latest 20 moves to another node, the latest first")
    request: ApiNodeRequest | None = Field(description="an operator's latest request for a node")


class ApiNodeLag(ApiModel):
    pool: str = Field(description="the pool")
    node: str = Field(description="the node")
    topic: str = Field(description="the source topic")
    partition: int = Field(description="the source partition")
    lag_records: int = Field(description="records that another node of the pool has")


class ApiNodeLagList(ApiModel):
    total: int = Field(description="number of partitions of nodes that lack records")
    lags: list[ApiNodeLag] = Field(description="the first `limit` of them, the largest lag first")
