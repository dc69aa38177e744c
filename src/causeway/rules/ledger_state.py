"""The state of a mirror's ledger, built record by record. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from causeway.core.ledger_record import (
    Adopted,
    CreatedTopic,
    Cut,
    Event,
    Gap,
    Generation,
    Heartbeat,
    Hidden,
    Lease,
    LedgerRecord,
    NodeMoved,
    NodeRequest,
    NodeRequestDone,
    Paused,
    PoolMembers,
    RouteClaim,
    Stopped,
)
from causeway.core.position import Position, SourcePartition
from causeway.core.route import ClusterTopic
from causeway.rules.positions import newest


@dataclass(slots=True)
class LedgerState:
    """The ledger's state, as far as it was read."""

    lease: Lease | None = None
    generation: Generation | None = None
    cut: Cut | None = None
    paused: Paused | None = None
    heartbeats: dict[int, Heartbeat] = field(default_factory=dict)
    created: dict[str, CreatedTopic] = field(default_factory=dict)
    claims: dict[ClusterTopic, RouteClaim] = field(default_factory=dict)  # by source topic
    adopted: dict[str, Adopted] = field(default_factory=dict)
    pools: dict[str, PoolMembers] = field(default_factory=dict)  # by name
    node_requests: dict[str, NodeRequest] = field(default_factory=dict)  # by pool
    node_moves: dict[tuple[int, str], NodeMoved] = field(default_factory=dict)  # by shard and pool
    node_results: dict[tuple[int, str], NodeRequestDone] = field(default_factory=dict)  # by shard and pool
    events: dict[str, Event] = field(default_factory=dict)
    verdicts_by: dict[tuple[int, SourcePartition], Stopped] = field(default_factory=dict)
    gaps: dict[str, Gap] = field(default_factory=dict)
    gap_homes: dict[str, int] = field(default_factory=dict)  # the ledger's partition, by the gap's key
    by_partition: dict[tuple[int, SourcePartition], Position] = field(default_factory=dict)
    hidden_by: dict[tuple[int, str], Hidden] = field(default_factory=dict)  # by the ledger's partition

    @property
    def verdicts(self) -> dict[SourcePartition, Stopped]:
        """The latest verdict on each partition, in the order of the ledger's log; no clock decides.

        A partition that moved to another shard has verdicts in two of the ledger's partitions. A lease has
        one sharding, so the higher lease is the later one. Older versions wrote an operator's command under
        the lease of the verdict that it cleared, with a later time: only in that case the times decide.
        """
        last: dict[SourcePartition, Stopped] = {}
        for (_, source), record in self.verdicts_by.items():
            known = last.get(source)
            if known is None or (known.lease, known.at) <= (record.lease, record.at):
                last[source] = record
        return last

    @property
    def stopped(self) -> dict[SourcePartition, Stopped]:
        """Stopped partitions, and why."""
        return {source: record for source, record in self.verdicts.items() if record.verdict}

    @property
    def positions(self) -> dict[SourcePartition, Position]:
        return newest(self.by_partition.values())

    @property
    def hidden(self) -> list[Hidden]:
        """Places with records that count as replicated but cannot be read, and up to which offset."""
        return [record for record in self.hidden_by.values() if record.end >= 0]

    def apply(self, partition: int, record: LedgerRecord) -> None:
        match record:
            case Position():
                self.by_partition[partition, record.source] = record
            case Lease():
                if self.lease is None or record.number >= self.lease.number:
                    self.lease = record
            case Generation():
                self.generation = record
            case Cut():
                self.cut = record
            case Paused():
                self.paused = record
            case Heartbeat():
                self.heartbeats[record.shard] = record
            case CreatedTopic():
                self.created[record.topic] = record
            case RouteClaim():
                self.claims[record.source] = record
            case Adopted():
                self.adopted[record.key()] = record
            case PoolMembers() | NodeRequest() | NodeMoved() | NodeRequestDone():
                self._apply_of_pool(record)
            case Event():
                self.events[record.key()] = record
            case Gap():
                self.gaps[record.key()] = record
                self.gap_homes[record.key()] = partition
            case Hidden():
                self.hidden_by[partition, record.key()] = record
            case Stopped():
                self.verdicts_by[partition, record.source] = record

    def _apply_of_pool(self, record: PoolMembers | NodeRequest | NodeMoved | NodeRequestDone) -> None:
        match record:
            case PoolMembers():
                self.pools[record.name] = record
            case NodeRequest():
                self.node_requests[record.pool] = record
            case NodeMoved():
                self.node_moves[record.shard, record.pool] = record
            case NodeRequestDone():
                self.node_results[record.shard, record.pool] = record

    def executed_requests(self, shard: int) -> dict[str, int]:
        """The time of the latest request for a node that this shard has executed, by pool.

        Requests from before the sharding in force count as executed: the shard may be a new one.
        """
        before = self.generation.at if self.generation else 0
        return {
            pool: max(before, done.request if (done := self.node_results.get((shard, pool))) else 0)
            for pool in self.node_requests
        }

    def newest_lease(self) -> int:
        return self.lease.number if self.lease else 0

    def gaps_of(self, source: SourcePartition) -> list[Gap]:
        """Where this partition's position moved without replicating, oldest first."""
        return [gap for gap in self.gaps_in_order() if gap.source == source]

    def gaps_in_order(self) -> list[Gap]:
        """Oldest first: in log order within a partition of the ledger, by time between several.

        A gap counts as no older than the one before it in its log, whatever its time is.
        """
        latest: dict[int, int] = {}
        order: dict[str, int] = {}
        for key, gap in self.gaps.items():
            home = self.gap_homes[key]
            order[key] = latest[home] = max(gap.at, latest.get(home, gap.at))
        return [self.gaps[key] for key in sorted(order, key=lambda key: order[key])]
