"""The native carrier's produce loop: the same protocol, with the compiled loop instead of Python's.

Every record reports where it landed, into an array: that costs almost nothing here. The partition states get
the reports when everything is flushed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from confluent_kafka import KafkaException

from causeway.core.task_order import Limits
from causeway.kafka.delivery_guarantee import DeliveryGuarantee
from causeway.kafka.exceptional_records import ExceptionalRecords, ProducedCounts
from causeway.kafka.native import loop
from causeway.kafka.native.delivery_reports import Stretches
from causeway.kafka.native.partition_table import PartitionTable, first_ones_to, place_of
from causeway.kafka.native.producer_handle import arguments
from causeway.kafka.native.schema_table import SchemaTable
from causeway.kafka.native.source_consumer import MOST, NativeBatch
from causeway.kafka.partition_state import PartitionState, PartitionStates
from causeway.kafka.producer_client import ProducerClient, RecordOrigin
from causeway.kafka.schema_ids import SchemaIds
from causeway.kafka.task_errors import Again
from causeway.rules.added_headers import AddedHeaders


class NativeProduceLoop:
    """Calls the compiled loop; every record reports."""

    def __init__(
        self,
        client: ProducerClient,
        guarantee: DeliveryGuarantee,
        limits: Limits,
        counts: ProducedCounts,
        schemas: SchemaIds | None = None,
    ) -> None:
        self._client = client
        self._guarantee = guarantee
        self._counts = counts
        # Headers are passed on unchanged; names of quarantined records are written with their sizes.
        self._exceptional = ExceptionalRecords(client, counts, lambda *_: None, escape_names=False)
        # A transaction is full at its limit, and takes the rest of the batch that reached the limit.
        capacity = limits.records + MOST + 1
        self._rows = np.zeros((capacity, 3), np.int64)
        self._slots = np.zeros((capacity, 2), np.int64)
        self._row = 0
        self._batch = 0
        self._members: list[PartitionState] = []  # by the number that rows contain
        self._tables: dict[int, PartitionTable] = {}
        self._arguments = arguments()
        self._out = np.zeros(loop.OUT, np.int64)
        self._schemas = SchemaTable(schemas)

    def replicate(self, messages: NativeBatch, states: PartitionStates, added: AddedHeaders | None) -> None:
        """Produce consumed messages. Destroys all messages, also after an error."""
        assert added is None, "headers are added to objects"
        batch, index, producer = messages, 0, self._client.handle
        try:
            table = self._table(states, batch)
            self._batch += 1
            count = loop.touched(batch.addresses, batch.count, table.rows, table.touched, self._batch)
            rows = [int(row) for row in table.touched[:count]]
            for row in rows:
                table.write(table.states[row])
            end = 0
            while index < batch.count:
                if index == end:
                    end = self._wait_for_first(batch, index, [table.states[row] for row in rows], states)
                before = self._row
                index = loop.replicate(
                    batch.addresses, index, end, table.rows, self._rows, self._row,
                    self._slots.ctypes.data, self._arguments, producer.handle, self._out,
                    self._schemas.context(),
                )  # fmt: skip
                how, self._row, error = (int(number) for number in self._out[:3])
                self._counts.records += self._row - before
                self._counts.bytes += sum(int(table.rows[row, loop.BYTES]) for row in rows)
                for row in rows:
                    table.read(row)
                if how == loop.FAILED:
                    self._wait_for_room(error, batch.at(index), states)
                elif how == loop.EXCEPTIONAL and self._is_done(batch.at(index), table, states):
                    batch.at(index).destroy()
                    index += 1
        finally:
            for rest in range(index, batch.count):
                batch.at(rest).destroy()

    def release(self, messages: NativeBatch) -> None:
        for index in range(messages.count):
            messages.at(index).destroy()

    def _wait_for_first(
        self, batch: NativeBatch, begin: int, touched: Iterable[PartitionState], states: PartitionStates
    ) -> int:
        """Return how far the loop may go now; waits first until records to new places are acknowledged."""
        waits = self._guarantee.must_wait_for_first
        new = [state for state in touched if waits(state.lane.place) and state.finding is None]
        if begin and new:
            self._client.drain()
            self._guarantee.first_acknowledged(place_of(state) for state in new if state.delivered)
        places = {place_of(state) for state in new if waits(state.lane.place)}
        return first_ones_to(places, batch, begin, states) if places else batch.count

    def _is_done(self, message: Any, table: PartitionTable, states: PartitionStates) -> bool:
        """Handle a message that is not ordinary; returns whether the loop must not get it again."""
        state = states.get((message.topic(), message.partition()))
        if state is None:
            return True
        before = (state.recognized, state.barrier)
        may_replicate = self._admits(state, message)
        if may_replicate and not self._schemas.may_pass(state, message):
            may_replicate = self._admits(state, message)  # now there is a barrier at it
        table.write(state)
        if may_replicate and before == (state.recognized, state.barrier):
            raise Again(f"{state.lane.source} offset {message.offset()}: the loop did not take it")
        return not may_replicate  # otherwise the loop takes it now

    def _admits(self, state: PartitionState, message: Any) -> bool:
        return self._exceptional.admits(state, message, message.timestamp()[1])

    def _wait_for_room(self, error: int, message: Any, states: PartitionStates) -> None:
        client, source = self._client, states[message.topic(), message.partition()].lane.source
        record = RecordOrigin(source, message.offset())
        deadline = time.monotonic() + client.timeout
        before = client.handle.waiting
        try:
            client.handle.failed(error)
        except BufferError:
            client.check_fits_queue(record, message.value())
            while client.handle.waiting >= before:
                client.poll(0.1)
                client.check_deadline(deadline)
        except (KafkaException, SystemError) as exception:
            raise client.produce_failure(
                "producing", record, exception, message.value(), message.key()
            ) from None

    def _table(self, states: PartitionStates, batch: NativeBatch) -> PartitionTable:
        known = self._tables.get(id(states))
        if known is None or known.of != tuple(states.values()):
            known = PartitionTable(states, batch, self._client.handle, len(self._members), self._schemas)
            self._members += known.of
            self._tables[id(states)] = known
        return known

    def flushed(self) -> None:
        """Pass the delivery reports to the partition states."""
        rows = np.zeros((self._row, loop.REPORT_COLUMNS), np.int64)
        last = np.zeros(len(self._members), np.int64)
        rows = rows[: loop.stretches(self._rows, self._slots, self._row, last, rows)]
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        ends = np.flatnonzero(np.diff(rows[:, 0], append=-1)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            self._members[rows[begin, 0]].produced.append(Stretches(rows[begin:end]))

    def committed(self) -> None:
        self._row = 0
