"""The nodes of source pools that a comparison reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.position import SourcePartition
from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.planning.pool_nodes import read_pools
from causeway.planning.rules.selection import select

POLL_SECONDS = 0.1
NODE_SECONDS = 10.0
"""The mirror may read another node, which is a moment before this one. Wait no longer than this for it."""


class SourceNodesRead:
    """Chooses a node of each pool, and uses it. Writes nothing."""

    def __init__(
        self, mirror: MirrorSettings, sources: Mapping[str, ClusterView], destination: Cluster, node: str
    ) -> None:
        reads, refused = read_pools(mirror, sources, destination, node)
        self.notes = [*refused, *map(str, reads)]
        self.nodes = {read.pool: read.node for read in reads}  # by the pool's name
        self._mirror = mirror
        self._destination = destination
        self._short = {sources[read.pool].cluster_id(): read for read in reads if read.is_short}

    def refuse_missing(self, existing: Collection[SourcePartition]) -> None:
        """Raise IntegrityError if the node in use lacks partitions that were replicated from another one."""
        if not self._short:
            return
        for source, position in sorted(read_image(self._destination, self._mirror.name).positions.items()):
            read = self._short.get(source.cluster)
            if read is None or source in existing or not position.offset:
                continue
            own = self._mirror.for_source(read.pool)
            if select([source.topic], own.topics, own.exclude):
                raise IntegrityError(
                    f"{source} was replicated, and node {read.node} does not have it",
                    where=f'pool "{read.pool}"',
                    why="it cannot be compared",
                    todo="compare another node: --node",
                )

    def wait_for_replicated(
        self,
        ends: Callable[[], Mapping[SourcePartition, int]],
        pause: Callable[[float], None],
    ) -> None:
        """Wait until the nodes in use have everything that was replicated up to now, from any node."""
        if not self.nodes:
            return
        positions = read_image(self._destination, self._mirror.name).positions
        deadline = time.monotonic() + NODE_SECONDS
        while any(
            source in positions and source.cluster not in self._short and end < positions[source].offset
            for source, end in ends().items()
        ):
            if time.monotonic() > deadline:
                return
            pause(POLL_SECONDS)
