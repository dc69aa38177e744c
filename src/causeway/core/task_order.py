"""The task order: what one shard has to do in one slice. Sent to the executors as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from causeway.core.choices import (
    CarrierChoice,
    Delivery,
    OnGap,
    OnPoison,
    OnRecreate,
    Timings,
    UnknownIds,
)
from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.position import Place, SourcePartition
from causeway.core.schema import Part
from causeway.core.source_pool import SourcePool


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition of an order, and where its records go."""

    source: SourcePartition
    topic_id: str
    place: Place
    until: int | None  # replicate at least up to this offset; None: there is no end
    shared: bool = False  # other lanes write to the same place
    reached: int | None = (
        None  # the position the driver knows: a ledger that shows less was not read to its end
    )
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
class SliceId:
    """What identifies a slice of a mirror: its number under a lease, and the sharding in force."""

    mirror: str
    lease: int
    generation: int
    number: int


@dataclass(frozen=True, slots=True)
class SourceCluster:
    """A cluster to read from, and the consumer group to advance there, if any; or a pool of clusters."""

    cluster: Cluster  # of a pool: any node, its clients' alias is the pool's name
    group: str | None = None
    pool: SourcePool | None = None
    node: str = ""  # the node that the shard has read from; empty before the first
    request: int = 0  # time of the latest request for a node that was executed before this order


@dataclass(frozen=True, slots=True)
class ProduceSettings:
    """How records are written to the destination."""

    delivery: Delivery = "exactly-once"
    compression: str = "none"
    partitioner: str = "murmur2_random"  # the client's, for places where the key chooses the partition
    carrier: CarrierChoice = "auto"
    timings: Timings = "off"


@dataclass(frozen=True, slots=True)
class Policies:
    """What to do instead of stopping a partition."""

    on_gap: OnGap = "stop"
    on_recreate: OnRecreate = "stop"
    on_poison: OnPoison = "stop"


@dataclass(frozen=True, slots=True)
class SchemaPolicy:
    """Which parts of records name schemas that must be known, and what else to do with those that are not."""

    parts: tuple[Part, ...]
    unknown: UnknownIds
    excluded: tuple[str, ...] = ()  # source topics that name none

    def parts_of(self, topic: str) -> tuple[Part, ...]:
        return () if topic in self.excluded else self.parts

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SchemaPolicy:
        return SchemaPolicy(tuple(data["parts"]), data["unknown"], tuple(data["excluded"]))


@dataclass(frozen=True, slots=True)
class TaskOrder:
    slice: SliceId
    shard: int  # 1…n: also the shard's partition of the ledger
    lanes: tuple[Lane, ...]
    tail: float | None  # run for this many seconds, also at the log end; None: stop at the end
    sources: dict[str, SourceCluster]  # by cluster id
    destination: Cluster
    ledger_id: str  # topic id of the ledger: another topic of its name is not trusted
    limits: Limits
    produce: ProduceSettings = ProduceSettings()
    policies: Policies = Policies()
    filters: tuple[FilterSpec, ...] = ()
    provenance: str | None = None  # mark records with their origin; none goes to this cluster id, its own
    after: int | None = None  # an earlier slice that may not have ended yet
    seen: SeenLedger | None = None
    schemas: SchemaPolicy | None = None  # with schemas = "copy"

    @property
    def transactional_id(self) -> str:
        return transactional_id(self.slice.mirror, self.shard)

    @property
    def ledger(self) -> str:
        return ledger_topic(self.slice.mirror)

    @property
    def offset_map(self) -> str:
        return offset_map_topic(self.slice.mirror)

    @property
    def quarantine(self) -> str:
        return quarantine_topic(self.slice.mirror)

    def to_json(self) -> str:
        data: dict[str, Any] = {
            name: getattr(self, name) for name in ("shard", "tail", "ledger_id", "provenance", "after")
        }
        for name in ("slice", "limits", "produce", "policies"):
            data[name] = asdict(getattr(self, name))
        data["sources"] = {
            name: [
                source.cluster.to_json(),
                source.group,
                source.pool.to_json() if source.pool else None,
                source.node,
                source.request,
            ]
            for name, source in self.sources.items()
        }
        data["destination"] = self.destination.to_json()
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
        data["schemas"] = asdict(self.schemas) if self.schemas else None
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> TaskOrder:
        data = json.loads(text)
        data["slice"] = SliceId(**data["slice"])
        data["limits"] = Limits(**data["limits"])
        data["produce"] = ProduceSettings(**data["produce"])
        data["policies"] = Policies(**data["policies"])
        data["sources"] = {
            name: SourceCluster(
                Cluster.from_json(cluster), group, SourcePool.from_json(pool) if pool else None, *rest
            )
            for name, (cluster, group, pool, *rest) in data["sources"].items()
        }
        data["destination"] = Cluster.from_json(data["destination"])
        data["lanes"] = tuple(
            Lane(SourcePartition(*source), topic_id, Place(*place), *rest)
            for source, topic_id, place, *rest in data["lanes"]
        )
        data["filters"] = tuple(FilterSpec(**spec) for spec in data["filters"])
        if data["seen"]:
            data["seen"] = SeenLedger(
                **{name: tuple(map(tuple, each)) for name, each in data["seen"].items()}
            )
        if data["schemas"]:
            data["schemas"] = SchemaPolicy.from_json(data["schemas"])
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
