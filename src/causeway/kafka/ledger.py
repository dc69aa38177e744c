"""The ledger: a compacted topic on the destination that says how far each source partition was carried.

Reading follows invariant A: read_committed, until the position reaches the high watermark that was
taken after the fence. Neither the last stable offset nor an end-of-partition event will do: somebody
else's open transaction in the topic would hide our own commits behind it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from causeway.errors import IntegrityError, PlanRefused, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import as_user_error
from causeway.kafka.outcome import Again, LedgerGone
from causeway.model.cluster import Cluster
from causeway.model.order import Seen, ledger_topic, offset_map_topic
from causeway.model.position import Position, SourcePartition
from causeway.model.record import (
    CONTROL,
    Adopted,
    CreatedTopic,
    Cut,
    Event,
    Gap,
    Generation,
    Heartbeat,
    Hidden,
    Lease,
    Paused,
    Record,
    Stopped,
    UnknownRecord,
    decode,
    encode,
)
from causeway.model.topic import TopicFacts
from causeway.policy.integrity import same_topic, shown
from causeway.policy.positions import newest

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

WATCH_MS, WATCH_BYTES = 200, 100_000
"""So long the destination collects commits for whoever watches, or so much of them."""


@dataclass(slots=True)
class LedgerImage:
    """Everything the ledger says, as far as it was read."""

    lease: Lease | None = None
    generation: Generation | None = None
    cut: Cut | None = None
    paused: Paused | None = None
    heartbeats: dict[int, Heartbeat] = field(default_factory=dict)
    created: dict[str, CreatedTopic] = field(default_factory=dict)
    adopted: dict[int, Adopted] = field(default_factory=dict)  # by lease
    events: dict[str, Event] = field(default_factory=dict)
    verdicts: dict[SourcePartition, Stopped] = field(default_factory=dict)
    gaps: dict[str, Gap] = field(default_factory=dict)
    by_partition: dict[tuple[int, SourcePartition], Position] = field(default_factory=dict)
    hidden_by: dict[tuple[int, str], Hidden] = field(default_factory=dict)  # by the ledger's partition

    @property
    def stopped(self) -> dict[SourcePartition, Stopped]:
        """Partitions that stand still, and why."""
        return {source: record for source, record in self.verdicts.items() if record.verdict}

    @property
    def positions(self) -> dict[SourcePartition, Position]:
        return newest(self.by_partition.values())

    @property
    def hidden(self) -> list[Hidden]:
        """Places with records that count as carried and cannot be read, and up to where."""
        return [record for record in self.hidden_by.values() if record.end >= 0]

    def apply(self, partition: int, record: Record) -> None:
        match record:
            case Position():
                self.by_partition[partition, record.source] = record
            case Lease():
                if self.lease is None or record.number >= self.lease.number:
                    self.lease = record
            case Generation():
                self.generation = record
            case Cut():
                self.cut = record
            case Paused():
                self.paused = record
            case Heartbeat():
                self.heartbeats[record.shard] = record
            case CreatedTopic():
                self.created[record.topic] = record
            case Adopted():
                self.adopted[record.lease] = record
            case Event():
                self.events[record.key()] = record
            case Gap():
                self.gaps[record.key()] = record
            case Hidden():
                self.hidden_by[partition, record.key()] = record
            case Stopped():
                # A partition that moved to another shard has verdicts in two of the ledger's partitions.
                known = self.verdicts.get(record.source)
                if known is None or (known.lease, known.at) <= (record.lease, record.at):
                    self.verdicts[record.source] = record

    def newest_lease(self) -> int:
        return self.lease.number if self.lease else 0

    def gaps_of(self, source: SourcePartition) -> list[Gap]:
        """Where this partition's position moved without carrying, the oldest first."""
        return sorted((gap for gap in self.gaps.values() if gap.source == source), key=lambda gap: gap.at)


class Entry(NamedTuple):
    """A record of the ledger, not looked into yet; in the order of the log."""

    partition: int
    offset: int
    key: bytes
    value: bytes


