"""Intake and delivery without a mirror around them: what a carrier does with some partitions."""

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
from causeway.kafka.transaction import Transaction
from causeway.rules.integrity import Finding
from causeway.rules.offset_runs import OffsetRun
from support.process import eventually
from support.world import World

CLUSTER_ID = "c"


@dataclass
class Carrying:
    """One transaction: all of a source topic, to a topic of the same number of partitions, or by key."""

    world: World
    kind: CarrierChoice
    topic: str
    to: str
    partitions: int = 1
    single: bool = False
    poison: Mapping[int, Mapping[int, Finding]] = field(default_factory=dict)  # by partition and offset
    quarantine: str = ""
    places: Mapping[int, int] = field(default_factory=dict)  # where partitions go that keep not their number
    starts: Mapping[int, int] = field(default_factory=dict)
    batch_bytes: int = 1_000_000
    queue_bytes: int = 1 << 24
    delivery_kind: Delivery = "exactly-once"
    timeout: float = 10.0
    servers: str = ""  # of the destination, where the carrier reaches it by another way
    compression: str = "lz4"

    def __enter__(self) -> Self:
        carried_by = carrier(self.kind, "")
        assert carried_by.name == self.kind, carried_by.why
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
        self.consumer = carried_by.source_consumer(source, CLUSTER_ID, lanes, None, self.world.mirror, limits)
        transaction = Transaction(f"{self.world.mirror}.{self.kind}")
        self.producer = DestinationProducer(
            destination,
            limits,
            self.compression,
            transaction if self.delivery_kind == "exactly-once" else AtLeastOnce(),
            single=self.single,
            kind=carried_by.producer,
        )
        self.producer.fence()
        self.lanes = [self._open(lane) for lane in lanes]
        self.consumer.assign(self.lanes)
        return self

    def _open(self, lane: Lane) -> PartitionState:
        number = lane.source.partition
        start = self.starts.get(number, 0)
        position = Position(lane.source, "id", 0, start, -1, lane.place, 0, -1, 1, 0)
        known = self.poison.get(number, {})
        return PartitionState(lane, position, self.single or lane.place.partition < 0, known, self.quarantine)

    def take(self, count: int) -> None:
        """Carry the next records, so many."""
        wanted = sum(lane.delivered for lane in self.lanes) + count

        def step() -> bool:
            carried = sum(lane.delivered for lane in self.lanes)
            taken = self.consumer.poll(wanted - carried - 1, 0.1) if carried < wanted else None
            if taken is not None and taken.records:
                self.producer.replicate(taken.records, self.consumer.open)
            return carried >= wanted

        eventually(step, f"{count} records are carried")

    def to_the_end(self) -> None:
        """Carry until every lane has come to its end, or stands still."""
        ended: set[PartitionState] = set()

        def step() -> bool:
            taken = self.consumer.poll(1_000, 0.1)
            if taken.records:
                self.producer.replicate(taken.records, self.consumer.open)
            for lane, offset in taken.ends:
                lane.advance_to(offset)
                ended.add(lane)
            return all(lane in ended or lane.finding for lane in self.lanes)

        eventually(step, "everything is carried")

    def settled(self, at: int = 1) -> list[tuple[Position, dict[int, list[OffsetRun]]]]:
        """Where the lanes stand, and where their records landed; all is committed."""
        self.producer.flush()
        found = [lane.next_position(at) for lane in self.lanes]
        self.producer.commit([])
        return found

    def rejected(self) -> list[tuple[int, Any]]:
        return [one for lane in self.lanes for one in lane.rejected()]

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.consumer.close()
        self.producer.close()
