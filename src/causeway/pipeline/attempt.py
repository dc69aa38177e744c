"""One attempt at a shard: fence, read the ledger, consume, deliver, commit — over and over.

The order of the steps is the guarantee:

    1 fence      from here every older attempt is dead, its transactions finished
    2 read       only now the lease and the positions, up to the high watermark
    3 consume    from those positions, never from counts or destination offsets
    4 commit     records and positions together, if both topics are still the same ones
    5 restart    at 1, with new clients, on any outcome that is not known for certain

Errors stay inside the task: `Again` starts over, `Fenced` and `Superseded` end it for good.
"""

from __future__ import annotations

import time
from typing import Any

from causeway import failpoint
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.carrier import Carrier, carrier
from causeway.kafka.delivery import IdempotentDelivery
from causeway.kafka.intake import Intake, Lost, Taken
from causeway.kafka.lane import OpenLane
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.outcome import Again, Fenced, Refused, Unfit
from causeway.model.order import Order
from causeway.model.position import Position, SourcePartition
from causeway.model.receipt import Outcome
from causeway.model.record import CONTROL, Record, Stopped
from causeway.pipeline.closing import Closing
from causeway.pipeline.handover import ending_seconds, let_end
from causeway.pipeline.leftovers import end_leftovers, left_open, must_be_seen
from causeway.pipeline.memory import Memory
from causeway.pipeline.opening import open_lanes, stopped
from causeway.pipeline.reckoning import check_lease, check_reached, find_ledger, positions
from causeway.pipeline.sieve import Sieve
from causeway.pipeline.small_batches import SmallBatches
from causeway.pipeline.source_checks import is_cut_off
from causeway.policy.integrity import unread
from causeway.policy.pacing import Pace, first_pace, next_pace
from causeway.policy.repeats import raised
from causeway.policy.throttle import Throttle

LEDGER_SECONDS = 30.0
IDLE_WAIT_SECONDS = 0.05
QUIET_SECONDS = 1.0
MOST_RECORDS = 10_000
CLOSE_LOOKS = 20
"""So many transactions of single records, to find one that was refused; then it must have been a fluke."""


