"""Tick: one check of both sides while a mirror runs.

The destination has the ledger: positions, heartbeats and events of the shards, the lease, pause requests.
The sources have the log ends, and topics that change.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from causeway.core.clock import now_ms
from causeway.core.ledger_record import (
    Event,
    Gap,
    Heartbeat,
    LedgerRecord,
    NodeMoved,
    NodeRequest,
    NodeRequestDone,
    Paused,
    Stopped,
)
from causeway.core.offsets import describe_gap
from causeway.core.route import BY_KEY
from causeway.errors import AccessDenied, CausewayError, IntegrityError, PlanRefused, Superseded, Unreachable
from causeway.kafka.task_errors import Again
from causeway.replication.cut_reason import CutCause, CutReason
from causeway.replication.event_log import level
from causeway.replication.liveness import Liveness
from causeway.replication.mirror_setup import MirrorSetup
from causeway.replication.mirror_state import WAITING, MirrorState, Side
from causeway.replication.preparation import Prepared
from causeway.replication.replanning import Planner
from causeway.replication.schema_copying import SchemaCopying
from causeway.replication.timers import Timers
from causeway.rules.sharding import shard_of
from causeway.rules.timings import timings_topic

LOG_ENDS_SECONDS = 1.0
MEASURE_SECONDS = 0.5
SILENT_SECONDS = 15.0
MISSED_SECONDS = 5.0
WAITING_SECONDS = 30.0

Checked = TypeVar("Checked")


_OUTCOMES = {"moved": "reading from", "unchanged": "still reading from", "refused": "refused, reading from"}


@dataclass(frozen=True, slots=True)
class PauseRequest:
    paused: bool  # pause, or resume
    by: str


class Ticker:
    def __init__(
        self,
        setup: MirrorSetup,
        prepared: Prepared,
        planner: Planner,
        state: MirrorState,
        liveness: Liveness,
        requests: deque[PauseRequest | NodeRequest],
        schemas: SchemaCopying | None = None,
    ) -> None:
        self._setup = setup
        self._prepared = prepared
        self._ledger = prepared.ledger
        self._planner = planner
        self._state = state
        self._events = state.events
        self._liveness = liveness
        self._requests = requests
        self._schemas = schemas
        self._timers = Timers()

    def tick(self, seconds: float, *, leaving: bool = False) -> CutReason | None:
        """Check both sides once; returns why the slice must be cut short, if it must.

        Each side is checked whether or not the other one responds: heartbeats continue without a source, and
        the lag is measured while the destination is unavailable. A slice that is `leaving` needs no source,
        and a source that does not respond would delay it for seconds. Raises Superseded when a newer instance
        holds the lease.
        """
        if not leaving:
            self._check_in_sync()  # it may take seconds, so heartbeats are read after it
        self._check("destination", partial(self._check_destination, seconds))
        if leaving:
            return None
        return self._check("source", self._check_sources) or self._silent_shard()

    def _check(self, side: Side, check: Callable[[], Checked]) -> Checked | None:
        """Check one side. If it does not respond, the mirror waits for it; other errors are raised.

        A pool responds as long as one of its nodes does.
        """
        try:
            try:
                return check()
            except (Unreachable, AccessDenied) as error:
                if not self._setup.next_node(error.cluster):
                    raise
                return check()
        except (Superseded, PlanRefused):
            raise
        except IntegrityError:
            with contextlib.suppress(Again, Unreachable):
                # A replaced ledger topic is the cause to report, whatever else failed.
                self._ledger.check_topic(self._setup.destination)
            raise
        except (Again, CausewayError) as error:
            if self._timers.due("waiting", WAITING_SECONDS) or not self._state.waits_because_of(error):
                missing = "access" if isinstance(error, AccessDenied) else "a response"
                self._events.report("warning", f"waiting for {missing}: {error}")
            self._state.wait_for(side, error.cluster, error)
            return None

    def _check_destination(self, seconds: float) -> None:
        for record in self._ledger.reader.poll(seconds):
            self.apply(record)
        self._ledger.check_lease(self._setup.name)
        self._execute_requests()
        if self._schemas is not None:
            self._schemas.settle(self._ledger, self._planner.plan)
            self._state.schema_waits = self._schemas.waiting
        if self._timers.due("measure", MEASURE_SECONDS):
            self.measure()
        if self._timers.due("heartbeat", self._setup.mirror.heartbeat):
            self._ledger.check_topic(self._setup.destination)
            self._setup.control.heartbeat(self._state.slice_number)
            self._events.report_all("warning", self._setup.control.notices)
            self._state.responded("destination")

    def _check_sources(self) -> CutReason | None:
        # First: a node that was away at the start may be the only one that responds now.
        if changed := self._state.pools.settle(self._ledger, self._events):
            return CutReason(CutCause.NODES_CHANGED, changed)
        if self._timers.due("log ends", LOG_ENDS_SECONDS):
            self._state.fetch_log_ends(self._ledger.state)
            if not self._wait_for_pool():
                self._state.responded("source")
        if self._ledger.paused_by:
            return CutReason(CutCause.PAUSED)
        if self._state.current != WAITING and self._timers.due("topics", self._setup.mirror.refresh):
            starting = self._state.slice_number == 0
            if self._planner.changed(self._ledger, starting=starting):
                return CutReason(CutCause.TOPICS_CHANGED)
        return None

    def _wait_for_pool(self) -> bool:
        """Wait if no node of a pool can be read from, although some respond; returns whether that is so."""
        pool = self._state.pools.without_node
        if pool is None:
            return False
        if self._state.current != WAITING:
            self._events.report("warning", pool.no_node)
        self._state.wait_for("source", pool.name)
        return True

    def apply(self, record: LedgerRecord) -> None:
        """Report and display what a record of the ledger says."""
        match record:
            case Event():
                self._events.report(level(record.level), record.what, shard=record.shard, at=record.at)
                if record.level != "info":
                    self._liveness.on_warning(record.shard, record.what, why_silent=record.uncommitted)
            case Stopped(verdict=verdict) if verdict:
                self._events.report_stopped(record)
            case Gap():
                what = f"{record.source}: {describe_gap(record)}"
                self._events.report_once("error", what, source=record.source, offset=record.begin)
            case NodeMoved():
                self._state.pools.apply(record, self._state.slice_number)
            case NodeRequestDone():
                what = f"pool {record.pool}: {_OUTCOMES[record.outcome]} {record.node}: {record.what}"
                self._events.report("info", what, shard=record.shard, at=record.at)
            case Heartbeat(shard=shard) if shard and record.lease == self._prepared.run.lease:
                self._liveness.on_heartbeat(shard, record.slice, record.age_ms / 1_000)
                self._events.report_once("info", f"carrier: {record.carrier}")
                if self._state.heartbeat(record):
                    self.measure()  # show the heartbeats before the state that follows from them
                    self._state.settle("running")

    def measure(self) -> None:
        self._state.measure(self._ledger.state, self._prepared.run.shards, self._prepared.until)

    def _execute_requests(self) -> None:
        while self._requests:
            request = self._requests[0]
            if isinstance(request, NodeRequest):
                self._ledger.record([request])
                wanted = request.node or "the next fit node"
                self._events.report("info", f"pool {request.pool}: {wanted} requested by {request.by}")
            elif request.paused != bool(self._ledger.paused_by):
                self._ledger.record([Paused(request.by if request.paused else "", now_ms())])
                done = "paused" if request.paused else "resumed"
                self._events.report("info", f"{done} by {request.by}")
            self._requests.popleft()  # only now: if the destination does not respond, the next tick retries

    def _check_in_sync(self) -> None:
        """While shards commit nothing: check for too few in-sync replicas, which no client reports."""
        state, liveness, plan = self._state, self._liveness, self._planner.plan
        missed = liveness.missed(max(MISSED_SECONDS, 2 * self._setup.mirror.heartbeat))
        stuck = state.waits_for("destination") or (missed and state.current != "paused")
        if state.in_sync.watch(stuck, plan.places | plan.timings):
            state.publish()
        if short := state.in_sync.short:
            lanes = [
                lane
                for lane in plan.lanes
                if short.holds_up(lane.place.topic, lane.place.partition)
                or short.holds_up(timings_topic(lane.source.topic, lane.place.topic), BY_KEY)
            ]
            shards = self._prepared.run.shards
            liveness.excuse({shard_of(lane.source, shards) for lane in lanes})

    def _silent_shard(self) -> CutReason | None:
        # A live shard is silent during a flush and a commit, neither of which outlasts a transaction, or
        # while a cluster does not respond to its requests.
        mirror, state, liveness = self._setup.mirror, self._state, self._liveness
        patience = max(SILENT_SECONDS, 2 * mirror.transaction_timeout, 5 * mirror.heartbeat)
        hidden = state.in_sync.hides_heartbeats and not liveness.long_silent
        if hidden or state.current not in ("starting", "running"):
            liveness.excuse_all()  # no shard can write a heartbeat while the destination rejects it
            return None
        shard = liveness.silent(patience)
        if shard is None:
            return None
        warning = liveness.last_warning(shard)
        said = f" (its last warning: {warning})" if warning else ""
        return CutReason(CutCause.NO_HEARTBEAT, f"no heartbeat from shard {shard} for {patience:.0f} s{said}")
