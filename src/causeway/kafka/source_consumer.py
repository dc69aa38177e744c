"""Consumes a shard's partitions of one source cluster: look, assign, poll.

A source that does not respond never stops the shard: its partitions wait, the others continue.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane, Limits
from causeway.core.topic import Spot
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView, TopicFacts
from causeway.kafka.failures import error_of, is_about_group
from causeway.kafka.log_facts import log_facts
from causeway.kafka.look_ahead import RecordRun, runs_of
from causeway.kafka.native.consumer_handle import ObjectConsumer
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.polled import NOTHING, FailedPartition, Polled, size_of
from causeway.kafka.renewal import Renewal
from causeway.kafka.source_group import SourceGroup
from causeway.rules.integrity import LogFacts

CONNECT_SECONDS = 1.0
METADATA_SECONDS = 2.0
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 1.0
CHANGED_ID = re.compile(r"Topic (\S+) changed id from \S+ to (\S+)$")
"""The client logs the id in metadata that it applies, also the first one. No client API reports it."""


class OtherCluster(CausewayError):
    """Another cluster has the address of the one that the order was made for."""


class SourceConsumer:
    """Consumes the partitions of one source cluster."""

    make: clients.Make = staticmethod(ObjectConsumer)

    def __init__(
        self,
        cluster: Cluster,
        cluster_id: str,
        lanes: Iterable[Lane],
        group: str | None,
        mirror: str,
        limits: Limits,
        node: str = "",
    ) -> None:
        self.cluster = cluster
        self.cluster_id = cluster_id
        self.node = node  # of a source pool: the cluster id of this node, while `cluster_id` is the pool's
        self.waiting: dict[SourcePartition, Lane] = {lane.source: lane for lane in lanes}
        self.open: dict[tuple[str, int], PartitionState] = {}
        self.trouble = ""  # why the source, or a part of it, cannot be read now
        self._retry_at = 0.0
        self.view = ClusterView(cluster)
        self._group = SourceGroup(self.view, group)
        self._group_name = group or f"causeway.{mirror}"
        self._known_topics: set[str] = set()
        self._connecting: threading.Thread | None = None
        self.topic_ids: dict[str, list[str]] = {}  # ids that the consumer fetched by since the last commit
        self.limits = limits
        self.gone: Callable[[], bool] | None = None  # tells that the cluster does not respond any more
        self.on_trouble: Callable[[], None] = lambda: None  # called when the client reports an error
        self._renewal = Renewal.of(cluster)
        self._consumer = self._make_consumer()

    def _make_consumer(self) -> Any:
        limits = self.limits
        return clients.consumer(
            self.cluster,
            self._group_name,
            make=self.make,
            on_error=self._on_error,
            on_log=self._on_log,
            debug="metadata",
            queued_max_messages_kbytes=max(1024, limits.queue_bytes // 1024),
            queued_min_messages=min(100_000, limits.queue_records),
            fetch_bytes=limits.fetch_bytes,
        )

    def renew(self, limits: Limits) -> None:
        """Replace the consumer by one with these limits. What the old one fetched ahead is dropped.

        Everything that was taken is committed. The partitions wait to be opened again, each at its position.
        """
        self._wait_connected()
        if self.open:
            self._consumer.unassign()
        self._consumer.close()
        self.waiting |= {lane.lane.source: lane.lane for lane in self.open.values()}
        self.open.clear()
        self._retry_at = 0.0
        self._renewal.renew()
        self.limits = limits
        self._known_topics = set()
        self.topic_ids = {}
        self._consumer = self._make_consumer()

    @property
    def outdated(self) -> bool:
        """Whether the source refuses this consumer, and a new one has other secrets to try: see `renew`."""
        return self._renewal.due

    def connect_early(self) -> None:
        """Connect and fetch metadata while the ledger is read. Ignores errors: `log_facts` reports them."""

        def connect() -> None:
            with contextlib.suppress(CausewayError):
                self.view.connect(CONNECT_SECONDS)
                self._fetch_metadata({source.topic for source in self.waiting})

        self._connecting = threading.Thread(target=connect, name="connect", daemon=True)
        self._connecting.start()

    def _wait_connected(self) -> None:
        """Wait for `connect_early`: its calls must not be in progress when the handle is used or closed."""
        if self._connecting is not None:
            self._connecting.join()
            self._connecting = None

    def due(self) -> bool:
        """Whether partitions wait to be opened and it is time to try."""
        return bool(self.waiting) and time.monotonic() >= self._retry_at

    def log_facts(
        self,
        positions: Mapping[SourcePartition, Position],
        places: Mapping[str, TopicFacts],
        place_ends: Mapping[Spot, int],
    ) -> dict[SourcePartition, LogFacts]:
        """Return what the brokers report for each waiting partition.

        Raises CausewayError where the source does not respond; the partitions keep waiting.
        """
        self._wait_connected()
        if self.view.connect(2.0) != (self.node or self.cluster_id):
            raise OtherCluster(
                f'cluster "{self.cluster.alias}" is another cluster than when the order was made',
                where=self.cluster.bootstrap_servers,
                cluster=self.cluster.alias,
            )
        return log_facts(self.view, self.waiting, positions, places, place_ends)

    def assign(self, lanes: Iterable[PartitionState]) -> None:
        """Start fetching from the positions, with the leader epoch that reveals a truncated log."""
        added = []
        lanes = list(lanes)
        for lane in lanes:
            source, (offset, epoch) = lane.lane.source, lane.fetch_from
            self.waiting.pop(source, None)
            self.open[source.topic, source.partition] = lane
            known = {"leader_epoch": epoch} if epoch >= 0 else {}
            added.append(TopicPartition(source.topic, source.partition, offset, **known))
        if added:
            self._fetch_metadata({partition.topic for partition in added})
            self._consumer.incremental_assign(added)
        for lane in lanes:
            if lane.validated:
                self._validate(lane)

    def _validate(self, lane: PartitionState) -> None:
        """Make the client ask the leader where the epoch ended, before it fetches.

        The client does so at a seek, not when a partition is assigned (librdkafka 2.16: rd_kafka_toppar_seek,
        rd_kafka_toppar_fetch_start). The seek drops what was fetched between the two; none of it was taken
        yet. The client reports a truncated log as an error of its partition.
        """
        source, (offset, epoch) = lane.lane.source, lane.fetch_from
        try:
            self._consumer.seek(TopicPartition(source.topic, source.partition, offset, leader_epoch=epoch))
        except KafkaException as exception:
            why = error_of(exception).str()
            self.drop(lane, wait=True)
            self.postpone(f"{source}: {why}")

    def _fetch_metadata(self, topics: set[str]) -> None:
        """Fetch metadata of these topics, where one of them is new to the client.

        A handle that does not know the leader when it starts to fetch asks again a second later: now and then
        a slice began with such a second.
        """
        if not topics <= self._known_topics:
            with contextlib.suppress(KafkaException):
                self._ask_for(topics)
            self._known_topics |= topics

    def _ask_for(self, topics: set[str]) -> None:
        self._consumer.ask_for(topics, METADATA_SECONDS)

    def drop(self, lane: PartitionState, *, wait: bool) -> None:
        """Stop fetching a partition; with `wait` it is judged again soon."""
        source = lane.lane.source
        if wait:
            self.waiting[source] = lane.lane
        if self.open.pop((source.topic, source.partition), None) is not None:
            self._consumer.incremental_unassign([TopicPartition(source.topic, source.partition)])

    def postpone(self, why: str) -> None:
        self.trouble = why
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def poll(self, most: int, seconds: float) -> Polled:
        """Return fetched records; waits up to `seconds` for the first."""
        messages = self._consumer.consume(most, seconds)
        if not messages:
            return NOTHING
        if all(message.error() is None for message in messages):
            return Polled(messages)
        return self._separate(messages)

    def runs(self, records: Any) -> Iterator[RecordRun]:
        """Return these records as contiguous runs."""
        return runs_of(records)

    @property
    def ahead(self) -> int:
        """How many fetched records were not taken yet."""
        return int(self._consumer.queued)

    def sizes(self, records: Any, most: int) -> list[int]:
        """Return the sizes in the client's memory of about `most` of these records, evenly spaced."""
        return [size_of(message) for message in records[:: max(1, len(records) // most)]]

    def at(self, records: Any, index: int) -> Any:
        """Return one of these records, as an object."""
        return records[index]

    def release(self, records: Any) -> None:
        """Free records that were taken and will not be produced. Objects need nothing."""

    def _separate(self, messages: Iterable[Any]) -> Polled:
        """Separate records, ends and failures. Drops what came after the failure of a partition.

        A client that cannot read a batch continues at some offset after it: records from there would leave
        the batch out, and an end reported from there would pass it. What came before the failure was read
        correctly, and without it the partition would never reach the failure.
        """
        polled = Polled([], [], [])
        failed: set[tuple[str, int]] = set()
        for message in messages:
            at = (message.topic(), message.partition())
            if at in failed:
                continue
            if message.error() is None:
                polled.records.append(message)
            elif self._handle_event(message, polled):
                failed.add(at)
        return polled

    def _handle_event(self, message: Any, polled: Polled) -> bool:
        """Handle a message that is not a record. Returns whether its partition failed."""
        error = message.error()
        state = self.open.get((message.topic(), message.partition()))
        if error.code() == KafkaError._PARTITION_EOF:
            if state is not None:
                polled.ends.append((state, int(message.offset())))
            return False
        why = str(error.str())
        if state is None:
            if not is_about_group(error):
                self.trouble = why
            return False
        polled.failed.append(FailedPartition.of(state, error))
        return True

    def advance_group(self, positions: Iterable[Position], *, final: bool = False) -> bool:
        """Commit positions to the source's consumer group. Returns whether it sent a commit."""
        return self._group.advance(positions, final=final)

    def close(self) -> None:
        """Wait briefly for a group commit that is in flight, then destroy the consumer."""
        self._wait_connected()
        if self.open:
            self._consumer.unassign()
        if self.gone is None or not self.gone():
            self._group.settle(CLOSE_SECONDS)
        self._consumer.close()

    def _on_log(self, line: str) -> None:
        if changed := CHANGED_ID.search(line):
            self.topic_ids.setdefault(changed[1], []).append(changed[2])

    def committed(self) -> None:
        """Forget earlier topic ids: everything that was fetched by them is committed or dropped."""
        self.topic_ids = {topic: ids[-1:] for topic, ids in self.topic_ids.items()}

    def _on_error(self, error: KafkaError) -> None:
        self.trouble = str(error.str())
        self._renewal.report(error)
        self.on_trouble()
