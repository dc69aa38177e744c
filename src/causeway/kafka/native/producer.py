"""The native carrier's producer: the same protocol, with the compiled loop instead of Python's.

Every record reports where it landed, into an array: that costs almost nothing here. The partition states get
the reports when everything is flushed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from causeway import failpoint
from causeway.core.position import LATENCY_BOUNDS_MS
from causeway.core.route import BY_KEY
from causeway.kafka.native import loop
from causeway.kafka.native.library import Message
from causeway.kafka.native.producer_handle import NativeProducer, arguments
from causeway.kafka.native.source_consumer import MOST, NativeBatch
from causeway.kafka.partition_state import NEVER, Lanes, OpenLane, Unmapped
from causeway.kafka.producer import BookEntry, IdempotentProducer, Owner
from causeway.kafka.task_errors import Again
from causeway.kafka.transaction import TransactionalProducer
from causeway.rules.offset_runs import OffsetRun, join
from causeway.rules.positions import Waits


class LaneTable:
    """The open partitions of one source as rows for the loop, and the `OpenLane` of each row."""

    def __init__(self, lanes: Lanes, batch: NativeBatch, producer: NativeProducer, first: int) -> None:
        self.of = tuple(lanes.values())
        rows = []
        for number, lane in enumerate(self.of):
            source, place = lane.lane.source, lane.lane.place
            row = [0] * loop.COLUMNS
            row[loop.RKT], row[loop.PARTITION] = batch.consumer.topic(source.topic), source.partition
            row[loop.TO_RKT], row[loop.TO_PARTITION] = producer.topic(place.topic), place.partition
            row[loop.NUMBER] = first + number
            rows.append(row)
        rows.sort()
        self.rows = np.array(rows, np.int64).reshape(len(rows), loop.COLUMNS)
        self.lanes = [self.of[row[loop.NUMBER] - first] for row in rows]
        self._row_of = {lane: row for row, lane in enumerate(self.lanes)}
        self.touched = np.zeros(len(rows), np.int64)

    def show(self, lane: OpenLane) -> None:
        """Copy a partition state into its row, for the loop."""
        row = self.rows[self._row_of[lane]]
        # Until the log is recognized, Python must judge its first record.
        row[loop.NEXT], row[loop.BARRIER] = lane.next if lane.recognized else NEVER, lane.barrier
        row[loop.OPEN] = lane.finding is None

    def told(self, row: int) -> None:
        """Copy what the loop did from a row into its partition state."""
        found = self.rows[row]
        records = int(found[loop.RECORDS])
        if records:
            epoch = int(found[loop.EPOCH])
            offset, size = int(found[loop.NEXT]), int(found[loop.BYTES])
            self.lanes[row].moved(records, offset, epoch if epoch >= 0 else None, size)
            found[loop.RECORDS] = found[loop.BYTES] = 0


class Stretches:
    """Records of one partition; a row for those that are contiguous on both sides (`loop.stretches`)."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def refused(self) -> list[tuple[int, KafkaError]]:
        failed = self._rows[self._rows[:, 7] != 0]
        return [(offset, KafkaError(error)) for offset, error in failed[:, (1, 7)].tolist()]

    def settle(self, place: int, at: int, runs: dict[int, list[OffsetRun]], waits: Waits) -> None:
        rows = self._rows
        if (rows[:, 4] < 0).any():
            raise Unmapped
        partitions = np.unique(rows[:, 3]).tolist() if place == BY_KEY else [place]
        for partition in partitions:
            its = rows[rows[:, 3] == partition] if place == BY_KEY else rows
            join(runs.setdefault(partition, []), list(map(OffsetRun._make, its[:, (1, 4, 2)].tolist())))
        # As in the object carrier: two records stand for each stretch.
        half = rows[:, 2] // 2
        for stamps, weights in ((rows[:, 5], half), (rows[:, 6], rows[:, 2] - half)):
            waited = at - stamps
            counts = np.bincount(np.searchsorted(LATENCY_BOUNDS_MS, waited), weights, len(waits.counts))
            waits.counts = [old + int(new) for old, new in zip(waits.counts, counts, strict=True)]
            waits.total += int(np.dot(np.maximum(waited, 0), weights))


