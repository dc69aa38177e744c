"""The topics of ledger and offset map: creates them, and checks that the ledger is still the same topic."""

from __future__ import annotations

from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.core.topic import TopicFacts
from causeway.errors import IntegrityError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.task_errors import LedgerGone
from causeway.rules.integrity import same_topic, shown

_LEDGER_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "min.cleanable.dirty.ratio": "0.05",
    "segment.bytes": str(16 * 1024 * 1024),
    "segment.ms": str(10 * 60 * 1000),
    "max.compaction.lag.ms": str(60 * 60 * 1000),
    "delete.retention.ms": str(60 * 60 * 1000),
}
_MAP_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(30 * 24 * 60 * 60 * 1000),
    "retention.bytes": "-1",
}


def check_ledger(ledger: str, known_id: str, facts: TopicFacts | None, alias: str) -> None:
    """Raise IntegrityError for another topic under the ledger's name: it lacks positions, never write to it.

    Raises LedgerGone where there is no such topic: a broker may not know it yet, or it was deleted.
    """
    if facts is None:
        raise LedgerGone(f"topic {ledger} does not exist")
    if known_id and not same_topic(known_id, facts.topic_id):
        raise IntegrityError(
            "the ledger was deleted and created again while the mirror ran",
            where=f'topic {ledger} on cluster "{alias}"',
            why=f"topic id {shown(known_id)} then, {shown(facts.topic_id)} now",
            todo="its positions are lost: replicate under a new mirror name, or take over what is at the"
            " destination: `causeway adopt`",
        )


def durability(view: ClusterView, replication: int | None) -> tuple[int, dict[str, str]]:
    """Replication factor and settings of the mirror's own topics: from 3 replicas on, 2 must be in sync."""
    copies = min(replication or 3, view.brokers())
    return copies, {"min.insync.replicas": "2"} if copies >= 3 else {}


def ensure_topics(view: ClusterView, mirror: str, shards: int, replication: int | None) -> TopicFacts:
    """Create the ledger and the offset map, or grow them to a partition for each shard and one for control.

    Returns the ledger's facts. Raises PlanRefused where its cleanup policy is not what the guarantee needs,
    and IntegrityError where there is no ledger although the offset map shows that there was one.
    """
    ledger, offsets = ledger_topic(mirror), offset_map_topic(mirror)
    copies, in_sync = durability(view, replication)
    known = view.describe([ledger, offsets])
    if ledger not in known and offsets in known:
        _refuse_lost(view, mirror, known[offsets].partitions)
    for topic, config in ((ledger, _LEDGER_CONFIG), (offsets, _MAP_CONFIG)):
        if topic not in known:
            view.create_topic(topic, shards + 1, copies, {**config, **in_sync})
        elif known[topic].partitions < shards + 1:
            view.grow_topic(topic, shards + 1)
    policy = view.configs([ledger])[ledger].get("cleanup.policy", "")
    if policy != "compact":
        raise PlanRefused(
            f'the ledger has cleanup.policy "{policy}", which would delete positions',
            where=f'topic {ledger} on cluster "{view.cluster.alias}"',
            todo=f"kafka-configs.sh --alter --topic {ledger} --add-config cleanup.policy=compact",
        )
    return view.describe([ledger])[ledger]


def _refuse_lost(view: ClusterView, mirror: str, partitions: int) -> None:
    """Do not create a new ledger for an offset map with entries: everything would be replicated again."""
    ledger, offsets = ledger_topic(mirror), offset_map_topic(mirror)
    if any(view.all_offsets([(offsets, number) for number in range(partitions)], "latest").values()):
        raise IntegrityError(
            f'the ledger of mirror "{mirror}" is missing, but its offset map has entries',
            where=f'topic {ledger} on cluster "{view.cluster.alias}"',
            why="without positions everything would be replicated again",
            todo="replicate under a new mirror name, or take over what is at the destination: delete topic"
            f" {offsets} and `causeway adopt`",
        )
