"""The states of open partitions as rows of numbers, for the compiled loop."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from causeway.core.topic import Spot
from causeway.kafka.native import loop
from causeway.kafka.native.library import Message
from causeway.kafka.native.producer_handle import NativeProducer
from causeway.kafka.native.schema_table import NO_SCOPES, SchemaTable
from causeway.kafka.native.source_consumer import NativeBatch
from causeway.kafka.partition_state import NEVER, PartitionState, PartitionStates


class PartitionTable:
    """The open partitions of one source as rows for the loop, and the state of each row."""

    def __init__(
        self,
        states: PartitionStates,
        batch: NativeBatch,
        producer: NativeProducer,
        first: int,
        schemas: SchemaTable | None = None,
    ) -> None:
        self.of = tuple(states.values())
        rows = []
        for number, state in enumerate(self.of):
            source, place = state.lane.source, state.lane.place
            row = [0] * loop.COLUMNS
            row[loop.RKT], row[loop.PARTITION] = batch.consumer.topic(source.topic), source.partition
            row[loop.TO_RKT], row[loop.TO_PARTITION] = producer.topic(place.topic), place.partition
            row[loop.NUMBER] = first + number
            row[loop.KEY_SCOPE], row[loop.VALUE_SCOPE] = schemas.scopes(source) if schemas else NO_SCOPES
            rows.append(row)
        rows.sort()
        self.rows = np.array(rows, np.int64).reshape(len(rows), loop.COLUMNS)
        self.states = [self.of[row[loop.NUMBER] - first] for row in rows]
        self._row_of = {state: row for row, state in enumerate(self.states)}
        self.touched = np.zeros(len(rows), np.int64)

    def write(self, state: PartitionState) -> None:
        """Copy a partition state into its row, for the loop."""
        row = self.rows[self._row_of[state]]
        # Until the log is recognized, Python must judge its first record.
        row[loop.NEXT], row[loop.BARRIER] = state.next if state.recognized else NEVER, state.barrier
        row[loop.OPEN] = state.finding is None

    def read(self, row: int) -> None:
        """Copy what the loop did from a row into its partition state."""
        written = self.rows[row]
        records = int(written[loop.RECORDS])
        if records:
            epoch = int(written[loop.EPOCH])
            offset, size = int(written[loop.NEXT]), int(written[loop.BYTES])
            self.states[row].add_produced(records, offset, epoch if epoch >= 0 else None, size)
            written[loop.RECORDS] = written[loop.BYTES] = 0


def place_of(state: PartitionState) -> Spot:
    return state.lane.place.topic, state.lane.place.partition


def first_ones_to(places: Collection[Spot], batch: NativeBatch, begin: int, states: PartitionStates) -> int:
    """Move the first record to each of these places to the front; returns where these records end.

    Messages before that record in its partition move too: a partition must get its messages in order.
    """
    first: list[int] = []
    rest: list[int] = []
    reached: set[Spot] = set()
    for address in batch.addresses[begin : batch.count].tolist():
        fields = Message.from_address(address)
        state = states.get((batch.consumer.names.get(fields.rkt, ""), fields.partition))
        place = place_of(state) if state is not None else None
        if state is None or place not in places or place in reached:
            rest.append(address)
            continue
        first.append(address)
        if fields.offset >= state.next:
            reached.add(place_of(state))
    batch.addresses[begin : batch.count] = first + rest
    return begin + len(first) if first else batch.count
