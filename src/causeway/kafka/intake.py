"""A shard's intake from one source cluster: look, assign, consume.

A source that does not answer never stops the shard: its lanes wait, the others go on.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView, TopicFacts
from causeway.kafka.failures import error_of, is_corrupt
from causeway.kafka.lane import OpenLane
from causeway.kafka.native.consumer import ObjectConsumer
from causeway.kafka.source_group import SourceGroup
from causeway.model.cluster import Cluster
from causeway.model.order import Lane, Limits
from causeway.model.position import Position, SourcePartition
from causeway.policy.integrity import Found, same_topic

WAKE_SECONDS = 1.0
KNOW_SECONDS = 2.0
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 1.0
TRUNCATED = KafkaError(KafkaError._LOG_TRUNCATION).str()
"""With auto.offset.reset = error the client names that error in words alone, under another code."""


class Lost(NamedTuple):
    """A lane that failed, and why; whether its log was cut off under its position, or is damaged there."""

    lane: OpenLane
    why: str
    truncated: bool = False
    corrupt: bool = False


class Taken(NamedTuple):
    """Records; and, to be applied behind them, ends that were reached and lanes that failed."""

    records: Any  # a list of messages, or the native carrier's batch of them
    ends: list[tuple[OpenLane, int]] = []  # noqa: RUF012
    lost: list[Lost] = []  # noqa: RUF012


NOTHING = Taken([])


class Intake:
    """Consumes the lanes of one source cluster."""

    make: clients.Make = staticmethod(ObjectConsumer)

    def __init__(
        self,
        cluster: Cluster,
        cluster_id: str,
        lanes: Iterable[Lane],
        group: str | None,
        mirror: str,
        limits: Limits,
    ) -> None:
        self.cluster = cluster
        self.cluster_id = cluster_id
        self.waiting: dict[SourcePartition, Lane] = {lane.source: lane for lane in lanes}
        self.open: dict[tuple[str, int], OpenLane] = {}
        self.trouble = ""  # why the source, or a part of it, cannot be read just now
        self._retry_at = 0.0
        self.view = ClusterView(cluster)
        self._group = SourceGroup(self.view, group)
        self._known: set[str] = set()
        self._waking: threading.Thread | None = None
        self._consumer = clients.consumer(
            cluster,
            group or f"causeway.{mirror}",
            make=self.make,
            on_error=self._on_error,
            queued_max_messages_kbytes=max(1024, limits.queue_bytes // 1024),
            queued_min_messages=min(100_000, limits.queue_records),
            fetch_bytes=limits.fetch_bytes,
        )

    def wake(self) -> None:
        """Connect and learn who leads, while the ledger is read; what goes wrong is met again by `look`."""

        def connect() -> None:
            with contextlib.suppress(CausewayError):
                self.view.connect(WAKE_SECONDS)
                self._know({source.topic for source in self.waiting})

        self._waking = threading.Thread(target=connect, name="waking", daemon=True)
        self._waking.start()

    def _woken(self) -> None:
        """No call may be under way on a handle that is about to be used otherwise, or to go."""
        if self._waking is not None:
            self._waking.join()
            self._waking = None

    def due(self) -> bool:
        """Whether lanes wait to be opened and it is time to try."""
        return bool(self.waiting) and time.monotonic() >= self._retry_at

    def look(
        self,
        positions: Mapping[SourcePartition, Position],
        places: Mapping[str, TopicFacts],
        place_ends: Mapping[tuple[str, int], int],
    ) -> dict[SourcePartition, Found]:
        """For each waiting lane what the brokers say.

        Raises CausewayError where the source does not answer; the lanes wait on.
        """
        self._woken()
        if self.view.connect(2.0) != self.cluster_id:
            raise CausewayError(
                f'cluster "{self.cluster.alias}" is another cluster than when the order was made',
                where=self.cluster.bootstrap_servers,
            )
        wanted = [(source.topic, source.partition) for source in self.waiting]
        facts = self.view.describe({topic for topic, _ in wanted})
        known = [
            (topic, number) for topic, number in wanted if topic in facts and number < facts[topic].partitions
        ]
        starts, ends = self.view.offsets(known, "earliest"), self.view.offsets(known, "latest")
        sights: dict[SourcePartition, Found] = {}
        for source, lane in self.waiting.items():
            at = (source.topic, source.partition)
            place = places.get(lane.place.topic)
            missing = _is_missing(source, positions.get(source), facts.get(source.topic))
            if missing:
                starts[at] = ends[at] = 0
            if source.topic in facts and (at not in starts or at not in ends):
                continue  # a partition without a leader, or one that this broker does not know yet
            spot = (lane.place.topic, lane.place.partition)
            if place and 0 <= spot[1] < place.partitions and spot not in place_ends:
                continue  # the same on the destination
            sights[source] = Found(
                topic_id=facts[source.topic].topic_id if source.topic in facts else None,
                log_start=starts.get(at, -1),
                log_end=ends.get(at, -1),
                place_topic_id=place.topic_id if place else None,
                place_partitions=place.partitions if place else 0,
                place_end=place_ends.get(spot),
                missing=missing,
            )
        return sights

    def assign(self, lanes: Iterable[OpenLane]) -> None:
        """Start fetching from the lanes' positions, with the epoch that tells a truncated log."""
        added = []
        lanes = list(lanes)
        for lane in lanes:
            source, (offset, epoch) = lane.lane.source, lane.fetch_from
            self.waiting.pop(source, None)
            self.open[source.topic, source.partition] = lane
            known = {"leader_epoch": epoch} if epoch >= 0 else {}
            added.append(TopicPartition(source.topic, source.partition, offset, **known))
        if added:
            self._know({one.topic for one in added})
            self._consumer.incremental_assign(added)
        for lane in lanes:
            if lane.validated:
                self._validate(lane)

    def _validate(self, lane: OpenLane) -> None:
        """Have the client ask the leader where the epoch ended, before it fetches.

        It does so at a seek, and not when a partition is assigned (librdkafka 2.16: rd_kafka_toppar_seek,
        rd_kafka_toppar_fetch_start). What was fetched between the two is dropped with the seek; nothing of it
        was taken yet. A log that was truncated comes back as an error of its partition.
        """
        source, (offset, epoch) = lane.lane.source, lane.fetch_from
        try:
            self._consumer.seek(TopicPartition(source.topic, source.partition, offset, leader_epoch=epoch))
        except KafkaException as exception:
            why = error_of(exception).str()
            self.drop(lane, wait=True)
            self.postpone(f"{source}: {why}")

    def _know(self, topics: set[str]) -> None:
        """Ask who leads these topics, where one of them is new to the client.

        A handle that does not know it when it begins to fetch looks again a second later: every now and then
        a slice began with such a second.
        """
        if not topics <= self._known:
            with contextlib.suppress(KafkaException):
                self._ask_for(topics)
            self._known |= topics

    def _ask_for(self, topics: set[str]) -> None:
        self._consumer.ask_for(topics, KNOW_SECONDS)

    def drop(self, lane: OpenLane, *, wait: bool) -> None:
        """Fetch no more of a lane; with `wait` it is judged again soon."""
        source = lane.lane.source
        if wait:
            self.waiting[source] = lane.lane
        if self.open.pop((source.topic, source.partition), None) is not None:
            self._consumer.incremental_unassign([TopicPartition(source.topic, source.partition)])

    def postpone(self, why: str) -> None:
        self.trouble = why
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def take(self, most: int, seconds: float) -> Taken:
        """Records that are here; waits up to so long for the first."""
        messages = self._consumer.consume(most, seconds)
        if not messages:
            return NOTHING
        if all(message.error() is None for message in messages):
            return Taken(messages)
        return self._sorted(messages)

    def release(self, records: Any) -> None:
        """Records that were taken, and are not going to be produced: nothing is to be done for objects."""

    def _sorted(self, messages: Iterable[Any]) -> Taken:
        """Records, ends and failures apart. Of a lane that failed nothing counts that came behind it.

        A client that cannot read a batch goes on somewhere behind it: what it brings from there would leave
        the batch out, and an end that it tells would pass it. What came before was read well, and without it
        the lane would never come as far as what is wrong.
        """
        taken = Taken([], [], [])
        failed: set[tuple[str, int]] = set()
        for message in messages:
            at = (message.topic(), message.partition())
            if at in failed:
                continue
            if message.error() is None:
                taken.records.append(message)
            elif self._heard(message, taken):
                failed.add(at)
        return taken

    def _heard(self, message: Any, taken: Taken) -> bool:
        """What a message says that is no record; whether the lane failed that it is of."""
        error = message.error()
        lane = self.open.get((message.topic(), message.partition()))
        if error.code() == KafkaError._PARTITION_EOF:
            if lane is not None:
                taken.ends.append((lane, int(message.offset())))
            return False
        why = str(error.str())
        if lane is None:
            self.trouble = why
            return False
        taken.lost.append(Lost(lane, why, truncated=TRUNCATED in why, corrupt=is_corrupt(error)))
        return True

    def advance_group(self, positions: Iterable[Position], *, final: bool = False) -> bool:
        """Tell the source's consumer group how far its records are committed; whether it did."""
        return self._group.advance(positions, final=final)

    def close(self) -> None:
        """Let a commit of the group on its way arrive, for a moment; then drop the consumer."""
        self._woken()
        if self.open:
            self._consumer.unassign()
        self._group.settle(CLOSE_SECONDS)
        self._consumer.close()

    def _on_error(self, error: KafkaError) -> None:
        self.trouble = str(error.str())


def _is_missing(source: SourcePartition, position: Position | None, facts: TopicFacts | None) -> bool:
    """Whether the topic is another one now, with fewer of them. Of the same one a broker may know fewer."""
    if position is None or facts is None or source.partition < facts.partitions:
        return False
    return not same_topic(position.topic_id, facts.topic_id)
