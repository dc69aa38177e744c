"""The ledger: a compacted topic on the destination that records each source partition's position.

Reads follow invariant A: read_committed, until the position reaches the high watermark that was taken after
the fence. Neither the last stable offset nor an end-of-partition event is enough: an open transaction of
another producer in the topic would hide our own commits after it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, LedgerRecord, UnknownRecord, decode, encode
from causeway.core.task_order import SeenLedger, ledger_topic
from causeway.errors import IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.connection_failures import refuses_connection
from causeway.kafka.failures import as_user_error, is_about_group
from causeway.kafka.renewal import Renewal
from causeway.kafka.task_errors import Again
from causeway.rules.ledger_state import LedgerState

WATCH_MS, WATCH_BYTES = 200, 100_000
"""For `watch`: a broker responds to a fetch after this long, or with this many bytes."""


class LedgerEntry(NamedTuple):
    """A record of the ledger, not decoded yet. Entries sort in log order."""

    partition: int
    offset: int
    key: bytes
    value: bytes


class LedgerReader:
    """Follows some partitions of a mirror's ledger; `state` holds what it has read."""

    def __init__(
        self, cluster: Cluster, mirror: str, partitions: Iterable[int], seen: SeenLedger | None = None
    ) -> None:
        self.state = LedgerState()
        self._cluster = cluster
        self._topic = ledger_topic(mirror)
        self._view = ClusterView(cluster)
        self._group = f"causeway.{mirror}.ledger"
        self._read: dict[int, int] = dict.fromkeys(partitions, 0) | dict(seen.offsets if seen else ())
        for partition, value in seen.records if seen else ():
            self.state.apply(partition, decode(value.encode()))
        self._from = dict(self._read)
        self._renewal = Renewal.of(cluster)
        # Only an empty fetch shows the end of a partition: use short fetch waits while reading up to it.
        self._consumer = self._start(wait_ms=10)

    def _start(self, wait_ms: int, least_bytes: int = 1) -> Consumer:
        self._fetching = (wait_ms, least_bytes)
        consumer = clients.consumer(
            self._cluster,
            self._group,
            on_error=self._renewal.report,
            queued_max_messages_kbytes=8192,
            fetch_wait_max_ms=wait_ms,
            fetch_min_bytes=least_bytes,
        )
        consumer.assign([TopicPartition(self._topic, number, at) for number, at in self._read.items()])
        return consumer

    def close(self) -> None:
        self._consumer.close()

    def seen(self, shard: int) -> SeenLedger:
        """Return what was read of a shard's and the control partition, so that a task can resume there."""
        state = self.state
        control: list[LedgerRecord] = [
            record for record in (state.lease, state.generation, state.cut, state.paused) if record
        ]
        control += state.node_requests.values()
        own: list[LedgerRecord] = [
            position for (number, _), position in state.by_partition.items() if number == shard
        ]
        own += state.verdicts.values()
        own += [record for (number, _), record in state.hidden_by.items() if number == shard]
        own += [state.heartbeats[shard]] if shard in state.heartbeats else []
        records = [*((CONTROL, record) for record in control), *((shard, record) for record in own)]
        return SeenLedger(
            tuple((number, self._read[number]) for number in (CONTROL, shard)),
            tuple((number, encode(record)[1].decode()) for number, record in records),
        )

    def follow(self, *partitions: int) -> None:
        """From now on read only these partitions, with longer fetch waits; new records still come at once."""
        self._read = {number: self._read[number] for number in partitions}
        self._restart(wait_ms=250)

    def watch(self) -> None:
        """From now on read several commits per fetch, of all partitions: a busy shard makes 100 a second.

        A fetch for each commit would cost the destination as many fetches again as its own readers do.
        """
        self._restart(WATCH_MS, WATCH_BYTES)

    def _restart(self, wait_ms: int, least_bytes: int = 1) -> None:
        """Read on with a new consumer."""
        old, self._consumer = self._consumer, self._start(wait_ms, least_bytes)
        old.close()

    def read_to_end(self, seconds: float) -> LedgerState:
        """Read up to every partition's high watermark, taken now. The caller has fenced before.

        Applies only the newest record of each key, as if the log were compacted: a busy shard writes a
        hundred a second. Waits for open transactions there; raises Unreachable after `seconds`.
        """
        return self.read_to(self._high_watermarks(time.monotonic() + seconds), seconds)

    def read_to(self, ends: Mapping[int, int], seconds: float) -> LedgerState:
        """Read up to these offsets."""
        newest: dict[tuple[int, bytes], LedgerEntry] = {}
        try:
            for entry in self._entries_to(ends, seconds):
                newest[entry.partition, entry.key] = entry
        finally:  # the consumer returns no entry twice: apply them also after an error
            for entry in sorted(newest.values()):
                self._apply(entry)
        return self.state

    def records_to_end(self, seconds: float) -> Iterator[LedgerRecord]:
        """Yield each record up to the high watermarks, taken now; raises as `read_to_end` does."""
        for entry in self._entries_to(self._high_watermarks(time.monotonic() + seconds), seconds):
            yield self._apply(entry)

    def _entries_to(self, ends: Mapping[int, int], seconds: float) -> Iterator[LedgerEntry]:
        deadline = time.monotonic() + seconds
        while unread := [number for number, end in ends.items() if self._read[number] < end]:
            if self._renewal.refused:
                self._view.connect()  # raises why, if it is refused too
            if time.monotonic() > deadline:
                raise Unreachable(
                    f"the ledger cannot be read to its end (partitions {unread})",
                    where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                    why="an open transaction of another producer in the ledger,"
                    " or brokers that do not respond",
                    cluster=self._cluster.alias,
                )
            yield from self._take(0.2, 10_000)

    def poll(self, seconds: float, most: int = 10_000) -> list[LedgerRecord]:
        """Return new records; waits for the first one only."""
        return [self._apply(entry) for entry in self._take(seconds, most)]

    def _take(self, seconds: float, most: int) -> list[LedgerEntry]:
        if self._renewal.due:
            self._renewal.renew()
            self._restart(*self._fetching)
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        entries = []
        for message in [first, *self._consumer.consume(most, 0)]:
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._passed(message.partition(), message.offset())
                elif refuses_connection(error):
                    self._renewal.report(error)
                elif not (
                    error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN or is_about_group(error)
                ):
                    raise self._broken(error)
                continue
            self._passed(message.partition(), message.offset() + 1)
            value = message.value()
            if value is not None:
                entries.append(
                    LedgerEntry(message.partition(), message.offset(), message.key() or b"", value)
                )
        return entries

    def _apply(self, entry: LedgerEntry) -> LedgerRecord:
        try:
            record = decode(entry.value)
        except UnknownRecord as unknown:
            raise IntegrityError(
                "the ledger holds a record that this Causeway does not understand",
                where=f"{self._topic}[{entry.partition}] at offset {entry.offset}",
                why=str(unknown),
                todo="run the Causeway version that wrote it; never delete ledger records",
            ) from None
        self.state.apply(entry.partition, record)
        return record

    def _passed(self, partition: int, offset: int) -> None:
        if partition in self._read:
            self._read[partition] = max(self._read[partition], offset)

    def _high_watermarks(self, deadline: float) -> dict[int, int]:
        """Return the log ends, uncommitted records included; retries until every partition has a leader.

        Asks the admin client: a read_committed consumer's own watermarks end at the last stable offset.
        """
        while True:
            ends = self._view.offsets([(self._topic, number) for number in self._read], "latest")
            if len(ends) == len(self._read):
                return {number: end for (_, number), end in ends.items()}
            if time.monotonic() > deadline:
                unled = sorted(set(self._read) - {number for _, number in ends})
                raise Unreachable(
                    f"partitions of the ledger have no leader: {unled}",
                    where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                    cluster=self._cluster.alias,
                )
            time.sleep(0.05)

    def _broken(self, error: KafkaError) -> Exception:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            if any(self._from.values()):
                return Again(f"the ledger cannot be read from {self._from}: reading it from its beginning")
            return IntegrityError(
                "the ledger does not begin at offset 0",
                where=f'topic {self._topic} on cluster "{self._cluster.alias}"',
                why="records were deleted from it: positions may be missing",
                todo="find out what deleted records from the ledger; a new mirror name starts at the "
                "beginning",
            )
        return as_user_error(error, self._cluster, "reading the ledger")


def read_image(cluster: Cluster, mirror: str, seconds: float = 30.0) -> LedgerState:
    """Read all of a mirror's ledger; returns an empty state where there is no ledger yet."""
    facts = ClusterView(cluster).describe([ledger_topic(mirror)])
    if not facts:
        return LedgerState()
    reader = LedgerReader(cluster, mirror, range(facts[ledger_topic(mirror)].partitions))
    try:
        return reader.read_to_end(seconds)
    finally:
        reader.close()
