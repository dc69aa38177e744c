"""The ledger: a compacted topic on the destination that says how far each source partition was carried.

Reading follows invariant A: read_committed, until the position reaches the high watermark that was
taken after the fence. Neither the last stable offset nor an end-of-partition event will do: somebody
else's open transaction in the topic would hide our own commits behind it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from causeway.errors import IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.failures import as_user_error
from causeway.kafka.outcome import Again
from causeway.model.cluster import Cluster
from causeway.model.order import Seen, ledger_topic
from causeway.model.record import CONTROL, Record, UnknownRecord, decode, encode
from causeway.policy.image import LedgerImage

WATCH_MS, WATCH_BYTES = 200, 100_000
"""So long the destination collects commits for whoever watches, or so much of them."""


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
