"""The partitions of a shard during an attempt: waiting, open or stopped, and what the ledger gets to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from causeway.core.clock import now_ms
from causeway.core.ledger_record import LedgerRecord, NeededSchemas, Stopped
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import TaskOrder
from causeway.core.topic import Spot
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.polled import FailedPartition
from causeway.kafka.schema_ids import SchemaIds
from causeway.kafka.source_consumer import OtherCluster, SourceConsumer
from causeway.replication.worker.hanging_transactions import must_be_checked
from causeway.replication.worker.partition_start import PartitionStarts, lost_on_node, open_lanes, stopped
from causeway.replication.worker.source_checks import is_cut_off
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState
from causeway.rules.unreadable import unread


class ShardPartitions:
    def __init__(
        self,
        order: TaskOrder,
        task: TaskState,
        destination: ClusterView,
        nodes: SourceNodes,
        schemas: SchemaIds | None,
    ) -> None:
        self._order = order
        self._task = task
        self._nodes = nodes
        self._destination = destination
        self.consumers: list[SourceConsumer] = []
        self.open: dict[SourcePartition, PartitionState] = {}
        self.positions: dict[SourcePartition, Position] = {}  # as committed
        self.records: list[LedgerRecord] = []  # for the ledger, in the next transaction
        self._stopped_before: dict[SourcePartition, Stopped] = {}
        # Ledger records that clear a stop, once the partition has proved that it can go on.
        self._doubtful: dict[SourcePartition, list[LedgerRecord]] = {}
        self._unchecked: set[Spot] = set()  # places not checked for open transactions
        self._schemas = schemas
        self._for_schemas: dict[
            SourcePartition, tuple[SourceConsumer, PartitionState]
        ] = {}  # closed, waiting

    def start_from(
        self,
        positions: dict[SourcePartition, Position],
        stopped_before: Mapping[SourcePartition, Stopped],
        unchecked: set[Spot],
    ) -> None:
        """Start from what the ledger and the destination show after the fence.

        `positions` are the task's own, and kept up to date: the next attempt must find them in the ledger.
        """
        self.positions = positions
        self._stopped_before = dict(stopped_before)
        self._unchecked = unchecked

    @property
    def views(self) -> dict[str, ClusterView]:
        """The sources, by cluster id."""
        return {consumer.cluster_id: consumer.view for consumer in self.consumers}

    @property
    def readable(self) -> list[SourceConsumer]:
        """The consumers to poll: not those of a pool that waits for another node."""
        return [consumer for consumer in self.consumers if self._nodes.readable(consumer.cluster_id)]

    @property
    def fetched_ids(self) -> list[tuple[str, dict[str, list[str]]]]:
        """Topic ids that each consumer fetched by since the last commit, with its cluster id."""
        return [(consumer.cluster_id, consumer.topic_ids) for consumer in self.consumers]

    @property
    def waiting(self) -> bool:
        """Whether partitions wait to be opened."""
        return bool(self._for_schemas) or any(consumer.waiting for consumer in self.consumers)

    @property
    def done(self) -> bool:
        """Whether an order with an end is fulfilled for all open partitions."""
        return all(state.done for state in self.open.values())

    @property
    def advanced(self) -> bool:
        """Whether a commit would move a position, or decide about a partition."""
        return any(state.absent or state.next > state.position.offset for state in self.open.values())

    @property
    def needs_schemas(self) -> bool:
        """Whether a partition must wait for schemas, and the ledger does not say so yet."""
        return self._schemas is not None and any(state.waits_for_schemas for state in self.open.values())

    def on_new_schemas(self) -> None:
        """Open the partitions again that have the schemas now that they waited for."""
        assert self._schemas is not None
        for source, (consumer, state) in list(self._for_schemas.items()):
            if self._schemas.knows(state.schemas_needed):
                del self._for_schemas[source]
                consumer.reopen(state.lane)

    def open_waiting(self, commit: Callable[[], None]) -> None:
        """Open the partitions that wait and are due."""
        for consumer in self.consumers:
            if consumer.due() and self._nodes.readable(consumer.cluster_id):
                self._open(consumer, commit)

    def _open(self, consumer: SourceConsumer, commit: Callable[[], None]) -> None:
        """Open the waiting partitions of one source; if it does not respond, retry later."""
        try:
            starts = open_lanes(
                self._order, consumer, self._destination, self.positions, self._stopped_before, self._task
            )
        except OtherCluster as error:
            if consumer.node:
                raise self._nodes.rejected(consumer.cluster_id, str(error)) from None
            self._retry_later(consumer, error)
            return
        except CausewayError as error:
            self._retry_later(consumer, error)
            return
        self._nodes.refuse(consumer.cluster_id, starts.lost, self.positions)
        if starts.lost and self._nodes.may_return(consumer.cluster_id):
            self._retry_later(consumer, CausewayError(starts.lost))
            return
        self._accept(consumer, starts, commit)

    def _retry_later(self, consumer: SourceConsumer, error: CausewayError) -> None:
        if str(error) != consumer.trouble:
            self._task.add_event("warning", f'source "{consumer.cluster.alias}" cannot be read: {error}')
        consumer.postpone(str(error))

    def _accept(self, consumer: SourceConsumer, starts: PartitionStarts, commit: Callable[[], None]) -> None:
        """Assign the partitions that may go on, once the ledger has their first positions."""
        self.records += starts.records
        if self.records:
            commit()  # a first position is in the ledger before the first fetch
        must_be_checked((state.lane.place for state in starts.lanes), self._unchecked)
        for source in starts.closed:
            consumer.waiting.pop(source)
        self.open.update({state.lane.source: state for state in starts.lanes})
        self._doubtful.update(starts.doubtful)
        consumer.assign(starts.lanes)
        if consumer.waiting:
            consumer.postpone("partitions without a leader")

    def wait_all(self) -> None:
        """All partitions wait to be opened again: their consumers are about to be replaced."""
        self.open.clear()

    def renew_outdated(self, commit: Callable[[], None]) -> None:
        """Replace consumers that their source refuses, where there are other secrets to try."""
        for consumer in self.consumers:
            if consumer.outdated:
                commit()
                for state in consumer.open.values():
                    self.open.pop(state.lane.source, None)
                consumer.renew(consumer.limits)
                self._task.add_event(
                    "info", f'source "{consumer.cluster.alias}": connecting again with changed secrets'
                )

    def fail(self, consumer: SourceConsumer, failed: FailedPartition) -> None:
        """A partition failed: judge it again soon. Call it after a commit: then its position is current."""
        state, task = failed.state, self._task
        source = state.lane.source
        if state.finding is not None:
            return  # it stopped before it reached the failure
        self.open.pop(source, None)
        if failed.truncated:
            task.truncated[source] = failed.why
        if failed.corrupt:
            offset = state.position.offset
            task.unreadable[source] = unread(task.unreadable.get(source), offset, failed.why)
        consumer.drop(state, wait=True)
        consumer.postpone(f"{source}: {failed.why}")
        task.add_event("warning", f"{source} at offset {state.next}: {failed.why}")

    def before_commit(self) -> None:
        """Decide which partitions stop, or go on again, with this commit; their ledger records go with it."""
        for source in [source for source in self._doubtful if self._goes_on(source)]:
            cleared = self._doubtful.pop(source)
            if self.open[source].finding is None:
                self.records += cleared
                del self._stopped_before[source]  # when it is opened again, it has no verdict
        for consumer in self.consumers:
            for state in list(consumer.open.values()):
                if state.absent and not self._is_cut_off(consumer, state):
                    del self.open[state.lane.source]
                    consumer.drop(state, wait=True)
                elif state.waits_for_schemas:
                    self.records.append(_needed(state))
                    self._for_schemas[state.lane.source] = consumer, state
                    consumer.drop(state, wait=False)
                elif state.finding is not None:
                    self._nodes.refuse(consumer.cluster_id, lost_on_node(state.finding), self.positions)
                    self.records.append(stopped(self._order, state.lane, state.finding, state.position))
                    self._task.stopped[state.lane.source] = state.finding
                    consumer.drop(state, wait=False)

    def after_commit(self) -> None:
        for consumer in self.consumers:
            consumer.committed()
        self.records = []
        self.positions.update({source: state.position for source, state in self.open.items()})
        for source in [source for source, state in self.open.items() if state.finding is not None]:
            del self.open[source]

    def advance_groups(self, *, final: bool) -> None:
        """Commit the positions to the consumer groups of the sources, for lag tools (invariant E)."""
        for consumer in self.consumers:
            committed = [
                position
                for position in self.positions.values()
                if position.source.cluster == consumer.cluster_id
            ]
            self._task.group_commits += consumer.advance_group(committed, final=final)

    def _is_cut_off(self, consumer: SourceConsumer, state: PartitionState) -> bool:
        """Ask the source before the verdict; if it does not respond, open the partition again later."""
        try:
            return is_cut_off(consumer.view, state, self._task)
        except CausewayError as error:
            consumer.postpone(f"{state.lane.source}: {error}")
            return False

    def _goes_on(self, source: SourcePartition) -> bool:
        """Whether a partition stopped as truncated or corrupt has proved that it can go on."""
        state = self.open.get(source)
        if state is None:
            return False
        return state.read if self._stopped_before[source].verdict == "corrupt" else state.recognized


def _needed(state: PartitionState) -> NeededSchemas:
    schemas = tuple((use.part, use.id) for use in state.schemas_needed)
    return NeededSchemas(*state.lane.source, state.schemas_needed_at, schemas, now_ms())
