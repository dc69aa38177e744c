"""Step 3, consume: records from the source consumers, through the record filter, to the producer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from causeway.core.clock import now_ms
from causeway.core.position import SourcePartition
from causeway.core.task_order import TaskOrder
from causeway.errors import CausewayError
from causeway.kafka.look_ahead import holes_ahead
from causeway.kafka.polled import FailedPartition, Polled
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.source_consumer import SourceConsumer
from causeway.kafka.task_errors import Again, Fenced, Refused, Unfit
from causeway.replication.rules.pacing import Pace, first_pace, next_pace
from causeway.replication.rules.throttle import Throttle
from causeway.replication.worker.fetch_watch import FetchWatch
from causeway.replication.worker.node_proof import note_last, unproved
from causeway.replication.worker.record_filter import RecordFilter
from causeway.replication.worker.small_batches import SmallBatches
from causeway.replication.worker.source_checks import look_ahead
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.added_headers import AddedHeaders
from causeway.rules.repeats import raised

IDLE_WAIT_SECONDS = 0.05
MOST_RECORDS = 10_000


class Step(NamedTuple):
    """What one round of polls brought."""

    records: bool
    failed: list[tuple[SourceConsumer, FailedPartition]]


class RecordFlow:
    def __init__(
        self,
        order: TaskOrder,
        task: TaskState,
        producer: DestinationProducer,
        fetching: FetchWatch,
        nodes: SourceNodes,
        commit: Callable[[], None],
    ) -> None:
        self._order = order
        self._task = task
        self._producer = producer
        self._fetching = fetching
        self._nodes = nodes
        self._commit = commit
        self._polled_at: list[tuple[float, int]] = []  # when records of the open transaction came; how many
        self._consumed = 0  # when the last records came, in milliseconds since the epoch
        self._average_size = 1_000.0
        limits = order.limits
        self._pace: Pace = first_pace(
            limits.records, limits.bytes, limits.seconds, limits.transaction_timeout, task.fruitless
        )
        self._filter = RecordFilter(order.filters, order.provenance)
        self._throttle = Throttle(limits.records_per_second, limits.bytes_per_second)
        self.small: list[SmallBatches] = []  # for partitions whose places accept only small batches

    def close(self) -> None:
        self._filter.close()

    @property
    def throttled(self) -> bool:
        """Whether the mirror's rate limit is reached."""
        return self._throttle.room(time.monotonic()) <= 0

    def wait_for_throttle(self) -> None:
        time.sleep(min(IDLE_WAIT_SECONDS, self._throttle.wait()))

    @property
    def full(self) -> bool:
        """Whether the open transaction has as many records or bytes, or takes as long, as it may."""
        producer = self._producer
        return producer.open and self._pace.full(producer.records, producer.size, producer.seconds)

    def step(self, consumers: Sequence[SourceConsumer]) -> Step:
        """Poll each source once, and produce what it has."""
        wait = 0.0 if self._producer.open else IDLE_WAIT_SECONDS / max(1, len(consumers))
        if self._task.one_at_a_time:
            wait = 0.0  # with a wait, `poll` may return one record more than asked for
        step = Step(False, [])
        if not consumers:
            time.sleep(IDLE_WAIT_SECONDS)
        in_turns = {small.consumer for small in self.small}
        for consumer in consumers:
            if consumer not in in_turns:
                came = self._replicate(consumer, consumer.poll(self._most(), wait), step)
                step = step._replace(records=step.records or came)
        for small in self.small:
            came = self._small_turn(small, step)
            step = step._replace(records=step.records or came)
        if not step.records and len(in_turns) == len(consumers):
            time.sleep(wait)
        if self._task.one_at_a_time and not step.records:
            time.sleep(IDLE_WAIT_SECONDS)
        return step

    def committed(self, records: int, size: int, flushed: float) -> None:
        """Adapt the size of transactions to one of so many records, whose flush took this long."""
        if records:
            self._average_size = 0.8 * self._average_size + 0.2 * (size / records + 100)
            self._pace = next_pace(self._pace, records, size, flushed)

    def acknowledged(self) -> None:
        """Everything that was polled is committed."""
        for small in self.small:
            small.acknowledged()
        now = time.monotonic()
        for at, count in self._polled_at:
            self._task.fetch_to_commit.add(int((now - at) * 1_000), count)
        self._polled_at = []

    def _replicate(self, consumer: SourceConsumer, polled: Polled, step: Step) -> bool:
        """Produce what was polled; returns whether there were records."""
        if consumer.node:
            polled = self._prove(consumer, polled)
        if self._producer.visible_at_once:
            self._look_ahead(consumer, polled)
        if polled.records:
            at, count = time.monotonic(), self._producer.records
            self._consumed = now_ms()
            self._fetching.polled(consumer, polled.records)
            self._produce(consumer, polled.records)
            if self._order.produce.timings == "topic":
                _note_fetched(consumer, self._consumed)
            self._polled_at.append((at, self._producer.records - count))
        for state, offset in polled.ends:
            state.advance_to(offset)
        step.failed.extend((consumer, failed) for failed in polled.failed)
        return bool(polled.records)

    def _prove(self, consumer: SourceConsumer, polled: Polled) -> Polled:
        """A source pool: use only what comes from a node that has what was read before."""
        try:
            polled, why = unproved(consumer, polled, self._task)
            if why:
                raise self._nodes.rejected(consumer.cluster_id, why)
            if polled.records:
                note_last(consumer, polled.records)
        except BaseException as error:
            consumer.release(polled.records)  # a consumer cannot close before its messages are released
            if isinstance(error, CausewayError):
                raise Again(str(error)) from None
            raise
        return polled

    def _look_ahead(self, consumer: SourceConsumer, polled: Polled) -> None:
        """Check a hole before producing the records after it, since they are visible at once."""
        if not polled.records and not polled.ends:
            return
        try:
            holes = holes_ahead(consumer.runs(polled.records), polled.ends, consumer.open)
            look_ahead(self._order, consumer.view, holes, self._task)
        except BaseException as error:
            consumer.release(polled.records)  # a consumer cannot close before its messages are released
            if isinstance(error, Again) and self._producer.open:
                self._commit()  # records before the hole are visible already: do not repeat them
            if isinstance(error, CausewayError):
                raise Again(str(error)) from None
            raise

    def _small_turn(self, small: SmallBatches, step: Step) -> bool:
        """Produce records for places that accept only small batches, while their turn lasts."""
        came = False
        small.begin(busy=step.records)  # also if the transaction is full: the other topics always fill it
        while small.has_turn and not self.throttled:
            polled = small.poll()
            if not polled.records and not polled.ends and not polled.failed:
                break
            came |= self._replicate(small.consumer, polled, step)
            if polled.failed:
                break  # nothing counts that comes after a partition's failure
        small.end()
        return came

    def _produce(self, consumer: SourceConsumer, records: Any) -> None:
        if not self._task.one_at_a_time:
            return self._filter_and_produce(consumer, records)
        only = records[0] if isinstance(records, list) else records.at(0)
        source, offset = SourcePartition(consumer.cluster_id, only.topic(), only.partition()), only.offset()
        try:
            self._filter_and_produce(consumer, records)
        except (Again, Fenced, CausewayError):
            raise
        except Exception as error:  # with one record at a time, that record is the cause
            raise Unfit(raised(source, offset, error)) from error

    def _filter_and_produce(self, consumer: SourceConsumer, records: Any) -> None:
        producer = self._producer
        count, size = producer.records, producer.size
        kept = self._filter.apply(records, consumer.open) if self._filter.active else records
        if kept:
            try:
                producer.replicate(kept, consumer.open, self._added_headers(consumer))
            except Refused:
                # With one record per batch the rejected record reports itself, but only if this waits for
                # the reports. Otherwise the attempt would fail here repeatedly while many records follow it.
                if self._task.single:
                    self._commit()
                raise
        self._filter.finish()
        self._throttle.took(producer.records - count, producer.size - size)

    def _added_headers(self, consumer: SourceConsumer) -> AddedHeaders | None:
        order = self._order
        origin = consumer.cluster_id.encode() if order.provenance is not None else None
        consumed = self._consumed if order.produce.timings == "headers" else None
        return AddedHeaders(origin, consumed) if (origin, consumed) != (None, None) else None

    def _most(self) -> int:
        """How many records to poll at once: what the transaction has room for, by the average record size."""
        if self._task.one_at_a_time:
            return 1
        room = (self._pace.bytes - self._producer.size) / self._average_size
        allowed = self._throttle.room(time.monotonic())
        if self._order.limits.bytes_per_second:
            allowed = min(allowed, int(self._order.limits.bytes_per_second / 10 / self._average_size) + 1)
        return max(1, min(MOST_RECORDS, allowed, self._pace.records - self._producer.records, int(room)))


def _note_fetched(consumer: SourceConsumer, at: int) -> None:
    """Note when the first record of each partition in the open transaction came, for its timings."""
    for state in consumer.open.values():
        if state.delivered and not state.fetched:
            state.fetched = at
