"""What one shard has to do in one slice. Travels to the executors as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from causeway.model.cluster import Cluster
from causeway.model.filtering import FilterSpec
from causeway.model.position import Place, SourcePartition

Delivery = Literal["exactly-once", "at-least-once"]

CarrierChoice = Literal["auto", "native", "object"]

OnGap = Literal["stop", "continue"]
OnRecreate = Literal["stop", "restart"]
OnPoison = Literal["stop", "quarantine"]


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition of an order, and where its records go."""

    source: SourcePartition
    topic_id: str
    place: Place
    until: int | None  # carry at least to here; None where there is no end
    shared: bool = False  # other lanes write to the same place
    reached: int = -1  # where the driver knows it to be: a ledger that shows less was not read to its end
    batch_limit: int | None = None  # the largest batch that its place takes, where that is unusually small


@dataclass(frozen=True, slots=True)
class Limits:
    """When a transaction closes, how much may wait in memory, how often a shard says it lives."""

    records: int
    bytes: int
    seconds: float
    transaction_timeout: float
    queue_bytes: int
    queue_records: int
    batch_bytes: int  # what every topic of the shard takes, but for lanes with a limit of their own
    heartbeat: float
    records_per_second: float = 0.0  # of this shard; 0 is no limit
    bytes_per_second: float = 0.0
    fetch_bytes: int = 8 * 1024 * 1024  # most in one answer of a source's broker


@dataclass(frozen=True, slots=True)
class Seen:
    """What the driver has read of the ledger's partitions that a shard reads: it begins behind that."""

    offsets: tuple[tuple[int, int], ...]  # partition and the next offset
    records: tuple[tuple[int, str], ...]  # partition and value


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
    groups: dict[str, str]  # by source: the consumer group to advance, where there is one
    lanes: tuple[Lane, ...]
    tail: float | None  # go on for so many seconds behind the end; None: stop at the end
    limits: Limits
    partitioner: str = "murmur2_random"  # the client's, for places where the key chooses
    provenance: bool = False  # mark where records came from, and let none go back there
    destination_id: str = ""
    filters: tuple[FilterSpec, ...] = ()
    on_gap: OnGap = "stop"
    on_recreate: OnRecreate = "stop"
    on_poison: OnPoison = "stop"
    carrier: CarrierChoice = "auto"
    ledger_id: str = ""  # of the ledger's topic: another one of its name is not to be trusted
    after: int = 0  # an earlier slice that may not have ended yet
    seen: Seen | None = None

    @property
    def transactional_id(self) -> str:
        return transactional_id(self.mirror, self.shard)

    @property
    def quarantine(self) -> str:
        return quarantine_topic(self.mirror)

    def to_json(self) -> str:
        data: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "mirror", "shard", "lease", "generation", "slice", "delivery", "compression",
                "ledger", "offset_map", "groups", "tail", "partitioner", "provenance", "destination_id",
                "on_gap", "on_recreate", "on_poison", "carrier", "ledger_id", "after",
            )
        }  # fmt: skip
        data["sources"] = {name: cluster.to_json() for name, cluster in self.sources.items()}
        data["destination"] = self.destination.to_json()
        data["limits"] = asdict(self.limits)
        data["lanes"] = [
            [
                list(lane.source),
                lane.topic_id,
                list(lane.place),
                lane.until,
                lane.shared,
                lane.reached,
                lane.batch_limit,
            ]
            for lane in self.lanes
        ]
        data["filters"] = [asdict(spec) for spec in self.filters]
        data["seen"] = asdict(self.seen) if self.seen else None
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Order:
        data = json.loads(text)
        data["sources"] = {name: Cluster.from_json(value) for name, value in data["sources"].items()}
        data["destination"] = Cluster.from_json(data["destination"])
        data["limits"] = Limits(**data["limits"])
        data["lanes"] = tuple(
            Lane(SourcePartition(*source), topic_id, Place(*place), *rest)
            for source, topic_id, place, *rest in data["lanes"]
        )
        data["filters"] = tuple(FilterSpec(**spec) for spec in data["filters"])
        if data["seen"]:
            data["seen"] = Seen(**{name: tuple(map(tuple, each)) for name, each in data["seen"].items()})
        return Order(**data)


def transactional_id(mirror: str, shard: int) -> str:
    """The one id under which a shard writes; 0 is the driver, which writes the control partition."""
    return f"causeway.{mirror}.{shard or 'control'}"


def ledger_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.ledger"


def offset_map_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.offsets"


def quarantine_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.quarantine"
