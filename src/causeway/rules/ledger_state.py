"""The state of a mirror's ledger, built record by record. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from causeway.core.ledger_record import (
    Adopted,
    CopiedSchema,
    CreatedTopic,
    Cut,
    Event,
    Gap,
    Generation,
    Heartbeat,
    Hidden,
    Lease,
    LedgerRecord,
    NeededSchemas,
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
from causeway.core.schema import SchemaUse
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
    schemas: dict[SchemaUse, CopiedSchema] = field(default_factory=dict)
    schema_changes: int = 0  # grows with each change of `schemas`
    needed_by: dict[tuple[int, SourcePartition], NeededSchemas] = field(default_factory=dict)
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
            case Lease() | Generation() | Cut() | Paused():
                self._apply_of_run(record)
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
            case CopiedSchema() | NeededSchemas():
                self._apply_of_schemas(partition, record)
            case Event():
                self.events[record.key()] = record
            case Gap():
                self.gaps[record.key()] = record
                self.gap_homes[record.key()] = partition
            case Hidden():
                self.hidden_by[partition, record.key()] = record
            case Stopped():
                self.verdicts_by[partition, record.source] = record

    def _apply_of_run(self, record: Lease | Generation | Cut | Paused) -> None:
        match record:
            case Lease():
                if self.lease is None or record.number >= self.lease.number:
                    self.lease = record
            case Generation():
                self.generation = record
            case Cut():
                self.cut = record
            case Paused():
                self.paused = record

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

    def _apply_of_schemas(self, partition: int, record: CopiedSchema | NeededSchemas) -> None:
        match record:
            case CopiedSchema():
                self.schemas[record.use] = record
                self.schema_changes += 1
            case NeededSchemas():
                self.needed_by[partition, record.source] = record

    def schemas_known(self, lease: int) -> dict[SchemaUse, int | None]:
        """The schemas that records name, and their ids at the destination; None if the source has none.

        What a registry did not have in an earlier run, it may have now.
        """
        return {
            use: record.to_id
            for use, record in self.schemas.items()
            if record.to_id is not None or record.lease == lease
        }

    def needed_schemas(self, lease: int) -> dict[SourcePartition, list[SchemaUse]]:
        """The schemas that partitions wait for. A partition that went on needs nothing any more."""
        if not self.needed_by:
            return {}
        positions, known = self.positions, self.schemas_known(lease)
        needed: dict[SourcePartition, list[SchemaUse]] = {}
        for (_, source), record in self.needed_by.items():
            position = positions.get(source)
            if position is None or position.offset <= record.offset:
                missing = [use for use in record.uses if use not in known]
                needed.setdefault(source, []).extend(missing)
        return {source: uses for source, uses in needed.items() if uses}

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
