"""Which node of a pool a command reads from: the first one that has everything the ledger counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.pool_health import NodeReport, NodeState, NodeVerdict
from causeway.core.position import Position
from causeway.core.topic import Spot
from causeway.errors import CausewayError, IntegrityError, Unreachable, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.pool_view import OTHERS_SECONDS, PoolView
from causeway.planning.rules.selection import select
from causeway.planning.source_pools import settle_pools
from causeway.rules.pool_health import judge_nodes

PREFERRED: tuple[NodeState, ...] = ("fit", "lagging", "trimmed", "short")


@dataclass(frozen=True, slots=True)
class NodeRead:
    """The node that a command reads, and what the nodes are judged to be."""

    pool: str
    node: str
    verdicts: Mapping[str, NodeVerdict]
    named: bool = False  # an operator chose the node

    @property
    def is_short(self) -> bool:
        return self.verdicts[self.node].state == "short"

    def __str__(self) -> str:
        verdict = self.verdicts[self.node]
        state = "" if verdict.state == "fit" else f", which is {state_of(verdict)}"
        names = [] if self.named else list(self.verdicts)
        earlier = names[: names.index(self.node)] if names else []
        before = "; ".join(f"{name} is {state_of(self.verdicts[name])}" for name in earlier)
        return f"pool {self.pool} is read from {self.node}{state}{f' ({before})' if before else ''}"


def node_verdicts(view: PoolView, positions: Iterable[Position]) -> dict[str, NodeVerdict]:
    """Judge the nodes that may be read, by the ledger's positions. They are asked in parallel."""
    offsets: dict[Spot, int] = {
        (position.source.topic, position.source.partition): position.offset
        for position in positions
        if position.source.cluster == view.cluster_id()
    }
    nodes = view.node_views()
    with ThreadPoolExecutor(max(1, len(nodes)), thread_name_prefix="nodes") as asking:
        reports = dict(
            zip(nodes, asking.map(lambda node: _report(node, offsets), nodes.values()), strict=True)
        )
    verdicts = judge_nodes(view.pool, reports, offsets, 0.0)
    return {name: verdicts[name] for name in nodes}


def read_from(view: PoolView, positions: Iterable[Position], node: str = "") -> NodeRead:
    """Use the best node that responds, or the named one, whatever it has.

    Raises Unreachable if there is none, and IntegrityError if the named one may not be read.
    """
    verdicts = node_verdicts(view, positions)
    where = f'pool "{view.pool.name}"'
    if node and node not in verdicts:
        raise IntegrityError(f"node {node} does not respond, or is no cluster of the pool", where=where)
    chosen = node or best_node(verdicts)
    if not chosen or verdicts[chosen].state not in PREFERRED:
        raise Unreachable(
            f"node {node} does not respond" if node else "no node of the pool responds",
            where=where,
            why="; ".join(
                f"{name} is {state_of(verdict)}" for name, verdict in verdicts.items() if node in ("", name)
            ),
        )
    view.use(chosen)
    return NodeRead(view.pool.name, chosen, verdicts, named=bool(node))


def read_pools(
    mirror: MirrorSettings, sources: Mapping[str, ClusterView], destination: Cluster, node: str = ""
) -> tuple[list[NodeRead], tuple[str, ...]]:
    """Give the mirror's pools their ids, and use a node of each: the named one, if it is one of its nodes.

    Returns what is read, and which nodes may not be read. Writes nothing.
    """
    pools = {alias: view for alias, view in sources.items() if isinstance(view, PoolView)}
    if node and not any(node == each.name for view in pools.values() for each in view.pool.nodes):
        raise UsageError(f'"{node}" is no node of a pool of mirror "{mirror.name}"')
    if not pools:
        return [], ()
    refused = settle_pools(sources.values(), destination, mirror.name).refused
    positions = read_image(destination, mirror.name).positions.values()
    reads = []
    for alias, view in pools.items():
        own = mirror.for_source(alias)
        topics = {position.source.topic for position in positions}
        selected = set(select(topics, own.topics, own.exclude))
        named = node if any(node == each.name for each in view.pool.nodes) else ""
        mine = (position for position in positions if position.source.topic in selected)
        reads.append(read_from(view, mine, named))
    return reads, refused


def best_node(verdicts: Mapping[str, NodeVerdict]) -> str:
    """The first fit node; otherwise the first one of the next state; "" if none can be read."""
    for state in PREFERRED:
        for name, verdict in verdicts.items():
            if verdict.state == state:
                return name
    return ""


def state_of(verdict: NodeVerdict) -> str:
    return f"{verdict.state}: {verdict.why}" if verdict.why else verdict.state


def _report(view: ClusterView, offsets: Mapping[Spot, int]) -> NodeReport:
    try:
        view.connect(OTHERS_SECONDS)
        starts, ends = view.offsets(offsets, "earliest"), view.offsets(offsets, "latest")
    except CausewayError as error:
        return NodeReport(disconnected=True, error=str(error))
    bounds = {spot: (starts[spot], ends[spot]) for spot in ends if spot in starts}
    return NodeReport(bounds, checked_at=0.0)
