"""One attempt at a shard: fence, read the ledger, then consume, produce and commit repeatedly.

The order of the steps is the guarantee:

    1 fence      older attempts cannot commit any more, and their transactions are ended
    2 read       only then read the lease and the positions, up to the high watermark
    3 consume    from those positions, never from counts or destination offsets
    4 commit     records and positions together, if both topics are still the same ones
    5 again      at 1, with new clients, on any outcome that is not known for certain

Errors stay inside the task: `Again` restarts at 1, `Fenced` and `Superseded` end the task.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from causeway import failpoint
from causeway.core.ledger_record import CONTROL
from causeway.core.receipt import Outcome
from causeway.core.task_order import TaskOrder
from causeway.kafka.admin import ClusterView
from causeway.kafka.carrier import Carrier, carrier
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.schema_ids import SchemaIds
from causeway.kafka.task_errors import Again
from causeway.kafka.transaction import Transaction
from causeway.replication.worker.commit import Committer
from causeway.replication.worker.fetch_watch import FetchWatch
from causeway.replication.worker.hanging_transactions import (
    check_last_visible,
    end_hanging,
    find_hanging,
)
from causeway.replication.worker.ledger_checks import (
    check_lease,
    check_reached,
    check_rights,
    find_ledger,
    own_positions,
)
from causeway.replication.worker.record_flow import RecordFlow, Step
from causeway.replication.worker.shard_partitions import ShardPartitions
from causeway.replication.worker.slice_handover import ending_seconds, let_end
from causeway.replication.worker.small_batches import SmallBatches
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.added_headers import added_bytes

LEDGER_SECONDS = 30.0
QUIET_SECONDS = 1.0
CLOSE_LOOKS = 20
"""Stop isolating a rejected record after this many transactions: it was not rejected again."""


class Attempt:
    def __init__(self, order: TaskOrder, task: TaskState, nodes: SourceNodes, ends_at: float | None) -> None:
        self._order = order
        self._task = task
        self._nodes = nodes
        self._ends_at = ends_at
        self._carrier = carrier(order.produce.carrier, record_inspection(order))
        self._schemas = SchemaIds(order.schemas, order.slice.lease) if order.schemas else None
        self._producer = _producer(order, task, self._carrier, self._schemas)
        self._destination = ClusterView(order.destination)
        self._ledger: LedgerReader | None = None
        self._fetching = FetchWatch(order)
        self._partitions = ShardPartitions(order, task, self._destination, nodes, self._schemas)
        self._flow = RecordFlow(order, task, self._producer, self._fetching, nodes, self._commit)
        self._committer = Committer(
            order, self._producer, self._destination, task, nodes, self._carrier.description
        )
        self._look_for_advance_at = 0.0
        self._transactions_isolating = 0

    def run(self) -> Outcome:
        """Serve the order to its end. Anything uncertain raises: the task starts again at 1 (step 5)."""
        ledger = self._connect()
        self._fence(ledger)  # 1
        self._read_ledger(ledger)  # 2
        while True:
            self._nodes.check(self._partitions.positions, self._task.records, ledger.state.node_requests)
            self._partitions.renew_outdated(self._commit)
            self._partitions.open_waiting(self._commit)
            outcome = self._outcome(ledger)
            if outcome is not None:
                self._commit(final=True)
                return outcome
            if self._flow.throttled:
                self._commit_if_due()
                self._flow.wait_for_throttle()
                continue
            step = self._flow.step(self._partitions.readable)  # 3
            self._commit_if_due(step)  # 4
            self._after_step(step)

    def close(self) -> None:
        self._task.denied |= self._producer.client.denied
        self._task.rejected_timings |= self._producer.rejected_timings
        with ExitStack() as ending:  # closes each one, even if another one fails
            ending.callback(self._flow.close)
            ending.callback(self._producer.close)
            if self._ledger is not None:
                ending.callback(self._ledger.close)
            for consumer in self._partitions.consumers:
                ending.callback(consumer.close)

    def _connect(self) -> LedgerReader:
        """Make a source consumer for each source, and one more if places accept only small batches."""
        order, kind = self._order, self._carrier.source_consumer
        for cluster_id, source in order.sources.items():
            group, node = source.group, self._nodes.current(cluster_id)
            cluster, node_id = (node.cluster, node.cluster_id) if node else (source.cluster, "")
            mine = [lane for lane in order.lanes if lane.source.cluster == cluster_id]
            for small in (False, True):
                lanes = [lane for lane in mine if (lane.batch_limit is not None) == small]
                if not lanes:
                    continue
                consumer = kind(
                    cluster, cluster_id, lanes, group, order.slice.mirror, self._fetching.limits, node_id
                )
                consumer.on_trouble = self._nodes.on_trouble(cluster_id)
                consumer.gone = self._nodes.gone(cluster_id)
                group = None  # one of them advances the consumer group, for both
                consumer.connect_early()
                self._partitions.consumers.append(consumer)
                if small:
                    more = added_bytes(
                        origin=order.provenance is not None, times=order.produce.timings == "headers"
                    )
                    self._flow.small.append(SmallBatches(consumer, self._producer, more))
        # Start from what the driver has read of the ledger; after a failure trust only the ledger itself.
        seen = order.seen if not self._task.restarts else None
        ledger = LedgerReader(order.destination, order.slice.mirror, [CONTROL, order.shard], seen)
        self._ledger = ledger
        return ledger

    def _fence(self, ledger: LedgerReader) -> None:
        """Step 1. Before it, let the shard's task of the slice before end its last transaction."""
        if self._order.after is not None and not self._task.restarts:
            let_end(self._order, ledger, ending_seconds(self._order))
        failpoint.reach("before-fence")
        self._producer.fence()

    def _read_ledger(self, ledger: LedgerReader) -> None:
        """Step 2: read lease and positions, check them, and end transactions that brokers left open."""
        order, destination, task = self._order, self._destination, self._task
        find_ledger(order, destination, task)
        check_rights(order, destination, task)
        hanging = find_hanging(order, destination, task)
        state = ledger.read_to_end(LEDGER_SECONDS)
        check_lease(order, state)
        read = own_positions(order, state)
        check_reached(order, read, task)
        if self._schemas is not None:
            self._schemas.learn(state)
        task.positions = read
        self._partitions.start_from(read, state.stopped, hanging.unseen)
        self._partitions.records += end_hanging(order, destination, hanging, read, state.hidden, task)
        if task.restarts or order.after is None:  # else the slice before has ended in order
            check_last_visible(order, destination, hanging, read)
        if self._partitions.records:
            self._commit()  # the ledger lists hidden records before anything is produced after them
        ledger.follow(CONTROL)

    def _outcome(self, ledger: LedgerReader) -> Outcome | None:
        """How the order ends, if it ends now. Raises Superseded where a newer lease exists."""
        ledger.poll(0)
        check_lease(self._order, ledger.state)
        if self._schemas is not None and self._schemas.learn(ledger.state):
            self._partitions.on_new_schemas()
        cut, slice_id = ledger.state.cut, self._order.slice
        if cut is not None and cut.lease == slice_id.lease and cut.slice >= slice_id.number:
            return "cut"
        if self._ends_at is not None:
            return "done" if time.monotonic() >= self._ends_at else None
        if self._partitions.waiting:
            return None
        return "done" if self._partitions.done else None

    def _commit_if_due(self, step: Step | None = None) -> None:
        """Step 4, if the transaction is full, nothing more came, or there is something else to commit."""
        if self._producer.open:
            if step is None or self._flow.full or step.failed or not step.records:
                self._commit()
        elif (step is not None and step.failed) or self._has_more_to_commit():
            self._commit()

    def _has_more_to_commit(self) -> bool:
        """Whether to commit although nothing was produced.

        Transaction markers and aborted records at the end of a log move the position too: otherwise it would
        look like a loss when retention deletes them. Once a second is enough for that.
        """
        if self._committer.due or self._partitions.records or self._partitions.needs_schemas:
            return True
        now = time.monotonic()
        if now < self._look_for_advance_at:
            return False
        self._look_for_advance_at = now + QUIET_SECONDS
        return self._partitions.advanced

    def _after_step(self, step: Step) -> None:
        for consumer, failed in step.failed:
            self._partitions.fail(consumer, failed)
        if self._fetching.changed():
            self._commit()
            self._partitions.wait_all()
            self._fetching.renew(self._partitions.consumers)

    def _commit(self, *, final: bool = False) -> None:
        partitions, producer = self._partitions, self._producer
        partitions.before_commit()
        records, size = producer.records, producer.size
        flushed = self._committer.commit(
            partitions.open.values(),
            partitions.records,
            partitions.views,
            partitions.fetched_ids,
            final=final,
        )
        partitions.after_commit()
        self._flow.acknowledged()
        if records and (self._task.single or self._task.one_at_a_time):
            self._transactions_isolating += 1
            if self._transactions_isolating >= CLOSE_LOOKS:
                self._task.single = self._task.one_at_a_time = False
                raise Again("no record was rejected again: back to full speed")
        self._flow.committed(records, size, flushed)
        partitions.advance_groups(final=final)


def record_inspection(order: TaskOrder) -> str:
    """What inspects or changes each record; an empty string if nothing does."""
    inspecting = ["filters"] if order.filters else []
    if order.provenance is not None:
        inspecting.append("provenance marks")
    if order.produce.timings == "headers":
        inspecting.append("timings in headers")
    return " and ".join(inspecting)


def _producer(
    order: TaskOrder, task: TaskState, chosen: Carrier, schemas: SchemaIds | None
) -> DestinationProducer:
    exactly_once = order.produce.delivery == "exactly-once"
    return DestinationProducer(
        order.destination,
        order.limits,
        order.produce.compression,
        Transaction(order.transactional_id) if exactly_once else AtLeastOnce(),
        partitioner=order.produce.partitioner,
        single=task.single,
        kind=chosen.producer,
        schemas=schemas,
    )
