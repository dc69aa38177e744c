"""One attempt at a shard: fence, read the ledger, then consume, produce and commit repeatedly.

The order of the steps is the guarantee:

    1 fence      older attempts cannot commit any more, and their transactions are ended
    2 read       only then read the lease and the positions, up to the high watermark
    3 consume    from those positions, never from counts or destination offsets
    4 commit     records and positions together, if both topics are still the same ones
    5 restart    at 1, with new clients, on any outcome that is not known for certain

Errors stay inside the task: `Again` restarts at 1, `Fenced` and `Superseded` end the task.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from causeway import failpoint
from causeway.core.ledger_record import CONTROL, LedgerRecord, Stopped
from causeway.core.position import Position, SourcePartition
from causeway.core.receipt import Outcome
from causeway.core.task_order import TaskOrder
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.carrier import Carrier, carrier
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.look_ahead import holes_ahead
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.source_consumer import Lost, SourceConsumer, Taken
from causeway.kafka.task_errors import Again, Fenced, Refused, Unfit
from causeway.kafka.transaction import Transaction
from causeway.replication.rules.pacing import Pace, first_pace, next_pace
from causeway.replication.rules.throttle import Throttle
from causeway.replication.worker.commit import Committer
from causeway.replication.worker.fetch_watch import FetchWatch
from causeway.replication.worker.hanging_transactions import (
    check_last_visible,
    end_leftovers,
    left_open,
    must_be_seen,
)
from causeway.replication.worker.ledger_checks import (
    check_lease,
    check_reached,
    check_rights,
    find_ledger,
    positions,
)
from causeway.replication.worker.partition_start import open_lanes, stopped
from causeway.replication.worker.record_filter import RecordFilter
from causeway.replication.worker.slice_handover import ending_seconds, let_end
from causeway.replication.worker.small_batches import SmallBatches
from causeway.replication.worker.source_checks import is_cut_off, look_ahead
from causeway.replication.worker.task_state import TaskState
from causeway.rules.integrity import unread
from causeway.rules.repeats import raised

LEDGER_SECONDS = 30.0
IDLE_WAIT_SECONDS = 0.05
QUIET_SECONDS = 1.0
MOST_RECORDS = 10_000
CLOSE_LOOKS = 20
"""Stop isolating a rejected record (`single`, `apart`) after this many transactions: it did not recur."""


class Attempt:
    def __init__(self, order: TaskOrder, memory: TaskState, ends_at: float | None) -> None:
        self._order = order
        self._memory = memory
        self._ends_at = ends_at
        self._lanes: dict[SourcePartition, PartitionState] = {}
        self._positions: dict[SourcePartition, Position] = {}
        self._stopped_before: dict[SourcePartition, Stopped] = {}
        self._intakes: list[SourceConsumer] = []
        self._small: list[SmallBatches] = []  # for those whose places accept only small batches
        self._records: list[LedgerRecord] = []  # for the ledger, in the next transaction
        self._doubtful: dict[SourcePartition, list[LedgerRecord]] = {}  # once it is proved that they go on
        self._quiet_at = 0.0
        self._taken: list[tuple[float, int]] = []  # when records of the open transaction came; how many
        self._unseen: set[tuple[str, int]] = set()  # places not checked for open transactions
        self._looked_closely = 0
        self._average_size = 1_000.0
        limits = order.limits
        self._pace: Pace = first_pace(
            limits.records, limits.bytes, limits.seconds, limits.transaction_timeout, memory.fruitless
        )
        self._sieve = RecordFilter(order.filters, order.provenance)
        self._throttle = Throttle(limits.records_per_second, limits.bytes_per_second)
        self._fetching = FetchWatch(order)
        self._carrier = carrier(order.produce.carrier, looks(order))
        self._producer = _producer(order, memory, self._carrier)
        self._destination = ClusterView(order.destination)
        self._closing = Committer(order, self._producer, self._destination, memory, self._carrier.told)
        self._reader: LedgerReader | None = None

    def run(self) -> Outcome:
        """Serve the order to its end."""
        order = self._order
        self._connect()
        # Start from what the driver has read of the ledger; after a failure trust only the ledger itself.
        seen = order.seen if not self._memory.restarts else None
        self._reader = LedgerReader(order.destination, order.slice.mirror, [CONTROL, order.shard], seen)
        if order.after is not None and not self._memory.restarts:
            let_end(order, self._reader, ending_seconds(order))
        failpoint.reach("before-fence")
        self._producer.fence()
        find_ledger(order, self._destination, self._memory)
        check_rights(order, self._destination, self._memory)
        sight = left_open(order, self._destination, self._memory)
        image = self._reader.read_to_end(LEDGER_SECONDS)
        check_lease(order, image)
        self._stopped_before = dict(image.stopped)
        found = positions(order, image)
        check_reached(order, found, self._memory)
        self._positions = self._memory.positions = found
        self._records += end_leftovers(order, self._destination, sight, found, image.hidden, self._memory)
        if self._memory.restarts or order.after is None:  # else the slice before has ended in order
            check_last_visible(order, self._destination, sight, found)
        self._unseen = sight.unseen
        if self._records:
            self._commit()  # the ledger lists hidden records before anything is produced after them
        self._reader.follow(CONTROL)
        while True:
            for intake in self._intakes:
                if intake.due():
                    self._open(intake)
            self._reader.poll(0)
            check_lease(order, self._reader.image)
            outcome = self._outcome(self._reader)
            if outcome is not None:
                self._commit(final=True)
                return outcome
            self._step()

    def _connect(self) -> None:
        """Make a source consumer for each source, and one more if places accept only small batches."""
        order, kind = self._order, self._carrier.source_consumer
        for cluster_id, source in order.sources.items():
            group = source.group
            mine = [lane for lane in order.lanes if lane.source.cluster == cluster_id]
            for small in (False, True):
                lanes = [lane for lane in mine if (lane.batch_limit is not None) == small]
                if not lanes:
                    continue
                intake = kind(
                    source.cluster, cluster_id, lanes, group, order.slice.mirror, self._fetching.limits
                )
                group = None  # one of them advances the consumer group, for both
                intake.wake()
                self._intakes.append(intake)
                if small:
                    self._small.append(SmallBatches(intake, self._producer, order.provenance is not None))

    def close(self) -> None:
        self._memory.denied |= self._producer.client.denied
        with ExitStack() as ending:  # closes each one, even if another one fails
            ending.callback(self._producer.close)
            if self._reader is not None:
                ending.callback(self._reader.close)
            for intake in self._intakes:
                ending.callback(intake.close)

    def _step(self) -> None:
        """Take the available records, produce them, and commit the transaction when it is due."""
        producer = self._producer
        wait = 0.0 if producer.open else IDLE_WAIT_SECONDS / max(1, len(self._intakes))
        if self._memory.apart:
            wait = 0.0  # with a wait, `take` may return one record more than asked for
        if self._held_back():
            return
        found = False
        lost: list[tuple[SourceConsumer, Lost]] = []
        if not self._intakes:
            time.sleep(IDLE_WAIT_SECONDS)
        apart = {one.intake for one in self._small}
        for intake in self._intakes:
            if intake not in apart:
                found |= self._take(intake, intake.take(self._most(), wait), lost)
        for small in self._small:
            found |= self._take_small(small, lost, busy=found)
        if not found and len(apart) == len(self._intakes):
            time.sleep(wait)
        if self._memory.apart and not found:
            time.sleep(IDLE_WAIT_SECONDS)
        if producer.open:
            if self._full() or lost or not found:
                self._commit()
        elif lost or self._due():
            self._commit()
        for intake, one in lost:
            self._lose(intake, one)
        if self._fetching.changed():
            self._commit()
            self._lanes.clear()  # all partitions wait to be opened again
            self._fetching.renew(self._intakes)

    def _take(self, intake: SourceConsumer, taken: Taken, lost: list[tuple[SourceConsumer, Lost]]) -> bool:
        """Produce what was taken; returns whether there were records."""
        if self._producer.visible_at_once:
            self._look_ahead(intake, taken)
        if taken.records:
            at, count = time.monotonic(), self._producer.records
            self._fetching.took(intake, taken.records)
            self._carry(intake, taken.records)
            self._taken.append((at, self._producer.records - count))
        for lane, offset in taken.ends:
            lane.passed(offset)
        lost += [(intake, one) for one in taken.lost]
        return bool(taken.records)

    def _look_ahead(self, intake: SourceConsumer, taken: Taken) -> None:
        """Check a hole before producing the records after it, since they are visible at once."""
        if not taken.records and not taken.ends:
            return
        try:
            holes = holes_ahead(intake.runs(taken.records), taken.ends, intake.open)
            look_ahead(self._order, intake.view, holes, self._memory)
        except BaseException as error:
            intake.release(taken.records)  # a consumer cannot close before its messages are released
            if isinstance(error, Again) and self._producer.open:
                self._commit()  # records before the hole are visible already: do not repeat them
            if isinstance(error, CausewayError):
                raise Again(str(error)) from None
            raise

    def _take_small(
        self, small: SmallBatches, lost: list[tuple[SourceConsumer, Lost]], *, busy: bool
    ) -> bool:
        """Produce records for places that accept only small batches, while their turn lasts."""
        found = False
        small.begin(busy=busy)  # also if the transaction is full: the other topics always fill it
        while small.has_turn and self._throttle.room(time.monotonic()) > 0:
            taken = small.take()
            if not taken.records and not taken.ends and not taken.lost:
                break
            found |= self._take(small.intake, taken, lost)
            if taken.lost:
                break  # nothing counts that comes after a partition's failure
        small.end()
        return found

    def _full(self) -> bool:
        producer = self._producer
        return producer.open and self._pace.full(producer.records, producer.size, producer.seconds)

    def _lose(self, intake: SourceConsumer, lost: Lost) -> None:
        """A partition failed: judge it again soon. Call it after a commit: then its position is current."""
        source, memory = lost.lane.lane.source, self._memory
        if lost.lane.finding is not None:
            return  # it stopped before it reached the failure
        self._lanes.pop(source, None)
        if lost.truncated:
            memory.truncated[source] = lost.why
        if lost.corrupt:
            offset = lost.lane.position.offset
            memory.unreadable[source] = unread(memory.unreadable.get(source), offset, lost.why)
        intake.drop(lost.lane, wait=True)
        intake.postpone(f"{source}: {lost.why}")
        memory.say("warning", f"{source} at offset {lost.lane.next}: {lost.why}")

    def _carry(self, intake: SourceConsumer, records: Any) -> None:
        if not self._memory.apart:
            return self._carry_all(intake, records)
        only = records[0] if isinstance(records, list) else records.at(0)
        source, offset = SourcePartition(intake.cluster_id, only.topic(), only.partition()), only.offset()
        try:
            self._carry_all(intake, records)
        except (Again, Fenced, CausewayError):
            raise
        except Exception as error:  # with one record at a time, that record is the cause
            raise Unfit(raised(source, offset, error)) from error

    def _carry_all(self, intake: SourceConsumer, records: Any) -> None:
        producer = self._producer
        count, size = producer.records, producer.size
        kept = self._sieve.sift(records, intake.open) if self._sieve.active else records
        if kept:
            try:
                origin = intake.cluster_id.encode() if self._order.provenance is not None else None
                producer.replicate(kept, intake.open, origin)
            except Refused:
                # With one record per batch the rejected record reports itself, but only if this waits for
                # the reports. Otherwise the attempt would fail here repeatedly while many records follow it.
                if self._memory.single:
                    self._commit()
                raise
        self._sieve.settle()
        self._throttle.took(producer.records - count, producer.size - size)

    def _held_back(self) -> bool:
        """If the mirror's rate limit is reached: commit what was produced, wait, and return True."""
        if self._throttle.room(time.monotonic()) > 0:
            return False
        if self._producer.open or self._due():
            self._commit()
        time.sleep(min(IDLE_WAIT_SECONDS, self._throttle.wait()))
        return True

    def _due(self) -> bool:
        """Whether to commit although nothing was produced.

        Transaction markers and aborted records at the end of a log move the position too: otherwise it would
        look like a loss when retention deletes them. Once a second is enough for that.
        """
        if self._closing.due or self._records:
            return True
        now = time.monotonic()
        if now < self._quiet_at:
            return False
        self._quiet_at = now + QUIET_SECONDS
        return any(lane.absent or lane.next > lane.position.offset for lane in self._lanes.values())

    def _commit(self, *, final: bool = False) -> None:
        for source in [one for one in self._doubtful if self._goes_on(one)]:
            cleared = self._doubtful.pop(source)
            if self._lanes[source].finding is None:
                self._records += cleared
                del self._stopped_before[source]  # when it is opened again, it has no verdict
        for intake in self._intakes:
            for lane in list(intake.open.values()):
                if lane.absent and not self._is_cut_off(intake, lane):
                    del self._lanes[lane.lane.source]
                    intake.drop(lane, wait=True)
                elif lane.finding is not None:
                    self._records.append(stopped(self._order, lane.lane, lane.finding, lane.position))
                    self._memory.stopped[lane.lane.source] = lane.finding
                    intake.drop(lane, wait=False)
        records, size = self._producer.records, self._producer.size
        views = {intake.cluster_id: intake.view for intake in self._intakes}
        fetched = [(intake.cluster_id, intake.topic_ids) for intake in self._intakes]
        flushed = self._closing.commit(self._lanes.values(), self._records, views, fetched, final=final)
        for intake in self._intakes:
            intake.committed()
        for small in self._small:
            small.acknowledged()
        self._records = []
        now = time.monotonic()
        for at, count in self._taken:
            self._memory.carrying.add(int((now - at) * 1_000), count)
        self._taken = []
        self._positions.update({source: lane.position for source, lane in self._lanes.items()})
        for source in [source for source, lane in self._lanes.items() if lane.finding is not None]:
            del self._lanes[source]
        if records and (self._memory.single or self._memory.apart):
            self._looked_closely += 1
            if self._looked_closely >= CLOSE_LOOKS:
                self._memory.single = self._memory.apart = False
                raise Again("no record was refused again: back to full speed")
        if records:
            self._average_size = 0.8 * self._average_size + 0.2 * (size / records + 100)
            self._pace = next_pace(self._pace, records, size, flushed)
        for intake in self._intakes:
            carried = [
                position
                for position in self._positions.values()
                if position.source.cluster == intake.cluster_id
            ]
            self._memory.group_commits += intake.advance_group(carried, final=final)

    def _is_cut_off(self, intake: SourceConsumer, lane: PartitionState) -> bool:
        """Ask the source before the verdict; if it does not respond, open the partition again later."""
        try:
            return is_cut_off(intake.view, lane, self._memory)
        except CausewayError as error:
            intake.postpone(f"{lane.lane.source}: {error}")
            return False

    def _goes_on(self, source: SourcePartition) -> bool:
        """Whether a partition stopped as truncated or corrupt has proved that it can go on."""
        lane = self._lanes.get(source)
        if lane is None:
            return False
        return lane.read if self._stopped_before[source].verdict == "corrupt" else lane.recognized

    def _open(self, intake: SourceConsumer) -> None:
        """Open the waiting partitions; if the source does not respond, retry later."""
        try:
            opening = open_lanes(
                self._order, intake, self._destination, self._positions, self._stopped_before, self._memory
            )
        except CausewayError as error:
            if str(error) != intake.trouble:
                self._memory.say("warning", f'source "{intake.cluster.alias}" cannot be read: {error}')
            intake.postpone(str(error))
            return
        self._records += opening.records
        if self._records:
            self._commit()  # a first position is in the ledger before the first fetch
        must_be_seen((lane.lane.place for lane in opening.lanes), self._unseen)
        for source in opening.closed:
            intake.waiting.pop(source)
        self._lanes.update({lane.lane.source: lane for lane in opening.lanes})
        self._doubtful.update(opening.doubtful)
        intake.assign(opening.lanes)
        if intake.waiting:
            intake.postpone("partitions without a leader")

    def _most(self) -> int:
        """How many records to take at once: what the transaction has room for, by the average record size."""
        if self._memory.apart:
            return 1
        room = (self._pace.bytes - self._producer.size) / self._average_size
        allowed = self._throttle.room(time.monotonic())
        if self._order.limits.bytes_per_second:
            allowed = min(allowed, int(self._order.limits.bytes_per_second / 10 / self._average_size) + 1)
        return max(1, min(MOST_RECORDS, allowed, self._pace.records - self._producer.records, int(room)))

    def _outcome(self, reader: LedgerReader) -> Outcome | None:
        cut = reader.image.cut
        if cut is not None and cut.lease == self._order.slice.lease and cut.slice >= self._order.slice.number:
            return "cut"
        if self._ends_at is not None:
            return "done" if time.monotonic() >= self._ends_at else None
        if any(intake.waiting for intake in self._intakes):
            return None
        return "done" if all(lane.done for lane in self._lanes.values()) else None


def looks(order: TaskOrder) -> str:
    """What inspects each record; an empty string if nothing does."""
    found = (["filters"] if order.filters else []) + (
        ["provenance marks"] if order.provenance is not None else []
    )
    return " and ".join(found)


def _producer(order: TaskOrder, memory: TaskState, carried_by: Carrier) -> DestinationProducer:
    exactly_once = order.produce.delivery == "exactly-once"
    return DestinationProducer(
        order.destination,
        order.limits,
        order.produce.compression,
        Transaction(order.transactional_id) if exactly_once else AtLeastOnce(),
        partitioner=order.produce.partitioner,
        single=memory.single,
        kind=carried_by.producer,
    )
