"""The driver of one mirror: it holds the lease, makes the plan and the orders, and watches the running slice.

It never handles records. It learns what the shards do from the ledger, which they write. Its parts:

    preparation.py    everything before the first slice
    tick.py           one check of both sides
    mirror_state.py   what is displayed, and why
    replanning.py     the plan, and when it changes
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from causeway.config import MirrorSettings, Settings
from causeway.config.effective import effective
from causeway.core.ledger_record import NodeRequest, Stopped
from causeway.core.snapshot import State
from causeway.core.task_order import TaskOrder
from causeway.errors import CausewayError
from causeway.kafka.lease import finish_transactions
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import limits_of
from causeway.planning.routing import KnownEdge, Neighbours, Selection, selection_of
from causeway.planning.task_assignment import make_orders
from causeway.replication.cut_reason import CutReason
from causeway.replication.event_log import EventLog, SayEvent
from causeway.replication.liveness import Liveness
from causeway.replication.mirror_setup import MirrorSetup, schema_copying
from causeway.replication.mirror_state import MirrorState
from causeway.replication.preparation import Prepared, prepare
from causeway.replication.replanning import Planner
from causeway.replication.schema_copying import SchemaCopying
from causeway.replication.tick import PauseRequest, Ticker

FINISH_SECONDS = 5.0


class Driver:
    def __init__(self, settings: Settings, mirror: MirrorSettings, stop_at_end: bool, say: SayEvent) -> None:
        self.mirror = mirror
        self.name = mirror.name
        self.stop_at_end = stop_at_end
        self.liveness = Liveness()
        events = EventLog(mirror.name, say)
        self.report = events.report
        self._setup = MirrorSetup.of(settings, mirror, stop_at_end)
        self._planner = Planner(self._setup, events)
        self._state = MirrorState(self._setup, self._planner, events, effective(settings, mirror))
        self.status = self._state.status
        self.settle = self._state.settle
        self.publish = self._state.publish
        self._requests: deque[PauseRequest | NodeRequest] = deque()  # from other threads
        self._prepared: Prepared | None = None
        self._schemas: SchemaCopying | None = None
        self._ticker: Ticker | None = None

    def prepare(self, cores: int) -> None:
        """Do everything before the first slice. Raises an error if a cluster does not respond."""
        self._prepared = prepare(self._setup, self._planner, self._state, cores)
        self._schemas = schema_copying(self._setup, self._state.events)
        self._ticker = Ticker(
            self._setup,
            self._prepared,
            self._planner,
            self._state,
            self.liveness,
            self._requests,
            self._schemas,
        )

    @property
    def _ready(self) -> Prepared:
        assert self._prepared is not None, "not prepared"
        return self._prepared

    @property
    def state(self) -> State:
        return self._state.current

    @property
    def shards(self) -> int:
        return self._ready.run.shards

    @property
    def fulfilled(self) -> bool:
        """With --stop-at-end: whether nothing is left to replicate or to judge."""
        return self._ready.fulfilled

    @property
    def slice_number(self) -> int:
        return self._state.slice_number

    @property
    def edges(self) -> list[KnownEdge]:
        return self._planner.edges

    def know_others(self, others: Callable[[], Neighbours]) -> None:
        """Plan with regard to the other mirrors of this process."""
        self._planner.others = others

    def selection(self) -> Selection:
        """What this mirror's settings select. The cluster ids must be known."""
        return selection_of(self.mirror, self._setup.sources, self._setup.destination)

    def orders(self, after: int | None = None) -> list[TaskOrder]:
        """Make the next slice's orders, which Spark may get before the slice `after` has ended.

        Shards without a partition get no order.
        """
        self._state.slice_number += 1
        reader = self._ready.ledger.reader
        orders = make_orders(
            replace(self._ready.run, sources=self._setup.source_clusters()),
            self._planner.plan,
            self._state.slice_number,
            positions=reader.state.positions,
            seen=reader.seen,
            until=self._ready.until,
            after=after,
            nodes={shard: beat.nodes for shard, beat in reader.state.heartbeats.items()},
            executed=reader.state.executed_requests,
        )
        self._state.ordered({order.shard for order in orders})
        return orders

    def tick(self, seconds: float, *, leaving: bool = False) -> CutReason | None:
        """Check both sides once; returns why the slice must be cut short, if it must."""
        assert self._ticker is not None, "not prepared"
        return self._ticker.tick(seconds, leaving=leaving)

    def cut(self, reason: CutReason) -> None:
        self._setup.control.cut(self._state.slice_number, str(reason))

    @property
    def paused(self) -> bool:
        """Whether a pause was requested. The mirror is paused once its slice has ended."""
        return bool(self._ready.ledger.paused_by)

    def request(self, paused: bool, by: str) -> None:
        """Request a pause or a resume, in the name of `by`. From any thread; the next tick executes it."""
        self._requests.append(PauseRequest(paused, by))

    @property
    def pools(self) -> dict[str, list[str]]:
        """The source pools and their nodes, by name."""
        return self._state.pools.nodes

    def request_node(self, request: NodeRequest) -> None:
        """Request another node of a source pool. From any thread; the next tick writes it to the ledger."""
        self._requests.append(request)

    def finish(self) -> None:
        """After the last slice: end open transactions on the destination, and read the ledger to its end."""
        assert self._ticker is not None, "not prepared"
        ledger, destination = self._ready.ledger, self._setup.destination.cluster
        try:
            # First: an open transaction of a cancelled shard would hide the ledger's last records.
            if self.mirror.delivery == "exactly-once":
                finish_transactions(destination, self.name, self.shards, limits_of(self.mirror))
            # Every record is reported: a short run's only events may be among the last ones.
            for record in ledger.reader.records_to_end(FINISH_SECONDS):
                self._ticker.apply(record)
            self.status.update_positions(ledger.state)
            self._ticker.measure()
        except (Again, Fenced, CausewayError) as error:
            timeout = self.mirror.transaction_timeout
            self.report(
                "warning",
                f"transactions could not be ended ({error}); the brokers end them within {timeout:.0f} s",
            )
        finally:
            self.leave()

    def leave(self) -> None:
        """Close the clients, also if `prepare` failed; the ledger state that was read stays available."""
        self._state.pools.close()
        if self._schemas is not None:
            self._schemas.close()
        self._setup.control.close()
        if self._prepared is not None:
            self._prepared.ledger.close()

    def stopped(self) -> list[Stopped]:
        """Partitions of the plan that are stopped until an operator acts."""
        known = self._ready.ledger.state.stopped
        planned = set(self._planner.sources()) if known else set()
        return [record for source, record in sorted(known.items()) if source in planned]
