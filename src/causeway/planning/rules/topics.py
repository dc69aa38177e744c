"""What destination topics must look like, and what to do about those that do not.

Causeway creates destination topics, not the broker: with the source's partition count and the source topic's
own configuration, except for what MirrorMaker leaves out too, and with timestamps as the source has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from causeway.core.plural import counted
from causeway.core.topic import TopicFacts

NOT_COPIED = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.type",
        "unclean.leader.election.enable",
        "min.insync.replicas",
        "remote.storage.enable",
        "local.retention.ms",
        "local.retention.bytes",
    }
)
WIDE_OPEN = str(2**63 - 1)
"""Kafka 4 rejects timestamps more than an hour ahead unless the topic's configuration allows them."""
SAFE_COPIES = 3


@dataclass(frozen=True, slots=True)
class Create:
    partitions: int
    replication: int
    config: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grow:
    partitions: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """Why a topic cannot be replicated as it is, and the command that would change that."""

    why: str
    todo: str
    integrity: bool = False  # going on could repeat records
    short: bool = False  # only some of its partitions have no place


TopicAction = Create | Grow | Refuse | None


def held(counts: Sequence[int]) -> str:
    """How many records a topic holds, from the offsets between start and end of each partition's log.

    Transaction markers and records that compaction removed have offsets too, hence "up to".
    """
    total, filled = sum(counts), sum(1 for count in counts if count)
    if not total:
        return "held records before, deleted by now,"
    records, partitions = "record" + "s" * (total > 1), "partition" + "s" * (len(counts) > 1)
    return f"already holds up to {total:,} {records} in {filled} of {len(counts)} {partitions}"


def new_topic(
    source: TopicFacts,
    partitions: int,
    source_config: Mapping[str, str],
    source_max_bytes: int,
    known_settings: frozenset[str],
    brokers: int,
    replication: int | None,
) -> Create:
    """The destination topic for a source topic.

    `known_settings` are the settings that the destination's brokers know; empty if that is unknown.
    """
    config = {
        name: value
        for name, value in source_config.items()
        if name not in NOT_COPIED and (name in known_settings or not known_settings)
    }
    config["message.timestamp.type"] = "CreateTime"
    for bound in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"):
        if bound in known_settings or not known_settings:
            config[bound] = WIDE_OPEN
    config["max.message.bytes"] = str(source_max_bytes)
    copies = max(1, min(replication or source.replication, brokers))
    if copies >= SAFE_COPIES:
        config["min.insync.replicas"] = "2"  # two brokers must have a record, as for the ledger
    return Create(partitions, copies, config)


def replaces_timestamps(config: Mapping[str, str]) -> bool:
    return config.get("message.timestamp.type") == "LogAppendTime"


def fit(
    needed: int,
    wished: int,
    destination: TopicFacts,
    destination_config: Mapping[str, str],
    *,
    made_by_us: bool,
    broker_timestamps: bool,
) -> TopicAction:
    """What an existing destination topic needs before records can go there.

    It must have `needed` partitions; a topic that Causeway created grows to `wished`.
    """
    name = destination.name
    if replaces_timestamps(destination_config) and not broker_timestamps:
        return stamping(name)
    if made_by_us and destination.partitions < wished:
        return Grow(wished)
    if destination.partitions >= needed:
        return None
    return Refuse(
        f"topic {name} has {counted(destination.partitions, 'partition')}, {needed} are needed",
        f"kafka-topics.sh --alter --topic {name} --partitions {needed}"
        ' (or modulo = true to fold them, or partitions = "by-key")',
        short=True,
    )


def stamping(name: str) -> Refuse:
    """The refusal of a topic that replaces timestamps, whenever that is found."""
    return Refuse(
        f"topic {name} has message.timestamp.type=LogAppendTime: it would replace every timestamp",
        f"kafka-configs.sh --alter --entity-type topics --entity-name {name}"
        " --add-config message.timestamp.type=CreateTime"
        ' (or timestamps = "broker" to accept it)',
    )
