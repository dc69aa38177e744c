"""A carrier's consumer and producer without a mirror: replicates the partitions of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from causeway.core.choices import CarrierChoice, Delivery
from causeway.core.cluster import Cluster
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, Limits
from causeway.kafka.carrier import carrier
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.schema_ids import SchemaIds
from causeway.kafka.transaction import Transaction
from causeway.rules.integrity import Finding
from causeway.rules.offset_runs import OffsetRun
from support.process import eventually
from support.world import World

CLUSTER_ID = "c"


@dataclass
class CarrierRun:
    """One transaction: all of a source topic, to a topic of the same number of partitions, or by key."""

    world: World
    kind: CarrierChoice
    topic: str
    to: str
    partitions: int = 1
    single: bool = False
    poison: Mapping[int, Mapping[int, Finding]] = field(default_factory=dict)  # by partition and offset
    quarantine: str = ""
    places: Mapping[int, int] = field(
        default_factory=dict
    )  # destination partitions, where the number differs
    starts: Mapping[int, int] = field(default_factory=dict)
    batch_bytes: int = 1_000_000
    queue_bytes: int = 1 << 24
    delivery_kind: Delivery = "exactly-once"
    timeout: float = 10.0
    servers: str = ""  # of the destination, if reached through a proxy
    compression: str = "lz4"
    schemas: SchemaIds | None = None

    def __enter__(self) -> Self:
        chosen = carrier(self.kind, "")
        assert chosen.name == self.kind, chosen.why
        limits = Limits(
            1_000_000, 1 << 30, 60, self.timeout, self.queue_bytes, 1_000_000, self.batch_bytes, 1
        )
        source = Cluster("source", {"bootstrap.servers": self.world.servers["source"]})
        to = self.servers or self.world.servers["destination"]
        destination = Cluster("destination", {"bootstrap.servers": to})
        lanes = [
            Lane(
                SourcePartition(CLUSTER_ID, self.topic, number),
                "id",
                Place(self.to, "id", self.places.get(number, number)),
                None,
            )
            for number in range(self.partitions)
        ]
        self.consumer = chosen.source_consumer(source, CLUSTER_ID, lanes, None, self.world.mirror, limits)
        transaction = Transaction(f"{self.world.mirror}.{self.kind}")
        self.producer = DestinationProducer(
            destination,
            limits,
            self.compression,
            transaction if self.delivery_kind == "exactly-once" else AtLeastOnce(),
            single=self.single,
            kind=chosen.producer,
            schemas=self.schemas,
        )
        self.producer.fence()
        self.states = [self._open(lane) for lane in lanes]
        self.consumer.assign(self.states)
        return self

    def _open(self, lane: Lane) -> PartitionState:
        number = lane.source.partition
        start = self.starts.get(number, 0)
        position = Position(lane.source, "id", 0, start, -1, lane.place, 0, -1, 1, 0)
        known = self.poison.get(number, {})
        return PartitionState(lane, position, self.single or lane.place.partition < 0, known, self.quarantine)

    def take(self, count: int) -> None:
        """Replicate the next `count` records."""
        wanted = sum(state.delivered for state in self.states) + count

        def step() -> bool:
            replicated = sum(state.delivered for state in self.states)
            taken = self.consumer.poll(wanted - replicated - 1, 0.1) if replicated < wanted else None
            if taken is not None and taken.records:
                self.producer.replicate(taken.records, self.consumer.open)
            return replicated >= wanted

        eventually(step, f"{count} records are replicated")

    def replicate_to_end(self) -> None:
        """Replicate until every partition has reached its end, or has stopped."""
        ended: set[PartitionState] = set()

        def step() -> bool:
            taken = self.consumer.poll(1_000, 0.1)
            if taken.records:
                self.producer.replicate(taken.records, self.consumer.open)
            for state, offset in taken.ends:
                state.advance_to(offset)
                ended.add(state)
            return all(state in ended or state.finding for state in self.states)

        eventually(step, "everything is replicated")

    def settled(self, at: int = 1) -> list[tuple[Position, dict[int, list[OffsetRun]]]]:
        """Commit; return the positions, and the runs of the offset map."""
        self.producer.flush()
        positions = [state.next_position(at) for state in self.states]
        self.producer.commit([])
        return positions

    def rejected(self) -> list[tuple[int, Any]]:
        return [rejection for state in self.states for rejection in state.rejected()]

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.consumer.close()
        self.producer.close()
