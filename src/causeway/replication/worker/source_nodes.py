"""Which node of each source pool a shard reads from. Lives as long as the task; an attempt has one node.

A shard that leaves a node ends its attempt, which aborts the open transaction. The next attempt fences, reads
the ledger and begins on the next node at the ledger's positions: the protocol knows no other way to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from causeway.core.control_records import NodeRequest
from causeway.core.position import Position, SourcePartition
from causeway.core.source_pool import PoolNode
from causeway.core.task_order import TaskOrder
from causeway.kafka.task_errors import NodeLeft
from causeway.replication.worker.node_choice import NodeChoice
from causeway.replication.worker.node_log import NodeLog


class SourceNodes:
    def __init__(self, order: TaskOrder, log: NodeLog) -> None:
        self.log = log
        self._choices: dict[str, NodeChoice] = {}  # by the pool's id
        for pool_id, source in order.sources.items():
            if source.pool is not None:
                ends = {
                    (lane.source.topic, lane.source.partition): lane.until
                    for lane in order.lanes
                    if lane.source.cluster == pool_id
                }
                self._choices[pool_id] = NodeChoice(source.pool, source.node, source.request, ends, log)

    @property
    def names(self) -> dict[str, str]:
        """The node that each pool is read from, by the pool's name."""
        return {choice.pool.name: choice.node for choice in self._choices.values() if choice.node}

    def current(self, cluster_id: str) -> PoolNode | None:
        """The node to read from; None if this source is no pool."""
        choice = self._choices.get(cluster_id)
        return choice.current() if choice is not None else None

    def check(
        self,
        positions: Mapping[SourcePartition, Position],
        records: int,
        requests: Mapping[str, NodeRequest],
    ) -> None:
        """Raise NodeLeft if a pool must be read from another node. `records`: committed so far."""
        for choice in self._choices.values():
            choice.check(positions, records, requests.get(choice.pool.name))

    def on_trouble(self, cluster_id: str) -> Callable[[], None]:
        """What a consumer calls when its client reports an error: the node is checked at once."""
        choice = self._choices.get(cluster_id)
        return choice.check_node if choice is not None else lambda: None

    def readable(self, cluster_id: str) -> bool:
        """Whether the source may be read now: of a pool, only a node that is not known to lack records."""
        choice = self._choices.get(cluster_id)
        return choice is None or choice.readable

    def may_return(self, cluster_id: str) -> bool:
        """Whether another node of the pool may have what the one in use lacks, as soon as it can be read."""
        choice = self._choices.get(cluster_id)
        return choice is not None and choice.may_return

    def gone(self, cluster_id: str) -> Callable[[], bool] | None:
        """What tells that the node in use does not respond any more; None if this source is no pool."""
        choice = self._choices.get(cluster_id)
        return choice.is_gone if choice is not None else None

    def rejected(self, cluster_id: str, why: str) -> NodeLeft:
        """The content of the node in use is not the pool's. Returns what to raise."""
        return self._choices[cluster_id].reject(why)

    def refuse(self, cluster_id: str, lost: str, positions: Mapping[SourcePartition, Position]) -> None:
        """Raise NodeLeft if the node in use has lost something, and another node has what comes next.

        If no node has it, the partition stops, or continues as a policy says.
        """
        choice = self._choices.get(cluster_id)
        if choice is not None and lost and choice.has_other(positions):
            raise choice.reject(lost)

    def close(self) -> None:
        for choice in self._choices.values():
            choice.close()
