"""What one shard has to do in one slice. Travels to the executors as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from causeway.model.cluster import Cluster
from causeway.model.position import Place, SourcePartition

Delivery = Literal["exactly-once", "at-least-once"]

Start = Literal["earliest", "latest"] | int
"""Where a partition begins that the ledger does not know; a number is a timestamp in milliseconds."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition of an order, and where its records go."""

    source: SourcePartition
    topic_id: str
    place: Place
    start: Start
    until: int | None  # carry at least to here; None where there is no end


@dataclass(frozen=True, slots=True)
class Limits:
    """When a transaction closes, how much may wait in memory, how often a shard says it lives."""

    records: int
    bytes: int
    seconds: float
    transaction_timeout: float
    queue_bytes: int
    batch_bytes: int  # no larger than the smallest max.message.bytes of the destination topics
    heartbeat: float


@dataclass(frozen=True, slots=True)
class Order:
    mirror: str
    shard: int  # 1…n: also the shard's partition of the ledger
    lease: int
    generation: int
    slice: int
    delivery: Delivery
    compression: str
    sources: dict[str, Cluster]  # by cluster id
    destination: Cluster
    ledger: str
    offset_map: str
    group: str | None  # the source consumer group to advance, or none
    lanes: tuple[Lane, ...]
    tail: float | None  # go on for so many seconds behind the end; None: stop at the end
    limits: Limits

    @property
    def transactional_id(self) -> str:
        return transactional_id(self.mirror, self.shard)

    def to_json(self) -> str:
        data: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "mirror", "shard", "lease", "generation", "slice", "delivery", "compression",
                "ledger", "offset_map", "group", "tail",
            )
        }  # fmt: skip
        data["sources"] = {name: cluster.to_json() for name, cluster in self.sources.items()}
        data["destination"] = self.destination.to_json()
        data["limits"] = asdict(self.limits)
        data["lanes"] = [
            [list(lane.source), lane.topic_id, list(lane.place), lane.start, lane.until]
            for lane in self.lanes
        ]
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Order:
        data = json.loads(text)
        data["sources"] = {name: Cluster.from_json(value) for name, value in data["sources"].items()}
        data["destination"] = Cluster.from_json(data["destination"])
        data["limits"] = Limits(**data["limits"])
        data["lanes"] = tuple(
            Lane(SourcePartition(*source), topic_id, Place(*place), start, until)
            for source, topic_id, place, start, until in data["lanes"]
        )
        return Order(**data)


def transactional_id(mirror: str, shard: int) -> str:
    """The one id under which a shard writes; 0 is the driver, which writes the control partition."""
    return f"causeway.{mirror}.{shard or 'control'}"


def ledger_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.ledger"


def offset_map_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.offsets"
