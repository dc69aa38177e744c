"""Delivery to the destination: produce, flush, then the ledger record.

`IdempotentDelivery` is at-least-once, for destinations without transactions; `TransactionalDelivery`
(transaction.py) makes it exactly-once. Neither knows who calls it, or where the messages came from.

Why at-least-once keeps the order of first arrivals, without a fence. Two statements are enough:

    1  a producer starts at a position of the ledger, and every record before that position was acknowledged
    2  what one producer appends to a place is a prefix of what it was given: no record without the one before

Then a record that arrives for the first time, from whichever producer, finds all records before it there:
those from the producer's own start on by 2, the older ones by 1. So several producers may write at once. One
that was given up leaves a request on its way, its successor sends 1 to 100, the late request brings 1 to 50
once more: repeats, which at-least-once allows, and nothing that arrives first after a later record.

What would break 2, and what prevents it:

    a record expires alone in the client's queue,     message.timeout.ms = 0: none expires. `_drain` has the
    and the younger ones are sent                     deadline, and the producer is purged and destroyed
    a batch is rejected, the client goes on with      enable.gapless.guarantee: the rejection is fatal, and
    the next one under a new epoch                    nothing is sent after it
    a batch fails at the broker, and the next one,    the broker takes no batch out of sequence of a producer
    already in flight, is appended                    that it knows
    … of a producer that the broker does not know     the first record to each place is acknowledged before
    at this place: it takes any sequence number       the second one is produced (`_met`)

With placement by key the client chooses the place, so the last line does not hold there: a record that is
rejected in a producer's first batch to a partition may be overtaken by the batch in flight after it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from causeway import failpoint
from causeway.kafka.handle import ProducerHandle, error_in
from causeway.kafka.lane import NEVER, OpenLane, Stretch
from causeway.kafka.outcome import Again, Fenced, Refused, Unfit
from causeway.model.cluster import Cluster
from causeway.model.order import Limits
from causeway.model.position import Place
from causeway.policy.header_names import odd_names
from causeway.policy.integrity import Finding
from causeway.policy.provenance import marked
from causeway.policy.quarantine import Label, labelled
from causeway.policy.repeats import too_large_for_client, too_large_for_queue
from causeway.policy.unwritable import no_room_for_mark, odd_header_name, unreadable_headers

STUCK_SECONDS = 3.0
MOST_RETRIES = 2_147_483_647


class Owner(NamedTuple):
    """The source record that something is produced for."""

    lane: OpenLane
    offset: int


class IdempotentDelivery(ProducerHandle):
    """At-least-once: records first, the ledger record once they are acknowledged."""

    reports_every_record = True  # without a transaction nothing else tells of a record that failed
    keeps_prefix = True  # visible at once, so a record must not be appended without the one before
    writes_any_name = False  # of headers: the client's Python class takes text, and ends it at a NUL

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
        """Nothing can be fenced without transactions; the lease alone keeps older instances away."""

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
        """Produce what was consumed, marked with its origin where one is given.

        Messages of one lane come in its order; errors were taken out.

        The hot loop. A record is produced when its successor is known, since only the first and the
        last of a stretch report where they landed.
        """
        self.begin()
        self._origin = origin
        produce = self._producer.produce
        lane: OpenLane | None = None
        stretch = Stretch(0)
        topic, partition, expected, barrier = "", -1, -1, NEVER
        to_topic, to_partition, careful = "", -1, False
        meeting: set[tuple[str, int]] = set()  # places that get their first record here
        later: list[Any] = []  # what else is for them
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
                if offset < lane.next or not lane.recognized:
                    lane.recognize(offset, message.leader_epoch())
                    if offset < lane.next or lane.finding is not None:
                        continue
                if offset >= barrier:
                    barrier = lane.reached(offset)
                    if lane.finding is not None:
                        continue
                ordinary = offset < barrier and stamp > 0 and message.plain
                finding = None if ordinary else self._why_not(lane, message, stamp)
                if finding is not None:
                    self._take_out(lane, message, finding)
                    barrier = lane.barrier
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
        """Wait for the first record to each of these places; where one is rejected, the next call says so."""
        self._drain()
        self._met.update(places)

    def _end(
        self, lane: OpenLane, stretch: Stretch, held: Any, report: Any, stamp: int, length: int, size: int
    ) -> None:
        """Produce the last record of a stretch, and enter the stretch into its lane."""
        last = stretch.report_last if report is None else stretch.report_only
        self._produce(lane, held, last, stamp)
        size += len(held.value() or b"") + len(held.key() or b"")
        stretch.length = length
        stretch.last_at = stamp
        lane.took(stretch, held.offset() + 1, held.leader_epoch(), size)
        self.records += length
        self.bytes += size

    def _why_not(self, lane: OpenLane, message: Any, stamp: int) -> Finding | None:
        """Why a record cannot be written to its place as it is; None where it can."""
        offset = message.offset()
        if offset >= lane.barrier or stamp <= 0:
            return lane.why_not(offset, stamp)
        if message.unreadable:
            return unreadable_headers(lane.lane.source, offset, message.unreadable)
        return self._unwritable(lane, message)

    def _unwritable(self, lane: OpenLane, message: Any) -> Finding | None:
        """Why the client's Python class cannot write the headers as they are."""
        if message.plain:
            return None
        headers = message.headers() or ()
        if odd := odd_names(headers):
            return odd_header_name(lane.lane.source, message.offset(), headers[odd[0]][0])
        if self._origin is not None and marked(headers, self._origin) is not headers:
            return no_room_for_mark(lane.lane.source, message.offset(), len(headers))
        return None

    def _take_out(self, lane: OpenLane, message: Any, finding: Finding) -> None:
        """A record that cannot go to its place: the quarantine takes it, or the lane stops before it."""
        if lane.quarantine:
            self._set_aside(lane, message, finding)
        else:
            lane.stop(message.offset(), finding)

    def _set_aside(self, lane: OpenLane, message: Any, finding: Finding) -> None:
        """Into the quarantine, with everything that the source says about it; in the same transaction."""
        offset, value, key = message.offset(), message.value(), message.key()
        stamp = message.timestamp()[1]
        label = Label(lane.lane.source, lane.position.topic_id, offset, stamp, finding.what)
        size = len(value or b"") + len(key or b"")
        aside = lane.set_aside(offset, message.leader_epoch(), size)
        if message.unreadable:
            headers = labelled((), replace(label, lacks="headers"))
        else:
            headers = labelled(message.headers(), label, escape=not self.writes_any_name)
        # Its own timestamp may be what was refused: it is in the label, and the client puts the time of now.
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
        """Produce one record, waiting for room in the queue. Raises Unfit where it can never get in."""
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
        """The client counts values alone: one that is larger than its whole queue never gets in."""
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
        """Why the client did not take a record. Its size is checked before anything is sent."""
        failed, error = self._failed(doing, exception), error_in(exception)
        too_large = error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE
        if owner is None or not too_large or isinstance(failed, Fenced):
            return failed
        size = len(value or b"") + len(key or b"")
        return Unfit(too_large_for_client(owner.lane.lane.source, owner.offset, size, self._cluster.alias))

    def drain(self) -> None:
        """Wait until everything that was produced is acknowledged, in the middle of a transaction."""
        self._drain()

    def flush(self) -> float:
        """Wait until the destination has everything; answers how long that took."""
        began = time.monotonic()
        self._drain()
        if self.records:
            failpoint.reach("after-flush")
        return time.monotonic() - began

    def commit(self, ledger: Iterable[tuple[str, int, bytes, bytes]]) -> None:
        """Write ledger records (topic, partition, key, value), and make all visible together."""
        self.begin()
        for topic, partition, key, value in ledger:
            self._send("writing the ledger", None, topic, value, key, partition, self._on_ledger)
        self._drain()
        if self._ledger_error is not None:
            raise self._failed("writing the ledger", KafkaException(self._ledger_error))
        if self.records:
            failpoint.reach("after-ledger")
        self._make_visible()
        if self.records:
            failpoint.reach("after-commit")
        self._begun = 0.0
        self.records = self.bytes = 0

    def _make_visible(self) -> None:
        """Without transactions everything acknowledged is visible already."""

    def _drain(self) -> None:
        """Wait until everything is acknowledged, or known to have failed.

        Where a record was refused, those sent behind it wait in vain until they time out. A queue that does
        not move although nothing was refused and no connection broke: a request was lost on a line that
        looks alive.
        """
        began = moved = time.monotonic()
        last = -1
        refused = False
        while left := self._left_of_all():
            if refused:
                return
            refused = self.refused  # once more: the record's own report comes beside that word
            now = time.monotonic()
            if left != last:
                last, moved = left, now
            if now - max(moved, self._throttled) > STUCK_SECONDS and not self._shaken:
                raise Again(f"{self._cluster.alias} takes no more records of this transaction")
            if now - began > self._limits.transaction_timeout:
                raise Again(f"{self._cluster.alias} does not acknowledge{self._why()}")

    def _left_of_all(self) -> int:
        """How many records are not acknowledged yet; 1 at least where a rejection was told just now.

        Without a transaction the client raises it, as a fatal error. What it still holds is reported behind
        that, the rejected record too: whoever waits for reports must ask once more.
        """
        try:
            return self._left(0.5)
        except Refused:
            return 1

    def _on_ledger(self, error: KafkaError | None, _message: Any) -> None:
        self._ledger_error = error or self._ledger_error


def _queue_kbytes(limits: Limits) -> int:
    return max(1024, limits.queue_bytes // 1024)
