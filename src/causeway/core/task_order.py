"""The task order: what one shard has to do in one slice. Sent to the executors as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from causeway.core.choices import CarrierChoice, Delivery, OnGap, OnPoison, OnRecreate
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.position import Place, SourcePartition


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition of an order, and where its records go."""

    source: SourcePartition
    topic_id: str
    place: Place
    until: int | None  # replicate at least up to this offset; None: there is no end
    shared: bool = False  # other lanes write to the same place
    reached: int = -1  # the position the driver knows: a ledger that shows less was not read to its end
    batch_limit: int | None = None  # the largest batch that its place accepts, if that is unusually small


@dataclass(frozen=True, slots=True)
class Limits:
    """When a transaction is committed, how much memory may be used, how often a shard writes a heartbeat."""

    records: int
    bytes: int
    seconds: float
    transaction_timeout: float
    queue_bytes: int
    queue_records: int
    batch_bytes: int  # accepted by every topic of the shard, except those of lanes with their own limit
    heartbeat: float
    records_per_second: float = 0.0  # of this shard; 0 is no limit
    bytes_per_second: float = 0.0
    fetch_bytes: int = 8 * 1024 * 1024  # the most in one fetch response of a source broker


@dataclass(frozen=True, slots=True)
class SeenLedger:
    """What the driver has read of the ledger partitions that a shard reads: the shard reads on after that."""

    offsets: tuple[tuple[int, int], ...]  # partition and the next offset
    records: tuple[tuple[int, str], ...]  # partition and value


@dataclass(frozen=True, slots=True)
class TaskOrder:
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
    groups: dict[str, str]  # by cluster id of the source: the consumer group to advance, if any
    lanes: tuple[Lane, ...]
    tail: float | None  # run for this many seconds, also at the log end; None: stop at the end
    limits: Limits
    partitioner: str = "murmur2_random"  # the client's, for places where the key chooses the partition
    provenance: bool = False  # mark records with their origin, and replicate none back to it
    destination_id: str = ""
    filters: tuple[FilterSpec, ...] = ()
    on_gap: OnGap = "stop"
    on_recreate: OnRecreate = "stop"
    on_poison: OnPoison = "stop"
    carrier: CarrierChoice = "auto"
    ledger_id: str = ""  # topic id of the ledger: another topic of its name is not trusted
    after: int = 0  # an earlier slice that may not have ended yet
    seen: SeenLedger | None = None

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
    def from_json(text: str) -> TaskOrder:
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
            data["seen"] = SeenLedger(
                **{name: tuple(map(tuple, each)) for name, each in data["seen"].items()}
            )
        return TaskOrder(**data)


def transactional_id(mirror: str, shard: int) -> str:
    """The transactional id of a shard; 0 is the driver, which writes the control partition."""
    return f"causeway.{mirror}.{shard or 'control'}"


def ledger_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.ledger"


def offset_map_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.offsets"


def quarantine_topic(mirror: str) -> str:
    return f"__causeway.{mirror}.quarantine"
