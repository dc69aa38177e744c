"""Records of the ledger's control partition, written only by the holder of the lease.

The holder is the driver, or an operator's command. `ledger_record.py` encodes them. The driver's heartbeats
are there too (`shard_records.Heartbeat`, shard 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from causeway.core.route import ClusterTopic
from causeway.core.schema import Part, SchemaId, SchemaUse


@dataclass(frozen=True, slots=True)
class Lease:
    """The instance that may issue orders. The highest number is in force; it never decreases."""

    kind: ClassVar[str] = "lease"
    number: int
    instance: str
    host: str
    pid: int
    at: int
    ledger_id: str = ""  # the topic id of the ledger itself: a different id means that this ledger is a copy

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Generation:
    """The sharding in force: written in one transaction with all positions, moved to their shards."""

    kind: ClassVar[str] = "generation"
    number: int
    shards: int
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Cut:
    """Every task of this lease, up to this slice, ends after its current transaction."""

    kind: ClassVar[str] = "cut"
    lease: int
    slice: int
    reason: str
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Paused:
    """An operator paused the mirror; with an empty `by`, resumed it. Survives restarts."""

    kind: ClassVar[str] = "paused"
    by: str
    at: int

    def key(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A destination topic that Causeway created, so that it may also add partitions to it."""

    kind: ClassVar[str] = "topic"
    topic: str
    topic_id: str
    at: int

    def key(self) -> str:
        return f"{self.kind}|{self.topic}"


@dataclass(frozen=True, slots=True)
class RouteClaim:
    """This mirror replicates a source topic to a destination topic; with an empty `to_topic`, no longer.

    Other mirrors read it before they start the same route (planning/rules/route_conflicts.py).
    """

    kind: ClassVar[str] = "claim"
    cluster: str
    topic: str
    to_topic: str
    to_topic_id: str
    provenance: bool  # whether records are marked with their origin, and not replicated back to it
    settled: bool  # the other ledgers were read after the claim was committed, and none has the route
    at: int
    later: bool = False  # the topic appeared while the mirror ran: it starts at earliest, despite `start`

    @property
    def source(self) -> ClusterTopic:
        return ClusterTopic(self.cluster, self.topic)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}"


@dataclass(frozen=True, slots=True)
class PoolMembers:
    """A source pool: the cluster id in its positions, and the clusters that were its nodes.

    A node keeps its cluster for as long as it is one: another cluster under its name is refused.
    """

    kind: ClassVar[str] = "pool"
    name: str
    id: str
    members: dict[str, str]  # cluster id by the node's name
    at: int

    def key(self) -> str:
        return f"{self.kind}|{self.name}"


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """An operator's request to read a pool from this node. A task executes each request once."""

    kind: ClassVar[str] = "node"
    pool: str
    node: str
    by: str
    at: int
    force: bool = False  # also if the node is not fit

    def key(self) -> str:
        return f"{self.kind}|{self.pool}"


@dataclass(frozen=True, slots=True)
class CopiedSchema:
    """A schema that records of a source topic name, and its id at the destination.

    Written before the first record that needs it becomes visible. `to_id` is None if the source's registry
    does not have it under the topic's subjects: that counts under this lease alone, the next run asks again.
    """

    kind: ClassVar[str] = "schema"
    cluster: str
    topic: str
    part: Part
    id: SchemaId
    to_id: int | None
    from_subject: str
    subject: str  # at the destination
    version: int  # of that subject
    lease: int
    at: int

    @property
    def use(self) -> SchemaUse:
        return SchemaUse(self.cluster, self.topic, self.part, self.id)

    def key(self) -> str:
        return f"{self.kind}|{self.cluster}|{self.topic}|{self.part}|{self.id}"


@dataclass(frozen=True, slots=True)
class Adopted:
    """Topics that were taken over from another tool: by whom, from which hint, and what was accepted.

    Written in one transaction with the first positions; in several parts if there are many, since a record
    must stay below the brokers' limit.
    """

    kind: ClassVar[str] = "adopted"
    lease: int
    by: str
    hint: str  # what the operator started from: a group, the destination's ends, a timestamp
    accepted: str  # "repeat" or "lose", if handoffs were not clean
    unchecked: dict[str, int]  # partitions whose hint was used without a check
    topics: dict[str, str]  # source topic → where its partitions start
    ends: dict[str, int]  # destination partition → where the old tool's records end
    at: int
    part: int = 0

    def key(self) -> str:
        return f"{self.kind}|{self.lease}{f'|{self.part}' if self.part else ''}"
