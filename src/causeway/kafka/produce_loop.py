"""The object carrier's loop: produces consumed records, an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from confluent_kafka import KafkaException

from causeway.core.clock import now_ms
from causeway.core.task_order import Limits
from causeway.core.topic import Spot
from causeway.kafka.delivery_guarantee import DeliveryGuarantee
from causeway.kafka.delivery_reports import Stretch
from causeway.kafka.exceptional_records import ExceptionalRecords, ProducedCounts
from causeway.kafka.partition_state import NEVER, PartitionState, PartitionStates
from causeway.kafka.producer_client import ProducerClient, RecordOrigin
from causeway.kafka.schema_ids import SchemaIds
from causeway.rules.added_headers import AddedHeaders
from causeway.rules.header_names import odd_names
from causeway.rules.integrity import Finding
from causeway.rules.unwritable import no_room_for_added, odd_header_name


class ProduceLoop(Protocol):
    """Produces consumed messages inside an open transaction, and adds them to their partition states."""

    def replicate(self, messages: Any, states: PartitionStates, added: AddedHeaders | None) -> None: ...

    def release(self, messages: Any) -> None:
        """Free messages that will not be produced."""

    def flushed(self) -> None:
        """Everything is acknowledged, or known to have failed."""

    def committed(self) -> None: ...


class ObjectProduceLoop:
    def __init__(
        self,
        client: ProducerClient,
        guarantee: DeliveryGuarantee,
        _limits: Limits,
        counts: ProducedCounts,
        schemas: SchemaIds | None,
    ) -> None:
        self._client = client
        self._schemas = schemas
        self._guarantee = guarantee
        self._counts = counts
        self._added: AddedHeaders | None = None
        # The client's Python class takes header names as text, and cuts them at a NUL.
        self._exceptional = ExceptionalRecords(client, counts, self._unwritable, escape_names=True)

    def replicate(
        self, messages: Sequence[Any], states: Mapping[Spot, PartitionState], added: AddedHeaders | None
    ) -> None:
        """Produce consumed messages, with the destination's schema ids."""
        if self._schemas is not None:
            self._schemas.rewrite(messages, states)
        self._replicate(messages, states, added)

    def _replicate(
        self, messages: Sequence[Any], states: Mapping[Spot, PartitionState], added: AddedHeaders | None
    ) -> None:
        """Produce these messages as they are.

        Hot loop. A record is produced when its successor is known, since only the first and the last of a
        stretch report where they landed. Ordinary records take no call besides the client's
        (rules/record_admission.py decides about all others).
        """
        self._added = added
        produce = self._client.handle.produce
        every_record_reports = self._guarantee.every_record_reports
        state: PartitionState | None = None
        stretch = Stretch(0)
        topic, partition, expected, barrier = "", -1, -1, NEVER
        to_topic, to_partition, report_each = "", -1, False
        first_ones: set[Spot] = set()  # places that get their first record here
        later: list[Any] = []  # the other messages for these places
        held: Any = None  # consumed, and produced as soon as its successor is known
        report: Any = None
        held_stamp = length = size = 0
        for message in messages:
            offset = message.offset()
            stamp = message.timestamp()[1]
            if (
                offset != expected
                or message.partition() != partition
                or message.topic() != topic
                or offset >= barrier
                or stamp <= 0
                or report_each
                or not message.plain
            ):
                if held is not None and state is not None:
                    self._end(state, stretch, held, report, held_stamp, length, size)
                    held = None
                if message.partition() != partition or message.topic() != topic:
                    topic, partition = message.topic(), message.partition()
                    state = states.get((topic, partition))
                    if state is not None:
                        to_topic, to_partition = state.lane.place.topic, state.lane.place.partition
                        barrier = state.barrier
                        report_each = state.report_each or every_record_reports
                expected = -1
                if state is None or state.finding is not None:
                    continue
                if first_ones and (to_topic, to_partition) in first_ones:
                    later.append(message)
                    continue
                if (
                    not state.recognized
                    or offset < state.next
                    or offset >= barrier
                    or stamp <= 0
                    or not message.plain
                ):
                    may_replicate = self._exceptional.admits(state, message, stamp)
                    barrier = state.barrier
                    if not may_replicate:
                        continue
                if self._guarantee.must_wait_for_first(state.lane.place):
                    first_ones.add((to_topic, to_partition))
                stretch = Stretch(offset)
                stretch.first_at = stamp
                report = stretch.report_first
                length = size = 0
            else:
                value, key = held.value(), held.key()
                if value:
                    size += len(value)
                if key:
                    size += len(key)
                headers = held.headers() if added is None else added.to(held.headers(), now_ms())
                try:
                    produce(to_topic, value, key, to_partition, report, None, held_stamp, headers)
                except (BufferError, KafkaException):
                    assert state is not None
                    self._produce(state, held, report, held_stamp)
                report = None
            held = message
            held_stamp = stamp
            expected = offset + 1
            length += 1
        if held is not None and state is not None:
            self._end(state, stretch, held, report, held_stamp, length, size)
        if first_ones:
            self._wait_for_first(first_ones)
            self._replicate(later, states, added)

    def release(self, messages: Sequence[Any]) -> None:
        """Objects need nothing."""

    def flushed(self) -> None:
        """The client has called each stretch's callbacks."""

    def committed(self) -> None:
        """Nothing to do."""

    def _wait_for_first(self, places: Iterable[Spot]) -> None:
        """Wait for the first record to each of these places; the next call reports a rejected one."""
        self._client.drain()
        self._guarantee.first_acknowledged(places)

    def _end(
        self,
        state: PartitionState,
        stretch: Stretch,
        held: Any,
        report: Any,
        stamp: int,
        length: int,
        size: int,
    ) -> None:
        """Produce the last record of a stretch, and add the stretch to its partition state."""
        last = stretch.report_last if report is None else stretch.report_only
        self._produce(state, held, last, stamp)
        size += len(held.value() or b"") + len(held.key() or b"")
        stretch.length = length
        stretch.last_at = stamp
        state.add_stretch(stretch, held.offset() + 1, held.leader_epoch(), size)
        self._counts.records += length
        self._counts.bytes += size

    def _produce(self, state: PartitionState, message: Any, report: Any, stamp: int) -> None:
        headers = message.headers()
        if self._added is not None:
            headers = self._added.to(headers, now_ms())
        record, (topic, _, partition) = RecordOrigin(state.lane.source, message.offset()), state.lane.place
        value, key = message.value(), message.key()
        self._client.send("producing", record, topic, value, key, partition, report, None, stamp, headers)

    def _unwritable(self, state: PartitionState, message: Any) -> Finding | None:
        """Return why the client's Python class cannot write the headers unchanged; None where it can."""
        if message.plain:
            return None
        headers = message.headers() or ()
        if odd := odd_names(headers):
            return odd_header_name(state.lane.source, message.offset(), headers[odd[0]][0])
        if self._added is not None and not self._added.fits(headers):
            return no_room_for_added(state.lane.source, message.offset(), len(headers))
        return None