class LedgerReader:
    """Follows some partitions of a mirror's ledger; `image` is what it has read."""

    def __init__(
        self, cluster: Cluster, mirror: str, partitions: Iterable[int], seen: Seen | None = None
    ) -> None:
        self.image = LedgerImage()
        self._cluster = cluster
        self._topic = ledger_topic(mirror)
        self._view = ClusterView(cluster)
        self._group = f"causeway.{mirror}.ledger"
        self._read: dict[int, int] = dict.fromkeys(partitions, 0) | dict(seen.offsets if seen else ())
        for partition, value in seen.records if seen else ():
            self.image.apply(partition, decode(value.encode()))
        self._from = dict(self._read)
        # The end of a partition is known when a fetch comes back empty: short waits while reading up to it.
        self._consumer = self._start(wait_ms=10)

    def _start(self, wait_ms: int, least_bytes: int = 1) -> Consumer:
        consumer = clients.consumer(
            self._cluster,
            self._group,
            queued_max_messages_kbytes=8192,
            fetch_wait_max_ms=wait_ms,
            fetch_min_bytes=least_bytes,
        )
        consumer.assign([TopicPartition(self._topic, number, at) for number, at in self._read.items()])
        return consumer

    def close(self) -> None:
        self._consumer.close()

    def seen(self, shard: int) -> Seen:
        """What was read of a shard's partition and of the control partition, for whoever reads on there."""
        image = self.image
        control = [record for record in (image.lease, image.generation, image.cut, image.paused) if record]
        own: list[Record] = [one for (number, _), one in image.by_partition.items() if number == shard]
        own += image.verdicts.values()
        own += [record for (number, _), record in image.hidden_by.items() if number == shard]
        own += [image.heartbeats[shard]] if shard in image.heartbeats else []
        records = [*((CONTROL, record) for record in control), *((shard, record) for record in own)]
        return Seen(
            tuple((number, self._read[number]) for number in (CONTROL, shard)),
            tuple((number, encode(record)[1].decode()) for number, record in records),
        )

    def follow(self, *partitions: int) -> None:
        """From now on, these partitions alone, and without haste: a new record still comes at once."""
        self._read = {number: self._read[number] for number in partitions}
        self._consumer.close()
        self._consumer = self._start(wait_ms=250)

    def watch(self) -> None:
        """From now on all partitions, some commits at a time: a busy shard makes a hundred a second.

        To be told of each one would cost the destination as many fetches again as its own readers do.
        """
        self._consumer.close()
        self._consumer = self._start(WATCH_MS, WATCH_BYTES)

    def read_to_end(self, seconds: float) -> LedgerImage:
        """Read until every partition's high watermark, taken now. The caller has fenced before.

        Of each key only the newest record is looked at, as if it had been compacted: a busy shard writes a
        hundred a second. Raises Unreachable when it takes longer; whoever holds a transaction open there is
        waited for.
        """
        return self.read_to(self._high_watermarks(time.monotonic() + seconds), seconds)

    def read_to(self, ends: Mapping[int, int], seconds: float) -> LedgerImage:
        """Read until these offsets."""
        deadline = time.monotonic() + seconds
        newest: dict[tuple[int, bytes], Entry] = {}
        try:
            while any(self._read[number] < end for number, end in ends.items()):
                for entry in self._take(0.2, 10_000):
                    newest[entry.partition, entry.key] = entry
                if time.monotonic() < deadline:
                    continue
                behind = [number for number, end in ends.items() if self._read[number] < end]
                raise Unreachable(
                    f"the ledger cannot be read to its end (partitions {behind})",
                    where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                    why="an open transaction of another producer in the ledger,"
                    " or brokers that do not answer",
                )
        finally:  # what was taken is not taken again: the image must hold it, however this ends
            for entry in sorted(newest.values()):
                self._apply(entry)
        return self.image

    def poll(self, seconds: float, most: int = 10_000) -> list[Record]:
        """What has come since; waits for the first record only."""
        return [self._apply(entry) for entry in self._take(seconds, most)]

    def _take(self, seconds: float, most: int) -> list[Entry]:
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        entries = []
        for message in [first, *self._consumer.consume(most, 0)]:
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._passed(message.partition(), message.offset())
                elif not error.retriable() and error.code() != KafkaError._ALL_BROKERS_DOWN:
                    raise self._broken(error)
                continue
            self._passed(message.partition(), message.offset() + 1)
            value = message.value()
            if value is not None:
                entries.append(Entry(message.partition(), message.offset(), message.key() or b"", value))
        return entries

    def _apply(self, entry: Entry) -> Record:
        try:
            record = decode(entry.value)
        except UnknownRecord as unknown:
            raise IntegrityError(
                "the ledger holds a record that this Causeway does not understand",
                where=f"{self._topic}[{entry.partition}] at offset {entry.offset}",
                why=str(unknown),
                todo="run the Causeway version that wrote it; never delete ledger records",
            ) from None
        self.image.apply(entry.partition, record)
        return record

    def _passed(self, partition: int, offset: int) -> None:
        if partition in self._read:
            self._read[partition] = max(self._read[partition], offset)

    def _high_watermarks(self, deadline: float) -> dict[int, int]:
        """Where the partitions end, uncommitted records included; asked until somebody leads each of them.

        Through the admin client: a read_committed consumer's own watermarks end at the stable offset.
        """
        while True:
            found = self._view.offsets([(self._topic, number) for number in self._read], "latest")
            if len(found) == len(self._read):
                return {number: end for (_, number), end in found.items()}
            if time.monotonic() > deadline:
                unled = sorted(set(self._read) - {number for _, number in found})
                raise Unreachable(
                    f"partitions of the ledger have no leader: {unled}",
                    where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                )
            time.sleep(0.05)

    def _broken(self, error: KafkaError) -> Exception:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            if any(self._from.values()):
                return Again(f"the ledger cannot be read on from {self._from}: reading it from its beginning")
            return IntegrityError(
                "the ledger does not begin at offset 0",
                where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                why="records were deleted from it: positions may be missing",
                todo="find out who deleted records from the ledger; a new mirror name starts from scratch",
            )
        cluster = self._cluster
        return as_user_error(error, cluster.alias, cluster.bootstrap_servers, "reading the ledger")