class Attempt:
    def __init__(self, order: Order, memory: Memory, ends_at: float | None) -> None:
        self._order = order
        self._memory = memory
        self._ends_at = ends_at
        self._lanes: dict[SourcePartition, OpenLane] = {}
        self._positions: dict[SourcePartition, Position] = {}
        self._stopped_before: dict[SourcePartition, Stopped] = {}
        self._intakes: list[Intake] = []
        self._small: list[SmallBatches] = []  # those of them whose places take only small batches
        self._records: list[Record] = []  # for the ledger, with the next transaction
        self._doubtful: dict[SourcePartition, list[Record]] = {}  # as soon as it shows that they go on
        self._quiet_at = 0.0
        self._taken: list[tuple[float, int]] = []  # when records of the open transaction came, and how many
        self._unseen: set[tuple[str, int]] = set()  # places of which nobody knows what was left open there
        self._looked_closely = 0
        self._average_size = 1_000.0
        limits = order.limits
        self._pace: Pace = first_pace(
            limits.records, limits.bytes, limits.seconds, limits.transaction_timeout, memory.fruitless
        )
        self._sieve = Sieve(order.filters, order.destination_id if order.provenance else None)
        self._throttle = Throttle(limits.records_per_second, limits.bytes_per_second)
        self._carrier = carrier(order.carrier, looks(order))
        self._delivery: IdempotentDelivery = _delivery(order, memory, self._carrier)
        self._destination = ClusterView(order.destination)
        self._closing = Closing(order, self._delivery, self._destination, memory, self._carrier.told)
        self._reader: LedgerReader | None = None

    def run(self) -> Outcome:
        """Serve the order to its end."""
        order = self._order
        self._connect()
        # What the driver has seen saves reading it again; after a failure nothing but the ledger is believed.
        seen = order.seen if not self._memory.restarts else None
        self._reader = LedgerReader(order.destination, order.mirror, [CONTROL, order.shard], seen)
        if order.after and not self._memory.restarts:
            let_end(order, self._reader, ending_seconds(order))
        failpoint.reach("before-fence")
        self._delivery.fence()
        find_ledger(order, self._destination, self._memory)
        sight = left_open(order, self._destination, self._memory)
        image = self._reader.read_to_end(LEDGER_SECONDS)
        check_lease(order, image)
        self._stopped_before = dict(image.stopped)
        found = positions(order, image)
        check_reached(order, found, self._memory)
        self._positions = self._memory.positions = found
        self._records += end_leftovers(order, self._destination, sight, found, image.hidden, self._memory)
        self._unseen = sight.unseen
        if self._records:
            self._commit()  # what is hidden is written down before anything is written behind it
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
        """An intake for each source; and one more for its lanes that take only small batches."""
        order, kind = self._order, self._carrier.intake
        for cluster_id, cluster in order.sources.items():
            group = order.groups.get(cluster_id)
            mine = [lane for lane in order.lanes if lane.source.cluster == cluster_id]
            for small in (False, True):
                lanes = [lane for lane in mine if (lane.batch_limit is not None) == small]
                if not lanes:
                    continue
                intake = kind(cluster, cluster_id, lanes, group, order.mirror, order.limits)
                group = None  # one of them advances the group, for both
                intake.wake()
                self._intakes.append(intake)
                if small:
                    self._small.append(SmallBatches(intake, self._delivery, order.provenance))

    def close(self) -> None:
        for intake in self._intakes:
            intake.close()
        if self._reader is not None:
            self._reader.close()
        self._delivery.close()

    def _step(self) -> None:
        """Take what is there, produce it, and close the transaction when it is time."""
        delivery = self._delivery
        wait = 0.0 if delivery.open else IDLE_WAIT_SECONDS / max(1, len(self._intakes))
        if self._memory.apart:
            wait = 0.0  # otherwise it takes one more than it is told to
        if self._held_back():
            return
        found = False
        lost: list[tuple[Intake, Lost]] = []
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
        if delivery.open:
            if self._full() or lost or not found:
                self._commit()
        elif lost or self._due():
            self._commit()
        for intake, one in lost:
            self._lose(intake, one)

    def _take(self, intake: Intake, taken: Taken, lost: list[tuple[Intake, Lost]]) -> bool:
        """Produce what was taken; returns whether there were records."""
        if taken.records:
            at, count = time.monotonic(), self._delivery.records
            self._carry(intake, taken.records)
            self._taken.append((at, self._delivery.records - count))
        for lane, offset in taken.ends:
            lane.passed(offset)
        lost += [(intake, one) for one in taken.lost]
        return bool(taken.records)

    def _take_small(self, small: SmallBatches, lost: list[tuple[Intake, Lost]], *, busy: bool) -> bool:
        """Produce what fits into small batches, for as long as its turn lasts."""
        found = False
        small.begin(busy=busy)  # also where the transaction is full: the others fill it every time
        while small.has_turn and self._throttle.room(time.monotonic()) > 0:
            taken = small.take()
            if not taken.records and not taken.ends and not taken.lost:
                break
            found |= self._take(small.intake, taken, lost)
            if taken.lost:
                break  # of a lane that failed nothing counts that comes after it
        small.end()
        return found

    def _full(self) -> bool:
        delivery = self._delivery
        return delivery.open and self._pace.full(delivery.records, delivery.bytes, delivery.seconds)

    def _lose(self, intake: Intake, lost: Lost) -> None:
        """A lane failed: judge it again soon. Behind a commit, so that it has the position it really has."""
        source, memory = lost.lane.lane.source, self._memory
        if lost.lane.finding is not None:
            return  # it has stopped, before it came to what failed
        self._lanes.pop(source, None)
        if lost.truncated:
            memory.truncated[source] = lost.why
        if lost.corrupt:
            offset = lost.lane.position.offset
            memory.unreadable[source] = unread(memory.unreadable.get(source), offset, lost.why)
        intake.drop(lost.lane, wait=True)
        intake.postpone(f"{source}: {lost.why}")
        memory.say("warning", f"{source} at offset {lost.lane.next}: {lost.why}")

    def _carry(self, intake: Intake, records: Any) -> None:
        if not self._memory.apart:
            return self._carry_all(intake, records)
        only = records[0] if isinstance(records, list) else records.at(0)
        source, offset = SourcePartition(intake.cluster_id, only.topic(), only.partition()), only.offset()
        try:
            self._carry_all(intake, records)
        except (Again, Fenced, CausewayError):
            raise
        except Exception as error:  # with one record at a time it is that record's
            raise Unfit(raised(source, offset, error)) from error

    def _carry_all(self, intake: Intake, records: Any) -> None:
        delivery = self._delivery
        count, size = delivery.records, delivery.bytes
        kept = self._sieve.sift(records, intake.open) if self._sieve.active else records
        if kept:
            try:
                origin = intake.cluster_id.encode() if self._order.provenance else None
                delivery.carry(kept, intake.open, origin)
            except Refused:
                # One by one the refused record reports itself, but only to whoever waits for reports. Not to
                # wait would mean to come here again and again as long as there are many records behind it.
                if self._memory.single:
                    self._commit()
                raise
        self._sieve.settle()
        self._throttle.took(delivery.records - count, delivery.bytes - size)

    def _held_back(self) -> bool:
        """Whether the mirror's limit is reached: what was carried is committed, then it waits."""
        if self._throttle.room(time.monotonic()) > 0:
            return False
        if self._delivery.open or self._due():
            self._commit()
        time.sleep(min(IDLE_WAIT_SECONDS, self._throttle.wait()))
        return True

    def _due(self) -> bool:
        """Whether to commit although nothing was carried.

        Markers and aborted records at the end of a log move the position as well: otherwise retention
        behind them would look like a loss. Once a second is enough for that.
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
        for intake in self._intakes:
            for lane in list(intake.open.values()):
                if lane.absent and not self._is_cut_off(intake, lane):
                    del self._lanes[lane.lane.source]
                    intake.drop(lane, wait=True)
                elif lane.finding is not None:
                    self._records.append(stopped(self._order, lane.lane, lane.finding, lane.position))
                    self._memory.stopped[lane.lane.source] = lane.finding
                    intake.drop(lane, wait=False)
        records, size = self._delivery.records, self._delivery.bytes
        views = {intake.cluster_id: intake.view for intake in self._intakes}
        flushed = self._closing.commit(self._lanes.values(), self._records, views, final=final)
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

    def _is_cut_off(self, intake: Intake, lane: OpenLane) -> bool:
        """Ask the source before the verdict; where it does not answer, the lane is opened again later."""
        try:
            return is_cut_off(intake.view, lane, self._memory)
        except CausewayError as error:
            intake.postpone(f"{lane.lane.source}: {error}")
            return False

    def _goes_on(self, source: SourcePartition) -> bool:
        """Whether a partition that was stopped for its log shows that it can be carried again."""
        lane = self._lanes.get(source)
        if lane is None:
            return False
        return lane.read if self._stopped_before[source].verdict == "corrupt" else lane.recognized

    def _open(self, intake: Intake) -> None:
        """Open the lanes that wait; a source that does not answer is asked again later."""
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
            self._commit()  # a start is in the ledger before the first fetch
        must_be_seen((lane.lane.place for lane in opening.lanes), self._unseen)
        for source in opening.closed:
            intake.waiting.pop(source)
        self._lanes.update({lane.lane.source: lane for lane in opening.lanes})
        self._doubtful.update(opening.doubtful)
        intake.assign(opening.lanes)
        if intake.waiting:
            intake.postpone("partitions without a leader")

    def _most(self) -> int:
        """How many records to take at once: what the transaction has room for, and few large ones."""
        if self._memory.apart:
            return 1
        room = (self._pace.bytes - self._delivery.bytes) / self._average_size
        allowed = self._throttle.room(time.monotonic())
        if self._order.limits.bytes_per_second:
            allowed = min(allowed, int(self._order.limits.bytes_per_second / 10 / self._average_size) + 1)
        return max(1, min(MOST_RECORDS, allowed, self._pace.records - self._delivery.records, int(room)))

    def _outcome(self, reader: LedgerReader) -> Outcome | None:
        cut = reader.image.cut
        if cut is not None and cut.lease == self._order.lease and cut.slice >= self._order.slice:
            return "cut"
        if self._ends_at is not None:
            return "done" if time.monotonic() >= self._ends_at else None
        if any(intake.waiting for intake in self._intakes):
            return None
        return "done" if all(lane.done for lane in self._lanes.values()) else None


def looks(order: Order) -> str:
    """Who looks at each record."""
    found = (["filters"] if order.filters else []) + (["provenance marks"] if order.provenance else [])
    return " and ".join(found)


def _delivery(order: Order, memory: Memory, carried_by: Carrier) -> IdempotentDelivery:
    if order.delivery == "at-least-once":
        return carried_by.at_least_once(
            order.destination,
            order.limits,
            order.compression,
            partitioner=order.partitioner,
            single=memory.single,
        )
    return carried_by.exactly_once(
        order.destination,
        order.limits,
        order.compression,
        transactional_id=order.transactional_id,
        partitioner=order.partitioner,
        single=memory.single,
    )
