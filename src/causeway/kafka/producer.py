"""Produces to the destination: records, flush, then the ledger record.

`IdempotentProducer` is at-least-once, for destinations without transactions; `TransactionalProducer`
(transaction.py) makes it exactly-once. Neither knows who calls it, or where the messages came from.

Why at-least-once keeps the order of first arrivals, without a fence. Two statements are enough:

    1  a producer starts at a position of the ledger, and every record before that position was acknowledged
    2  what one producer appends to a place is a prefix of what it was given: no record without the one before

Then a record that arrives for the first time, from any producer, arrives after all records before it: those
from the producer's own start on by 2, the older ones by 1. So several producers may write at once. Example: a
producer that was given up has a request in flight, its successor sends 1 to 100, then the late request
appends 1 to 50 again. These are duplicates, which at-least-once allows; no record arrives for the first time
after a later one.

What would break 2, and what prevents it:

    a record expires alone in the client's queue,     message.timeout.ms = 0: none expires. `_drain` has the
    and the younger ones are sent                     deadline, and the producer is purged and destroyed
    a batch is rejected, the client goes on with      enable.gapless.guarantee: the rejection is fatal, and
    the next one under a new epoch                    nothing is sent after it
    a batch fails at the broker, and the next one,    the broker rejects a batch out of sequence from a
    already in flight, is appended                    producer that it knows
    … from a producer that the broker does not know   the first record to each place is acknowledged before
    at this place: it accepts any sequence number     the second one is produced (`_met`)

With placement by key the client chooses the place, so the last line does not hold there: a record that is
rejected in a producer's first batch to a partition may be overtaken by the batch in flight after it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from causeway import failpoint
from causeway.core.cluster import Cluster
from causeway.core.position import Place
from causeway.core.task_order import Limits
from causeway.errors import CausewayError
from causeway.kafka.failures import may_not
from causeway.kafka.partition_state import NEVER, OpenLane, Stretch
from causeway.kafka.producer_base import ProducerBase, error_in
from causeway.kafka.task_errors import Again, Fenced, Refused, Unfit
from causeway.rules.header_names import odd_names
from causeway.rules.integrity import Finding
from causeway.rules.provenance import marked
from causeway.rules.quarantine import Label, labelled
from causeway.rules.record_admission import Admission
from causeway.rules.repeats import too_large_for_client, too_large_for_queue
from causeway.rules.unwritable import no_room_for_mark, odd_header_name, unreadable_headers

STUCK_SECONDS = 3.0
MOST_RETRIES = 2_147_483_647
BookEntry = tuple[str, int, bytes, bytes]
"""A record of the ledger or of the offset map: topic, partition, key, value."""


class Owner(NamedTuple):
    """The source record for which something is produced."""

    lane: OpenLane
    offset: int


class IdempotentProducer(ProducerBase):
    """At-least-once: records first, the ledger record once they are acknowledged."""

    reports_every_record = True  # without a transaction nothing else reports a record that failed
    keeps_prefix = True  # visible at once: no record may be appended without the one before
    writes_any_name = False  # header names: the client's Python class takes text, and cuts it at a NUL

    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        compression: str,
        *,
        partitioner: str = "murmur2_random",
        single: bool = False,
    ) -> None:
        self._limits = limits
        self._ledger_error: KafkaError | None = None
        self._begun = 0.0
        self._origin: bytes | None = None
        self._met: set[tuple[str, int]] = set()  # places where this producer has a record acknowledged
        self.records = 0
        self.bytes = 0
        super().__init__(
            cluster,
            compression_type=compression,
            partitioner=partitioner,
            queue_buffering_max_kbytes=_queue_kbytes(limits),
            queue_buffering_max_messages=limits.queue_records,
            batch_size=limits.batch_bytes,
            batch_num_messages=1 if single else 100_000,
            socket_timeout_ms=int(min(10.0, limits.transaction_timeout) * 1000),
            **self._kind(limits),
        )

    def _kind(self, limits: Limits) -> dict[str, object]:
        return {
            "message_timeout_ms": 0,
            "message_send_max_retries": MOST_RETRIES,
            "enable_gapless_guarantee": True,
        }

    def fence(self) -> None:
        """Does nothing: without transactions only the lease keeps older instances away."""

    @property
    def open(self) -> bool:
        return self._begun > 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def begin(self) -> None:
        if not self.open:
            self._begun = time.monotonic()

    def carry(
        self,
        messages: Sequence[Any],
        lanes: Mapping[tuple[str, int], OpenLane],
        origin: bytes | None = None,
    ) -> None:
        """Produce consumed messages, marked with their origin where one is given.

        Messages of one partition come in offset order, without errors.

        Hot loop. A record is produced when its successor is known, since only the first and the last of a
        stretch report where they landed.
        """
        self.begin()
        self._origin = origin
        produce = self._producer.produce
        lane: OpenLane | None = None
        stretch = Stretch(0)
        topic, partition, expected, barrier = "", -1, -1, NEVER
        to_topic, to_partition, careful = "", -1, False
        meeting: set[tuple[str, int]] = set()  # places that get their first record here
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
                or careful
                or not message.plain
            ):
                if held is not None and lane is not None:
                    self._end(lane, stretch, held, report, held_stamp, length, size)
                    held = None
                if message.partition() != partition or message.topic() != topic:
                    topic, partition = message.topic(), message.partition()
                    lane = lanes.get((topic, partition))
                    if lane is not None:
                        to_topic, to_partition = lane.lane.place.topic, lane.lane.place.partition
                        barrier = lane.barrier
                        careful = lane.careful or self.reports_every_record
                expected = -1
                if lane is None or lane.finding is not None:
                    continue
                if meeting and (to_topic, to_partition) in meeting:
                    later.append(message)
                    continue
                if (
                    not lane.recognized
                    or offset < lane.next
                    or offset >= barrier
                    or stamp <= 0
                    or not message.plain
                ):
                    may_replicate = self._admits(lane, message, stamp)
                    barrier = lane.barrier
                    if not may_replicate:
                        continue
                if self._is_new(lane.lane.place):
                    meeting.add((to_topic, to_partition))
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
                headers = held.headers() if origin is None else marked(held.headers(), origin)
                try:
                    produce(to_topic, value, key, to_partition, report, None, held_stamp, headers)
                except (BufferError, KafkaException):
                    assert lane is not None
                    self._produce(lane, held, report, held_stamp)
                report = None
            held = message
            held_stamp = stamp
            expected = offset + 1
            length += 1
        if held is not None and lane is not None:
            self._end(lane, stretch, held, report, held_stamp, length, size)
        if meeting:
            self._meet(meeting)
            self.carry(later, lanes, origin)
            return
        self._poll()
        failpoint.reach("after-produce")

    def _is_new(self, place: Place) -> bool:
        """Whether this producer's next record there must be acknowledged before any other is produced."""
        at = (place.topic, place.partition)
        return self.keeps_prefix and place.partition >= 0 and at not in self._met

    def _meet(self, places: Iterable[tuple[str, int]]) -> None:
        """Wait for the first record to each of these places; the next call reports a rejected one."""
        self._drain()
        self._met.update(places)

    def _end(
        self, lane: OpenLane, stretch: Stretch, held: Any, report: Any, stamp: int, length: int, size: int
    ) -> None:
        """Produce the last record of a stretch, and add the stretch to its partition state."""
        last = stretch.report_last if report is None else stretch.report_only
        self._produce(lane, held, last, stamp)
        size += len(held.value() or b"") + len(held.key() or b"")
        stretch.length = length
        stretch.last_at = stamp
        lane.took(stretch, held.offset() + 1, held.leader_epoch(), size)
        self.records += length
        self.bytes += size

    def _admits(self, lane: OpenLane, message: Any, stamp: int) -> bool:
        """Whether a record may be replicated; otherwise quarantines it or stops its partition if need be."""
        headers = self._headers_finding(lane, message)
        decision = lane.admit(message.offset(), message.leader_epoch(), stamp, headers_usable=headers is None)
        if decision is Admission.REPLICATE:
            return True
        if decision is not Admission.IGNORE:
            finding = headers if decision is Admission.HEADERS else lane.why_not(message.offset(), stamp)
            assert finding is not None
            self._take_out(lane, message, finding)
        return False

    def _headers_finding(self, lane: OpenLane, message: Any) -> Finding | None:
        """Return why the headers of a record cannot be written unchanged; None where they can."""
        if message.unreadable:
            return unreadable_headers(lane.lane.source, message.offset(), message.unreadable)
        return self._unwritable(lane, message)

    def _unwritable(self, lane: OpenLane, message: Any) -> Finding | None:
        """Return why the client's Python class cannot write the headers unchanged; None where it can."""
        if message.plain:
            return None
        headers = message.headers() or ()
        if odd := odd_names(headers):
            return odd_header_name(lane.lane.source, message.offset(), headers[odd[0]][0])
        if self._origin is not None and marked(headers, self._origin) is not headers:
            return no_room_for_mark(lane.lane.source, message.offset(), len(headers))
        return None

    def _take_out(self, lane: OpenLane, message: Any, finding: Finding) -> None:
        """Quarantine a record that cannot go to its place, or stop the partition before it."""
        if lane.quarantine:
            self._set_aside(lane, message, finding)
        else:
            lane.stop(message.offset(), finding)

    def _set_aside(self, lane: OpenLane, message: Any, finding: Finding) -> None:
        """Produce a record to the quarantine, labelled with its source data, in the same transaction."""
        offset, value, key = message.offset(), message.value(), message.key()
        stamp = message.timestamp()[1]
        label = Label(lane.lane.source, lane.position.topic_id, offset, stamp, finding.what)
        size = len(value or b"") + len(key or b"")
        aside = lane.set_aside(offset, message.leader_epoch(), size)
        if message.unreadable:
            headers = labelled((), replace(label, lacks="headers"))
        else:
            headers = labelled(message.headers(), label, escape=not self.writes_any_name)
        # The timestamp may be why it was rejected: the label has it, and the client sets the current time.
        owner = Owner(lane, offset)
        self._send("quarantining", owner, lane.quarantine, value, key, 0, aside.report, None, 0, headers)
        self.records += 1
        self.bytes += size

    def _produce(self, lane: OpenLane, message: Any, report: Any, stamp: int) -> None:
        headers = message.headers()
        if self._origin is not None:
            headers = marked(headers, self._origin)
        owner, (topic, _, partition) = Owner(lane, message.offset()), lane.lane.place
        value, key = message.value(), message.key()
        self._send("producing", owner, topic, value, key, partition, report, None, stamp, headers)

    def _send(self, doing: str, owner: Owner | None, *record: Any) -> None:
        """Produce one record, waiting for room in the queue. Raises Unfit where it can never fit."""
        deadline = time.monotonic() + self._limits.transaction_timeout
        while True:
            try:
                self._producer.produce(*record)
            except BufferError:
                self._must_have_room(owner, record[1])
                self._poll(0.1)
                if time.monotonic() > deadline:
                    raise Again(f"the queue to {self._cluster.alias} stayed full{self._why()}") from None
            except (KafkaException, SystemError) as exception:
                raise self._not_taken(doing, owner, exception, record[1], record[2]) from None
            else:
                return

    def _must_have_room(self, owner: Owner | None, value: bytes | None) -> None:
        """Raise Unfit for a value larger than the whole queue, which never fits. Only values count there."""
        size, queue = len(value or b""), _queue_kbytes(self._limits) * 1024
        if owner is not None and size > queue:
            raise Unfit(too_large_for_queue(owner.lane.lane.source, owner.offset, size, queue))

    def _not_taken(
        self,
        doing: str,
        owner: Owner | None,
        exception: BaseException,
        value: bytes | None,
        key: bytes | None,
    ) -> Exception:
        """Return why the client rejected a record. It checks the size before it sends anything."""
        failed, error = self._failed(doing, exception), error_in(exception)
        too_large = error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE
        if owner is None or not too_large or isinstance(failed, Fenced):
            return failed
        size = len(value or b"") + len(key or b"")
        return Unfit(too_large_for_client(owner.lane.lane.source, owner.offset, size, self._cluster.alias))

    def drain(self) -> None:
        """Wait until everything that was produced is acknowledged, inside a transaction."""
        self._drain()

    def flush(self) -> float:
        """Wait until the destination has everything; returns how long that took."""
        began = time.monotonic()
        self._drain()
        if self.records:
            failpoint.reach("after-flush")
        return time.monotonic() - began

    def commit(self, ledger: Iterable[BookEntry], mapped: Sequence[BookEntry] = ()) -> None:
        """Write records of the offset map, then of the ledger, and make all visible together."""
        self.begin()
        self._write("writing the offset map", mapped)
        if mapped and self.keeps_prefix:
            # A kill between the two leaves entries in the map that the ledger lacks, and these entries
            # explain that (rules/ledger_consistency.py). In the other order the map would lack forever what
            # the ledger counts.
            try:
                self._acknowledged("writing the offset map")
            except Again:
                self._write_ledger_alone(ledger)
                raise
            failpoint.reach("after-map")
        self._write("writing the ledger", ledger)
        self._acknowledged("writing the ledger")
        if self.records:
            failpoint.reach("after-ledger")
        self._make_visible()
        if self.records:
            failpoint.reach("after-commit")
        self._begun = 0.0
        self.records = self.bytes = 0

    def _write(self, doing: str, entries: Iterable[BookEntry]) -> None:
        for topic, partition, key, value in entries:
            self._send(doing, None, topic, value, key, partition, self._on_ledger)

    def _write_ledger_alone(self, ledger: Iterable[BookEntry]) -> None:
        """The records are there and their map is not: they come once, and the map lacks them.

        Without the ledger each attempt would produce them once more, for as long as the map cannot be
        written. A rejected map entry has ended this producer (enable.gapless.guarantee): another one writes.
        """
        with contextlib.suppress(Again, CausewayError):
            alone = IdempotentProducer(self._cluster, self._limits, "none")
            try:
                alone.commit(ledger)
            finally:
                alone.close()

    def _acknowledged(self, doing: str) -> None:
        self._drain()
        if self._ledger_error is not None:
            raise self._failed(doing, KafkaException(self._ledger_error))

    def _make_visible(self) -> None:
        """Does nothing: without transactions everything acknowledged is visible already."""

    def _drain(self) -> None:
        """Wait until everything is acknowledged, or known to have failed.

        After a rejected record, those sent after it would wait until they time out: do not wait for them. A
        queue that does not move, although nothing was rejected and no connection was lost, means that a
        request was lost on a connection that looks alive.
        """
        began = moved = time.monotonic()
        last = -1
        refused = False
        while left := self._left_of_all():
            if refused:
                return
            refused = self.refused  # one more round: the record's own report comes with the rejection
            now = time.monotonic()
            if left != last:
                last, moved = left, now
            if now - max(moved, self._throttled) > STUCK_SECONDS and not self._shaken:
                raise Again(f"{self._cluster.alias} takes no more records of this transaction")
            if now - began > self._limits.transaction_timeout:
                raise Again(f"{self._cluster.alias} does not acknowledge{self._why()}")

    def _left_of_all(self) -> int:
        """Return how many records are not acknowledged yet; 1 where this call raised a rejection.

        Without a transaction the client raises a rejection as a fatal error. It reports what it still holds
        after that, the rejected record too: a caller that waits for reports must call once more.
        """
        try:
            return self._left(0.5)
        except Refused:
            return 1

    def _on_ledger(self, error: KafkaError | None, _message: Any) -> None:
        self._ledger_error = error or self._ledger_error
        if error is not None and may_not(error):
            self.denied.add("")  # `check_rights` finds out which topic it is


def _queue_kbytes(limits: Limits) -> int:
    return max(1024, limits.queue_bytes // 1024)