def read_image(cluster: Cluster, mirror: str, seconds: float = 30.0) -> LedgerImage:
    """All of a mirror's ledger, or an empty image where there is none yet."""
    facts = ClusterView(cluster).describe([ledger_topic(mirror)])
    if not facts:
        return LedgerImage()
    reader = LedgerReader(cluster, mirror, range(facts[ledger_topic(mirror)].partitions))
    try:
        return reader.read_to_end(seconds)
    finally:
        reader.close()


def check_ledger(ledger: str, known_id: str, found: TopicFacts | None, alias: str) -> None:
    """Another topic under the ledger's name does not know what was carried: nothing may be written to it.

    Raises LedgerGone where there is none: a broker may not know it yet, or somebody has deleted it.
    """
    if found is None:
        raise LedgerGone(f"topic {ledger} does not exist")
    if known_id and not same_topic(known_id, found.topic_id):
        raise IntegrityError(
            "the ledger was deleted and created again under the mirror",
            where=f'topic {ledger} on cluster "{alias}"',
            why=f"topic id {shown(known_id)} then, {shown(found.topic_id)} now",
            todo="its positions are gone: carry under a new mirror name, or take over what is there:"
            " `causeway adopt`",
        )


def safely_kept(view: ClusterView, replication: int | None) -> tuple[int, dict[str, str]]:
    """How many copies a topic of the mirror's own gets, and that two of three must have what it takes."""
    copies = min(replication or 3, view.brokers())
    return copies, {"min.insync.replicas": "2"} if copies >= 3 else {}


def ensure_topics(view: ClusterView, mirror: str, shards: int, replication: int | None) -> TopicFacts:
    """The ledger and the offset map exist, fit, and have a partition for each shard.

    Answers what the ledger is. Raises PlanRefused where its cleanup policy is not what the guarantee needs,
    and IntegrityError where there is none although the offset map says that there must have been one.
    """
    ledger, offsets = ledger_topic(mirror), offset_map_topic(mirror)
    copies, in_sync = safely_kept(view, replication)
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
    """Before a new ledger is created: without positions everything would be carried again."""
    ledger, offsets = ledger_topic(mirror), offset_map_topic(mirror)
    if any(view.all_offsets([(offsets, number) for number in range(partitions)], "latest").values()):
        raise IntegrityError(
            f'the ledger of mirror "{mirror}" is missing, but its offset map holds what it has carried',
            where=f'topic {ledger} on cluster "{view.cluster.alias}"',
            why="without positions everything would be carried again",
            todo="carry under a new mirror name, or take over what is there: delete topic"
            f" {offsets} and `causeway adopt`",
        )


__all__ = ["CONTROL", "LedgerImage", "LedgerReader", "check_ledger", "ensure_topics", "read_image"]
