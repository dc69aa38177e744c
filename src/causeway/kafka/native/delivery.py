"""Delivery in the native lane: the same protocol, with the compiled loop in the place of Python's.

Every record reports where it landed, into an array: that costs next to nothing here. The lanes hear of it
when everything is flushed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from causeway import failpoint
from causeway.kafka.delivery import IdempotentDelivery, Owner
from causeway.kafka.lane import NEVER, OpenLane, Unmapped
from causeway.kafka.native import loop
from causeway.kafka.native.intake import MOST, Batch
from causeway.kafka.native.library import Message
from causeway.kafka.native.producer import NativeProducer, arguments
from causeway.kafka.outcome import Again
from causeway.kafka.transaction import TransactionalDelivery
from causeway.model.position import LATENCY_BOUNDS_MS
from causeway.model.route import BY_KEY
from causeway.policy.positions import Waits
from causeway.policy.runs import Run, join

Lanes = Mapping[tuple[str, int], OpenLane]


class Table:
    """The open lanes of one source as the loop reads them, and whose rows they are."""

    def __init__(self, lanes: Lanes, batch: Batch, producer: NativeProducer, first: int) -> None:
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
        """Where a lane is, for the loop."""
        row = self.rows[self._row_of[lane]]
        # Before the lane is recognized, its first record is for Python to judge.
        row[loop.NEXT], row[loop.BARRIER] = lane.next if lane.recognized else NEVER, lane.barrier
        row[loop.OPEN] = lane.finding is None

    def told(self, row: int) -> None:
        """What the loop did, for the lane."""
        found = self.rows[row]
        records = int(found[loop.RECORDS])
        if records:
            epoch = int(found[loop.EPOCH])
            offset, size = int(found[loop.NEXT]), int(found[loop.BYTES])
            self.lanes[row].moved(records, offset, epoch if epoch >= 0 else None, size)
            found[loop.RECORDS] = found[loop.BYTES] = 0


class Stretches:
    """Records of one lane, a row for those side by side on both sides (`loop.stretches`)."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def refused(self) -> list[tuple[int, KafkaError]]:
        failed = self._rows[self._rows[:, 7] != 0]
        return [(offset, KafkaError(error)) for offset, error in failed[:, (1, 7)].tolist()]

    def settle(self, place: int, at: int, runs: dict[int, list[Run]], waits: Waits) -> None:
        rows = self._rows
        if (rows[:, 4] < 0).any():
            raise Unmapped
        partitions = np.unique(rows[:, 3]).tolist() if place == BY_KEY else [place]
        for partition in partitions:
            its = rows[rows[:, 3] == partition] if place == BY_KEY else rows
            join(runs.setdefault(partition, []), list(map(Run._make, its[:, (1, 4, 2)].tolist())))
        # As the object carrier has it: two records stand for each stretch.
        half = rows[:, 2] // 2
        for stamps, weights in ((rows[:, 5], half), (rows[:, 6], rows[:, 2] - half)):
            waited = at - stamps
            counts = np.bincount(np.searchsorted(LATENCY_BOUNDS_MS, waited), weights, len(waits.counts))
            waits.counts = [old + int(new) for old, new in zip(waits.counts, counts, strict=True)]
            waits.total += int(np.dot(np.maximum(waited, 0), weights))


class _Native(IdempotentDelivery):
    """What is native about both kinds of delivery."""

    _producer: NativeProducer
    make = staticmethod(NativeProducer)
    writes_any_name = True

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # A transaction is full at its limit, and takes the rest of the batch in which it got there.
        capacity = self._limits.records + MOST + 1
        self._rows = np.zeros((capacity, 3), np.int64)
        self._slots = np.zeros((capacity, 2), np.int64)
        self._row = 0
        self._batch = 0
        self._members: list[OpenLane] = []  # lanes by the numbers that rows know them by
        self._tables: dict[int, Table] = {}
        self._arguments = arguments()
        self._out = np.zeros(4, np.int64)

    def carry(self, messages: Any, lanes: Lanes, origin: bytes | None = None) -> None:
        """Produce what was consumed. All messages are destroyed, however it ends.

        Also where no transaction begins, since a connection was lost: the consumer's handle waits for each of
        its messages before it goes, for ever.
        """
        assert origin is None, "marks are made on objects"
        batch: Batch = messages
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

    def _met_up_to(self, batch: Batch, begin: int, touched: Iterable[OpenLane], lanes: Lanes) -> int:
        """How far the loop may go now; what was produced so far to new places is acknowledged before."""
        new = [lane for lane in touched if self._is_new(lane.lane.place) and lane.finding is None]
        if begin and new:
            self._meet(_at(lane) for lane in new if lane.delivered)
        places = {_at(lane) for lane in new} - self._met
        return _first_ones(batch, begin, lanes, places) if places else batch.count

    def _decide(self, message: Any, table: Table, lanes: Lanes) -> bool:
        """A message that is not ordinary; answers whether the loop must not have it again."""
        lane = lanes.get((message.topic(), message.partition()))
        if lane is None or lane.finding is not None:
            return True
        offset, stamp = message.offset(), message.timestamp()[1]
        if offset < lane.next or not lane.recognized:
            lane.recognize(offset, message.leader_epoch())
            table.show(lane)
            return offset < lane.next or lane.finding is not None
        barrier = lane.barrier
        lane.reached(offset)
        if lane.finding is not None:  # a hole lies before it
            table.show(lane)
            return True
        finding = self._why_not(lane, message, stamp)
        if finding is not None:
            self._take_out(lane, message, finding)
        elif offset < barrier:
            raise Again(f"{lane.lane.source} offset {offset}: the loop did not take it")
        table.show(lane)
        return finding is not None  # otherwise a refused record that is gone was in the way

    def _unwritable(self, _lane: OpenLane, _message: Any) -> None:
        """Headers are handed on as they are; of quarantined records names are written with their sizes."""

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

    def _table(self, lanes: Lanes, batch: Batch) -> Table:
        known = self._tables.get(id(lanes))
        if known is None or known.of != tuple(lanes.values()):
            known = Table(lanes, batch, self._producer, len(self._members))
            self._members += known.of
            self._tables[id(lanes)] = known
        return known

    def flush(self) -> float:
        seconds = super().flush()
        self._tell()
        return seconds

    def _tell(self) -> None:
        """What the destination reported, to the lanes."""
        found = np.zeros((self._row, loop.LANDED), np.int64)
        last = np.zeros(len(self._members), np.int64)
        found = found[: loop.stretches(self._rows, self._slots, self._row, last, found)]
        found = found[np.argsort(found[:, 0], kind="stable")]
        ends = np.flatnonzero(np.diff(found[:, 0], append=-1)) + 1
        for begin, end in pairwise([0, *ends.tolist()]):
            self._members[found[begin, 0]].landed.append(Stretches(found[begin:end]))

    def commit(self, ledger: Any) -> None:
        super().commit(ledger)
        self._row = 0


def _at(lane: OpenLane) -> tuple[str, int]:
    return lane.lane.place.topic, lane.lane.place.partition


def _first_ones(batch: Batch, begin: int, lanes: Lanes, places: Collection[tuple[str, int]]) -> int:
    """Move to the front what comes first to these places, one record to each; returns where that ends.

    What comes before that record in its lane goes along: the lane must see its messages in their order.
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


class NativeIdempotentDelivery(_Native):
    """At-least-once."""


class NativeTransactionalDelivery(_Native, TransactionalDelivery):
    """Exactly-once."""
