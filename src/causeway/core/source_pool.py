"""A source pool: nodes that carry the same records at the same offsets. A mirror reads from one at a time.

Each node is a Kafka cluster of its own, with its own cluster id. The positions in the ledger are the pool's:
they have the pool's id in the place of a cluster id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from causeway.core.cluster import Cluster

InitialNode = Literal["first", "random", "freshest"]


@dataclass(frozen=True, slots=True)
class PoolNode:
    cluster: Cluster  # its alias is the node's name
    cluster_id: str = ""  # empty until the node has responded for the first time

    @property
    def name(self) -> str:
        return self.cluster.alias


@dataclass(frozen=True, slots=True)
class SourcePool:
    name: str
    id: str  # the cluster id of the node that the pool began with; empty before the first start
    nodes: tuple[PoolNode, ...]
    healthcheck_interval: float = 3.0
    request_timeout: float = 1.0
    lag_threshold: int = 1_000
    max_failovers: int | None = None  # in a row without a record; None: no limit
    backoff_min: float = 1.0
    backoff_max: float = 10.0
    jitter: float = 0.2
    initial: InitialNode = "first"
    hysteresis: float = 10.0

    def node(self, name: str) -> PoolNode:
        return next(node for node in self.nodes if node.name == name)

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["nodes"] = [[node.cluster.to_json(), node.cluster_id] for node in self.nodes]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SourcePool:
        nodes = tuple(PoolNode(Cluster.from_json(cluster), its_id) for cluster, its_id in data["nodes"])
        return SourcePool(**{**data, "nodes": nodes})