class _Native(IdempotentProducer):
    """The native part of both producers."""

    _producer: NativeProducer
    make = staticmethod(NativeProducer)
    writes_any_name = True

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # A transaction is full at its limit, and takes the rest of the batch that reached the limit.
        capacity = self._limits.records + MOST + 1
        self._rows = np.zeros((capacity, 3), np.int64)
        self._slots = np.zeros((capacity, 2), np.int64)
        self._row = 0
        self._batch = 0
        self._members: list[OpenLane] = []  # by the number that rows contain
        self._tables: dict[int, LaneTable] = {}
        self._arguments = arguments()
        self._out = np.zeros(4, np.int64)

    def carry(self, messages: Any, lanes: Lanes, origin: bytes | None = None) -> None:
        """Produce consumed messages. Destroys all messages, also after an error.

        Also where no transaction begins because a connection was lost: before the consumer's handle ends, it
        waits for each of its messages, forever.
        """
        assert origin is None, "marks are made on objects"
        batch: NativeBatch = messages
        index = 0
        try:
            self.begin()
            table = self._table(lanes, batch)
            self._batch += 1
            count = loop.touched(batch.addresses, batch.count, table.rows, table.touched, self._batch)
            rows = [int(row) for row in table.touched[:count]]
            for row in rows:
                table.show(table.lanes[row])
            end = 0
            while index < batch.count:
                if index == end:
                    end = self._met_up_to(batch, index, [table.lanes[row] for row in rows], lanes)
                before = self._row
                index = loop.carry(
                    batch.addresses, index, end, table.rows, self._rows, self._row,
                    self._slots.ctypes.data, self._arguments, self._producer.handle, self._out,
                )  # fmt: skip
                how, self._row, error = (int(found) for found in self._out[:3])
                self.records += self._row - before
                self.bytes += sum(int(table.rows[row, loop.BYTES]) for row in rows)
                for row in rows:
                    table.told(row)
                if how == loop.FAILED:
                    self._wait_for_room(error, batch.at(index), lanes)
                elif how == loop.ODD and self._decide(batch.at(index), table, lanes):
                    batch.at(index).destroy()
                    index += 1
        finally:
            for rest in range(index, batch.count):
                batch.at(rest).destroy()
        self._poll()
        failpoint.reach("after-produce")

    def _met_up_to(self, batch: NativeBatch, begin: int, touched: Iterable[OpenLane], lanes: Lanes) -> int:
        """Return how far the loop may go now; waits first until records to new places are acknowledged."""
        new = [lane for lane in touched if self._is_new(lane.lane.place) and lane.finding is None]
        if begin and new:
            self._meet(_at(lane) for lane in new if lane.delivered)
        places = {_at(lane) for lane in new} - self._met
        return _first_ones(batch, begin, lanes, places) if places else batch.count

    def _decide(self, message: Any, table: LaneTable, lanes: Lanes) -> bool:
        """Handle a message that is not ordinary; returns whether the loop must not get it again."""
        lane = lanes.get((message.topic(), message.partition()))
        if lane is None:
            return True
        before = (lane.recognized, lane.barrier)
        may_replicate = self._admits(lane, message, message.timestamp()[1])
        table.show(lane)
        if may_replicate and before == (lane.recognized, lane.barrier):
            raise Again(f"{lane.lane.source} offset {message.offset()}: the loop did not take it")
        return not may_replicate  # otherwise the loop takes it now

    def _unwritable(self, _lane: OpenLane, _message: Any) -> None:
        """Headers are passed on unchanged; names of quarantined records are written with their sizes."""

    def _wait_for_room(self, error: int, message: Any, lanes: Lanes) -> None:
        owner = Owner(lanes[message.topic(), message.partition()], message.offset())
        deadline = time.monotonic() + self._limits.transaction_timeout
        before = self._producer.waiting
        try:
            self._producer.failed(error)
        except BufferError:
            self._must_have_room(owner, message.value())
            while self._producer.waiting >= before:
                self._poll(0.1)
                if time.monotonic() > deadline:
                    raise Again(f"the queue to {self._cluster.alias} stayed full{self._why()}") from None
        except (KafkaException, SystemError) as exception:
            raise self._not_taken("producing", owner, exception, message.value(), message.key()) from None

    def _table(self, lanes: Lanes, batch: NativeBatch) -> LaneTable:
        known = self._tables.get(id(lanes))
        if known is None or known.of != tuple(lanes.values()):
            known = LaneTable(lanes, batch, self._producer, len(self._members))
            self._members += known.of
            self._tables[id(lanes)] = known
        return known

    def flush(self) -> float:
        seconds = super().flush()
        self._tell()
        return seconds

    def _tell(self) -> None:
        """Pass the delivery reports to the partition states."""
        found = np.zeros((self._row, loop.LANDED), np.int64)
        last = np.zeros(len(self._members), np.int64)
        found = found[: loop.stretches(self._rows, self._slots, self._row, last, found)]
        found = found[np.argsort(found[:, 0], kind="stable")]
        ends = np.flatnonzero(np.diff(found[:, 0], append=-1)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            self._members[found[begin, 0]].landed.append(Stretches(found[begin:end]))

    def commit(self, ledger: Iterable[BookEntry], mapped: Sequence[BookEntry] = ()) -> None:
        super().commit(ledger, mapped)
        self._row = 0


def _at(lane: OpenLane) -> tuple[str, int]:
    return lane.lane.place.topic, lane.lane.place.partition


def _first_ones(batch: NativeBatch, begin: int, lanes: Lanes, places: Collection[tuple[str, int]]) -> int:
    """Move the first record to each of these places to the front; returns where these records end.

    Messages before that record in its partition move too: a partition must get its messages in order.
    """
    first: list[int] = []
    rest: list[int] = []
    reached: set[tuple[str, int]] = set()
    for address in batch.addresses[begin : batch.count].tolist():
        fields = Message.from_address(address)
        lane = lanes.get((batch.consumer.names.get(fields.rkt, ""), fields.partition))
        if lane is None or _at(lane) not in places or _at(lane) in reached:
            rest.append(address)
            continue
        first.append(address)
        if fields.offset >= lane.next:
            reached.add(_at(lane))
    batch.addresses[begin : batch.count] = first + rest
    return begin + len(first) if first else batch.count


class NativeIdempotentProducer(_Native):
    """At-least-once."""


class NativeTransactionalProducer(_Native, TransactionalProducer):
    """Exactly-once."""
