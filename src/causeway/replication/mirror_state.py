"""State: what is displayed of a mirror, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from causeway.core.clock import now_ms
from causeway.core.ledger_record import Heartbeat
from causeway.core.position import SourcePartition
from causeway.core.snapshot import ENDED, MirrorView, State
from causeway.errors import AccessDenied
from causeway.replication.event_log import EventLog
from causeway.replication.in_sync import InSync
from causeway.replication.mirror_setup import MirrorSetup
from causeway.replication.pools import Pools
from causeway.replication.replanning import Planner
from causeway.replication.status import Status
from causeway.replication.timers import Timers
from causeway.rules.ledger_state import LedgerState

WAITING: State = "waiting"
LOG_STARTS_SECONDS = 10.0
NO_NODE_TODO = (
    "bring back a node that has the mirror's positions: the table of pools shows what each one lacks"
)

Side = Literal["source", "destination"]


class MirrorState:
    def __init__(self, setup: MirrorSetup, planner: Planner, events: EventLog, configuration: str) -> None:
        self._setup = setup
        self._planner = planner
        self._configuration = configuration
        self.events = events
        self.pools = Pools(setup.sources.values())
        self.in_sync = InSync(setup.mirror, setup.destination, events)
        self.slice_number = 0  # of the newest orders; 0 before the first
        self.current: State = "starting"
        self._since = now_ms()
        self._otherwise: State = "starting"  # the state to return to when all clusters respond
        self._waiting_for: tuple[Side, str] | None = None  # the side and the cluster that do not respond
        self._denied: AccessDenied | None = None  # how that cluster refuses this mirror, if it responds
        self._ordered: frozenset[int] | None = None  # shards of the newest orders; None before the first
        self._reported = False  # whether each of them sent a heartbeat under this lease
        self.schema_waits: Mapping[SourcePartition, str] = {}  # why partitions wait for schemas
        self._timers = Timers()
        self.status = Status(self._own_view())

    def settle(self, state: State) -> None:
        """Set the displayed state; `waiting` clears only when the cluster responds.

        A mirror is `running` once every shard of its orders has sent a heartbeat under this lease: before
        that nothing shows that any of them replicates.
        """
        if state == "running" and not self._all_reported():
            state = "starting"
        if state in ("starting", "running", "paused"):
            self._otherwise = state
            # A short run may read its shards' first heartbeats after its end.
            if self.current == WAITING or self.current in ENDED:
                return
        if state != self.current:
            self._change(state)
            self.publish()

    def wait_for(self, side: Side, cluster: str, error: Exception | None = None) -> None:
        """A cluster does not respond. `cluster` is its alias; empty if the error does not name it.

        Planning queries both sides, so the cluster may be on the other one. The node of a pool stands for the
        pool: no other node responds either.
        """
        cluster = self.pools.pool_of(cluster) or cluster
        destination = self._setup.destination.cluster.alias
        if cluster == destination:
            side = "destination"
        shown = cluster or (destination if side == "destination" else "a source")
        if self._waiting_for != (side, shown) or not self.waits_because_of(error):
            self._waiting_for = (side, shown)
            self._denied = error if isinstance(error, AccessDenied) else None
            if self.current != WAITING:
                self._change(WAITING)
            self.publish()

    def waits_because_of(self, error: Exception | None) -> bool:
        """Whether the mirror waits already, and this error is nothing new."""
        denied = error if isinstance(error, AccessDenied) else None
        return self.current == WAITING and str(denied) == str(self._denied)

    def waits_for(self, side: Side) -> bool:
        return self.current == WAITING and self._waiting_for is not None and self._waiting_for[0] == side

    def responded(self, side: Side) -> None:
        """A whole check of this side succeeded: return to the state from before, if it was waited for."""
        if self.waits_for(side):
            self._waiting_for = self._denied = None
            self._change(self._otherwise)
            self.events.report("info", f"the {side} responds again")
            self.publish()

    def _change(self, state: State) -> None:
        self.current, self._since = state, now_ms()

    def ordered(self, shards: Collection[int]) -> None:
        """These shards have got orders."""
        self._ordered = frozenset(shards)

    def heartbeat(self, beat: Heartbeat) -> bool:
        """Count a shard's heartbeat; returns whether a starting mirror may be shown as running now."""
        self.status.shards.apply(beat)
        return self._otherwise == "starting" and self._all_reported()

    def _all_reported(self) -> bool:
        """Whether every ordered shard has sent a heartbeat once; `Liveness` detects later silence."""
        all_now = self._ordered is not None and self._ordered <= self.status.shards.last.keys()
        self._reported = self._reported or all_now
        return self._reported

    def publish(self) -> None:
        """Publish the driver's own state at once, without waiting for the next measurement."""
        self.status.update_state(self._own_view())

    def measure(self, image: LedgerState, shards: int, until: Mapping[SourcePartition, int] | None) -> None:
        """Publish a complete view: the ledger compared with the log ends."""
        planner = self._planner
        self.pools.measure(image, planner.plan, shards, self.status.shards.last)
        self.status.measure(
            self._own_view(),
            planner.plan.lanes,
            planner.refused(),
            image,
            self._setup.aliases(),
            shards,
            until,
            self.schema_waits,
        )

    def fetch_log_ends(self, image: LedgerState) -> None:
        """Fetch the log ends of the source partitions, and from time to time the log starts."""
        self.status.fetch_log_ends(
            self._setup.sources,
            [*self._planner.sources(), *self._planner.refused()],
            image,
            starts=self._timers.due("log starts", LOG_STARTS_SECONDS),
        )

    def _why_waiting(self) -> tuple[str, str]:
        """Why the mirror waits although a cluster responds, and what to do.

        A cluster refuses it, or none of a pool's nodes can be read from.
        """
        pool = self.pools.without_node
        if self.current != WAITING or self._waiting_for is None:
            return "", ""
        if self._denied is not None:
            return str(self._denied), self._denied.todo
        if pool is not None and self._waiting_for[1] == pool.name:
            return pool.no_node, NO_NODE_TODO
        return "", ""

    def _own_view(self) -> MirrorView:
        """The part of the view that only the driver knows."""
        setup, short = self._setup, self.in_sync.short
        waiting = self._waiting_for if self.current == WAITING else None
        waiting_why, waiting_todo = self._why_waiting()
        return MirrorView(
            name=setup.name,
            state=self.current,
            state_since=self._since,
            sources=tuple(setup.sources),
            destination=setup.destination.cluster.alias,
            delivery=setup.mirror.delivery,
            lease=setup.control.lease,
            slice=self.slice_number,
            partitions=(),
            shards=(),
            events=self.events.kept,
            gaps=(),
            waiting_for=waiting[1] if waiting else "",
            waiting_why=waiting_why,
            waiting_todo=waiting_todo,
            blocked=short.what if short else "",
            blocked_todo=short.todo if short else "",
            unmatched=self._planner.plan.unmatched,
            pools=self.pools.shown,
            configuration=self._configuration,
        )
