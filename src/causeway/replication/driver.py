"""The driver of one mirror: it holds the lease, makes the plan and the orders, and watches the running slice.

It never handles records. It learns what the shards do from the ledger, which they write. `prepare` fails if
a cluster does not respond; after that the driver waits for the cluster.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from causeway.config import MirrorSettings, Settings
from causeway.config.effective import effective
from causeway.core.clock import now_ms
from causeway.core.ledger_record import (
    CONTROL,
    CreatedTopic,
    Event,
    Gap,
    Heartbeat,
    LedgerRecord,
    Paused,
    Stopped,
)
from causeway.core.offsets import describe_gap, when
from causeway.core.plan import Plan, Refusal
from causeway.core.position import SourcePartition
from causeway.core.route import ClusterTopic
from causeway.core.snapshot import ENDED, MirrorView, State
from causeway.core.task_order import TaskOrder
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Superseded, Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.lease import Control, finish_transactions
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_topics import check_ledger, ensure_topics
from causeway.kafka.log_ends import all_there, ends_of_now
from causeway.kafka.quarantine import ensure_quarantine
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning import filters
from causeway.planning.clusters import cluster_of, filters_of, limits_of, shards_of
from causeway.planning.plan import plan_of, prepare, survey
from causeway.planning.route_conflicts import refuse_claimed
from causeway.planning.routing import KnownEdge, Neighbours, Selection, edges, selection_of
from causeway.planning.starts import first_positions, met_later, wanted_starts
from causeway.planning.task_assignment import MirrorRun, make_orders
from causeway.planning.topology import UNKNOWN, refused, shape_of, stamped_since
from causeway.replication.event_log import EventLog, SayEvent, level
from causeway.replication.in_sync import InSync
from causeway.replication.ledger_consistency import refuse_older
from causeway.replication.liveness import Liveness
from causeway.replication.start_checks import refuse_at_start, refuse_paused, refuse_timeout, refuse_twins
from causeway.replication.status import Status
from causeway.rules.sharding import shard_of

ENDS_SECONDS = 1.0
STARTS_SECONDS = 10.0
SILENT_SECONDS = 15.0
LEDGER_SECONDS = 60.0
FINISH_SECONDS = 5.0
PROGRESS_SECONDS = 0.5
WAITING: State = "waiting"
NO_HEARTBEAT = "no heartbeat from"
NOT_PREPARED = "the mirror could not be prepared"
WAITING_SECONDS = 30.0
UNHEARD_SECONDS = 5.0


class Driver:
    def __init__(self, settings: Settings, mirror: MirrorSettings, stop_at_end: bool, say: SayEvent) -> None:
        self.mirror = mirror
        self.name = mirror.name
        self.state: State = "starting"
        self._state_since = now_ms()
        self.shards = 0
        self.slice_number = 0
        self.stop_at_end = stop_at_end
        self._telling = EventLog(mirror.name, say)
        self.tell = self._telling.tell
        self._sources = {alias: cluster_of(settings, alias) for alias in mirror.source}
        self._destination = cluster_of(settings, mirror.destination)
        self._views = {alias: ClusterView(cluster) for alias, cluster in self._sources.items()}
        self._view = ClusterView(self._destination)
        self._control = Control(self._destination, mirror.name, mirror.delivery, limits_of(mirror))
        self._in_sync = InSync(mirror, self._view, self._telling)
        self._plan = Plan((), (), {})
        self._at_start: set[ClusterTopic] | None = None  # source topics found at the start
        self._uncompared = False  # whether some routes still have to be compared with other mirrors
        self._filters = filters_of(mirror)
        self._shape = UNKNOWN
        self.fulfilled = False  # with --stop-at-end: whether nothing is left to replicate or to judge
        self.edges: list[KnownEdge] = []
        self.others: Callable[[], Neighbours] = Neighbours  # the other mirrors of this process
        self._until: dict[SourcePartition, int] = {}
        self.pulse = Liveness()
        self._otherwise: State = "starting"  # the state to return to when all clusters respond
        self._ordered: set[int] | None = None  # shards of the newest orders, None before the first
        self._reported = False  # whether each of them sent a heartbeat under this lease
        self._waiting_for = ""  # the side that does not respond: "source" or "destination"
        self._absent = ""  # the alias of that cluster, for display
        self._next: dict[str, float] = {}
        self._wishes: deque[tuple[bool, str]] = deque()  # from other threads: pause or resume, and by whom
        self._configuration = effective(settings, mirror)
        self.outlook = Status(self._own_view())

    def prepare(self, cores: int) -> None:
        """Connect, take the lease, settle the sharding, survey both sides."""
        try:
            self._prepare(cores)
        except (Again, Fenced) as error:
            raise self._unprepared(Unreachable("", why=str(error))) from None
        except Unreachable as error:
            if self._shape is UNKNOWN:
                raise  # a cluster does not respond at all
            raise self._unprepared(error) from None

    def _unprepared(self, error: Unreachable) -> Unreachable:
        short = self._in_sync.find(())
        if not short:
            return error if error.what else Unreachable(NOT_PREPARED, where=self.name, why=error.why)
        return Unreachable(NOT_PREPARED, where=self.name, why=short.what, todo=short.todo)

    def _prepare(self, cores: int) -> None:
        mirror = self.mirror
        for spec in self._filters:
            filters.make(spec)  # an invalid filter fails here, not in every shard
        for view in (*self._views.values(), self._view):
            view.connect()
        refuse_twins(self.name, self._views)
        refuse_timeout(mirror, self._view)
        self._shape = shape_of(mirror, self._views, self._view)
        partitions = sum(route.source.partitions for route in self._shape.routes.values())
        self.shards = shards_of(mirror, partitions, cores)
        self._ledger = ensure_topics(self._view, self.name, self.shards, mirror.replication_factor)
        self._control.acquire(self._ledger.topic_id)
        self._generation = self._control.settle_shards(self.shards)
        self._tell_ended()
        self._reader = LedgerReader(self._destination, self.name, range(self._ledger.partitions))
        image = self._reader.read_to_end(LEDGER_SECONDS)
        self._reader.watch()
        if mirror.delivery == "exactly-once":
            refuse_older(self._view, self.name, image)
        if self.stop_at_end:
            refuse_paused(self.name, image.paused)  # it would wait for a resume that may never come
        starts = wanted_starts(mirror, self._shape.routes, self._views, image)
        if mirror.on_poison == "quarantine":
            aside = sum(position.tally.quarantined for position in image.positions.values())
            if lost := ensure_quarantine(self._view, self.name, mirror.replication_factor, aside):
                self.tell("warning", lost)
        self._look()
        # A run with --stop-at-end must not succeed if it left out partitions.
        refuse_at_start(self.name, self._plan.refusals, goes_on=not self.stop_at_end)
        self._tell_refusals(())
        self._begin(starts)
        self._look_at_logs()
        if self.stop_at_end:
            self._until = ends_of_now(self._views, self._lane_sources(), self._plan.gone)
            done = all_there(self._plan, image.positions, self._until, self._view)
            self.fulfilled = done and not self.stopped()
        self._measure()

    def _begin(self, starts: Mapping[SourcePartition, At]) -> None:
        """Commit the first positions of these partitions before the mirror is reported as ready."""
        positions = first_positions(
            self._plan.lanes,
            starts,
            self._views,
            self._view,
            generation=self._generation.number,
            lease=self._control.lease,
        )
        if positions:
            self._control.begin(positions, self.shards)
            for position in positions:
                self._reader.image.apply(shard_of(position.source, self.shards), position)

    def replan(self) -> None:
        """Survey both sides again; report what cannot be replicated, and continue with the rest."""
        before = self._plan.refusals
        self._look()
        self._tell_refusals(before)

    def _tell_refusals(self, before: Sequence[Refusal]) -> None:
        told = {refusal.identity for refusal in before}
        for refusal in self._plan.refusals:
            if refusal.identity not in told:
                self.tell("error", f"not carried: {refusal}")

    def _look(self) -> None:
        """Survey both sides, create missing topics, and make the plan."""
        image = self._reader.image
        others = self.others()
        found = survey(self.mirror, self._views, self._view, image, others)
        running = self._at_start is not None
        if self._at_start is None:
            self._at_start = {
                ClusterTopic(self._views[alias].cluster_id(), name) for alias, name in found.every
            }
        self._record(met_later(found.every, self._views, image, self._at_start))
        made: list[CreatedTopic] = []
        try:
            made.extend(CreatedTopic(one.name, one.topic_id, now_ms()) for one in prepare(found, self._view))
        finally:  # even if a later one fails: a recorded topic may be grown later
            self._record(made)
        self._uncompared = refuse_claimed(
            self.mirror,
            found,
            self._views,
            self._view,
            image,
            others,
            starting=self.slice_number == 0,
            later=running,
            write=self._record,
            wait=self._control.wait_visible,
            warn=partial(self._telling.once, "warning"),
        )
        for alias, name in found.absent:
            self._telling.once("warning", f'topic {name} does not exist on "{alias}" (yet)')
        for unmatched in found.unmatched:
            self._telling.once("warning", str(unmatched))
        self._plan = plan_of(found, self._views)
        self.edges = [
            KnownEdge(edge, self.mirror.provenance, self.name)
            for edge in edges(found.routes.values(), self._views, self._view)
        ]

    def _record(self, records: Sequence[LedgerRecord]) -> None:
        """Commit records to the control partition."""
        if records:
            self._control.write((CONTROL, record) for record in records)
        for record in records:
            self._reader.image.apply(CONTROL, record)

    def selection(self) -> Selection:
        """What this mirror's settings select. The cluster ids must be known."""
        return selection_of(self.mirror, self._views, self._view)

    def orders(self, after: int | None = None) -> list[TaskOrder]:
        """Make the next slice's orders, which Spark may get before the slice `after` has ended.

        Shards without a partition get no order.
        """
        self.slice_number += 1
        run = MirrorRun(
            mirror=self.mirror,
            sources={self._views[alias].cluster_id(): cluster for alias, cluster in self._sources.items()},
            destination=self._destination,
            destination_id=self._view.cluster_id(),
            filters=self._filters,
            shards=self.shards,
            lease=self._control.lease,
            generation=self._generation.number,
            ledger_id=self._ledger.topic_id,
        )
        orders = make_orders(
            run,
            self._plan,
            self.slice_number,
            positions=self._reader.image.positions,
            seen=self._reader.seen,
            until=self._until if self.stop_at_end else None,
            after=after,
        )
        self._ordered = {order.shard for order in orders}
        return orders

    def tick(self, seconds: float, *, leaving: bool = False) -> str:
        """Check both sides once; returns why the slice must be cut short, or an empty string.

        Each side is checked whether or not the other one responds: heartbeats continue without a source, and
        the lag is measured while the destination is unavailable. A slice that is `leaving` needs no source,
        and a source that does not respond would delay it for seconds. Raises Superseded when a newer instance
        holds the lease.
        """
        if not leaving:
            self._look_for_shortage()  # it may take seconds, so heartbeats are read after it
        self._asked("destination", partial(self._look_at_destination, seconds))
        if leaving:
            return ""
        return self._asked("source", self._look_at_source) or self._silent()

    def _asked(self, side: str, look: Callable[[], str]) -> str:
        try:
            return look()
        except (Superseded, PlanRefused):
            raise
        except IntegrityError:
            with contextlib.suppress(Again, Unreachable):
                self._check_ledger()  # a replaced ledger topic is the cause to report, whatever else failed
            raise
        except (Again, CausewayError) as error:
            if self._is_time("waiting", WAITING_SECONDS) or self.state != WAITING:
                self.tell("warning", f"waiting for an answer: {error}")
            # `_changed` queries both sides; the error names the cluster that did not respond.
            named = [
                alias for alias in (self._destination.alias, *self._sources) if f'"{alias}"' in str(error)
            ]
            self._waiting_for = "destination" if self._destination.alias in named else side
            self._absent = (named or [self._destination.alias if side == "destination" else "a source"])[0]
            self.settle(WAITING)
        return ""

    def _look_at_destination(self, seconds: float) -> str:
        for record in self._reader.poll(seconds):
            self._hear(record)
        if self._reader.image.newest_lease() > self._control.lease:
            raise Superseded(
                f"a newer instance of this mirror holds lease {self._reader.image.newest_lease()},"
                f" this one {self._control.lease}",
                where=f'mirror "{self.name}"',
            )
        self._serve_wishes()
        if self._is_time("progress", PROGRESS_SECONDS):
            self._measure()
        if self._is_time("heartbeat", self.mirror.heartbeat):
            self._check_ledger()
            self._control.heartbeat(self.slice_number)
            self._tell_ended()
            self._recovered("destination")
        return ""

    def _look_for_shortage(self) -> None:
        """While shards commit nothing: check for too few in-sync replicas, which no client reports."""
        waits = self.state == WAITING and self._waiting_for == "destination"
        silent = self.pulse.unheard(max(UNHEARD_SECONDS, 2 * self.mirror.heartbeat))
        if self._in_sync.watch(waits or (silent and self.state != "paused"), self._plan.places):
            self.restate()
        if short := self._in_sync.short:
            lanes = [
                lane for lane in self._plan.lanes if short.holds_up(lane.place.topic, lane.place.partition)
            ]
            self.pulse.explain({shard_of(lane.source, self.shards) for lane in lanes})

    def _tell_ended(self) -> None:
        while self._control.told:
            self.tell("warning", self._control.told.pop(0))

    def _look_at_source(self) -> str:
        if self._is_time("ends", ENDS_SECONDS):
            self._look_at_logs()
            self._recovered("source")
        if self.paused:
            return "paused"
        if self.state != WAITING and self._is_time("shape", self.mirror.refresh):
            return self._changed()
        return ""

    @property
    def paused(self) -> str:
        """Who paused the mirror, or an empty string. It is paused once its slice has ended."""
        record = self._reader.image.paused
        return record.by if record else ""

    def wish(self, paused: bool, by: str) -> None:
        """Request a pause or a resume, in the name of `by`. From any thread; the next tick executes it."""
        self._wishes.append((paused, by))

    def _serve_wishes(self) -> None:
        while self._wishes:
            paused, by = self._wishes[0]
            if paused != bool(self.paused):
                wish = Paused(by if paused else "", now_ms())
                self._control.write([(CONTROL, wish)])
                self._reader.image.apply(CONTROL, wish)
                self.tell("info", f"paused by {by}" if paused else f"goes on, by {by}")
            self._wishes.popleft()  # only now: if the destination does not respond, the next tick retries

    def settle(self, state: State) -> None:
        """Set the displayed state; `waiting` clears only when the cluster responds.

        A mirror is `running` once every shard of its orders has sent a heartbeat under this lease: before
        that nothing shows that any of them replicates.
        """
        if state == "running" and not self._all_reported():
            state = "starting"
        if state in ("starting", "running", "paused"):
            self._otherwise = state
            # A short run may read its shards' first heartbeats after its end, in `finish`.
            if self.state == WAITING or self.state in ENDED:
                return
        if state != self.state:
            self.state, self._state_since = state, now_ms()
            self.restate()

    def _all_reported(self) -> bool:
        """Whether every ordered shard has sent a heartbeat once; `Liveness` detects later silence."""
        heard = self._ordered is not None and self._ordered <= self.outlook.shards.last.keys()
        self._reported = self._reported or heard
        return self._reported

    def restate(self) -> None:
        """Publish the driver's own state at once, without waiting for the next measurement."""
        self.outlook.restate(self._own_view())

    def cut(self, reason: str) -> None:
        self._control.cut(self.slice_number, reason)

    def finish(self) -> None:
        """After the last slice: end open transactions on the destination, and read the ledger to its end."""
        try:
            # First: an open transaction of a cancelled shard would hide the ledger's last records.
            if self.mirror.delivery == "exactly-once":
                finish_transactions(self._destination, self.name, self.shards, limits_of(self.mirror))
            # Every record is reported: a short run's only events may be among the last ones.
            for record in self._reader.records_to_end(FINISH_SECONDS):
                self._hear(record)
            self.outlook.settle_logs(self._reader.image)
            self._measure()
        except (Again, Fenced, CausewayError) as error:
            timeout = self.mirror.transaction_timeout
            self.tell(
                "warning",
                f"transactions could not be ended ({error}); the brokers end them within {timeout:.0f} s",
            )
        finally:
            self.leave()

    def leave(self) -> None:
        """Close the clients; the ledger state that was read stays available."""
        self._control.close()
        self._reader.close()

    def stopped(self) -> list[Stopped]:
        """Partitions of the plan that are stopped until an operator acts."""
        known = self._reader.image.stopped
        planned = set(self._lane_sources()) if known else set()
        return [record for source, record in sorted(known.items()) if source in planned]

    def _measure(self) -> None:
        aliases = {view.cluster_id(): alias for alias, view in self._views.items()}
        self.outlook.measure(
            self._own_view(),
            self._plan.lanes,
            self._refused(),
            self._reader.image,
            aliases,
            self.shards,
            self._until if self.stop_at_end else None,
        )

    def _own_view(self) -> MirrorView:
        """The part of the view that only the driver knows."""
        short = self._in_sync.short
        return MirrorView(
            name=self.name,
            state=self.state,
            state_since=self._state_since,
            sources=tuple(self._sources),
            destination=self._destination.alias,
            delivery=self.mirror.delivery,
            lease=self._control.lease,
            slice=self.slice_number,
            partitions=(),
            shards=(),
            events=self._telling.kept,
            gaps=(),
            waiting_for=self._absent if self.state == WAITING else "",
            blocked=short.what if short else "",
            blocked_todo=short.todo if short else "",
            unmatched=self._plan.unmatched,
            configuration=self._configuration,
        )

    def _look_at_logs(self) -> None:
        self.outlook.look_at_logs(
            self._views,
            [*self._lane_sources(), *self._refused()],
            self._reader.image,
            starts=self._is_time("starts", STARTS_SECONDS),
        )

    def _hear(self, record: LedgerRecord) -> None:
        match record:
            case Event():
                self.tell(level(record.level), record.what, shard=record.shard, at=record.at)
                if record.level != "info":
                    self.pulse.said(record.shard, record.what, why_silent=record.uncommitted)
            case Stopped(verdict=verdict) if verdict:
                self._telling.stopped(record)
            case Gap():
                what = f"{record.source}: {describe_gap(record)}"
                self._telling.once("error", what, source=record.source, offset=record.begin)
            case Heartbeat(shard=shard) if shard and record.lease == self._control.lease:
                self.pulse.heard(shard, record.slice, record.age_ms / 1_000)
                self.outlook.shards.heard(record)
                self._telling.once("info", f"carried by: {record.carrier}")
                if self._otherwise == "starting" and self._all_reported():
                    self._measure()  # show the heartbeats before the state that follows from them
                    self.settle("running")

    def _changed(self) -> str:
        """Replan if topics, partitions or settings changed; returns why the slice must be cut short."""
        before, plan = self._shape, self._plan
        now = shape_of(self.mirror, self._views, self._view, before)
        stamped = stamped_since(before, now, plan.places)
        for name in stamped:
            since = f"since {when(before.at)}"
            self._telling.once("error", f"topic {name}: what came {since} may have other timestamps there")
        if self.stop_at_end:
            refuse_at_start(self.name, refused(now, stamped))  # it replicates what it found, or ends
        elif now != before or ((plan.refusals or self._uncompared) and self._is_time("refused", 30.0)):
            self.replan()
        self._shape = now  # only now: if a cluster does not respond, everything is compared again
        return "" if self._plan.same_work(plan) else "topics or partitions changed"

    def _check_ledger(self) -> None:
        name = self._ledger.name
        found = self._view.describe([name]).get(name)
        check_ledger(name, self._ledger.topic_id, found, self._destination.alias)

    def _refused(self) -> dict[SourcePartition, Refusal]:
        """Source partitions that the plan refuses."""
        return {
            SourcePartition(self._views[refusal.source].cluster_id(), refusal.topic, number): refusal
            for refusal in self._plan.refusals
            for number in refusal.partitions
        }

    def _lane_sources(self) -> list[SourcePartition]:
        return [lane.source for lane in self._plan.lanes]

    def _silent(self) -> str:
        # A live shard is silent during a flush and a commit, neither of which outlasts a transaction, or
        # while a cluster does not respond to its requests.
        patience = max(SILENT_SECONDS, 2 * self.mirror.transaction_timeout, 5 * self.mirror.heartbeat)
        hidden = self._in_sync.hides_heartbeats and not self.pulse.long_unheard
        if hidden or self.state not in ("starting", "running"):
            self.pulse.excuse()  # no shard can write a heartbeat while the destination rejects it or is down
            return ""
        shard = self.pulse.silent(patience)
        return f"{NO_HEARTBEAT} shard {shard} for {patience:.0f} s{self.pulse.last(shard)}" if shard else ""

    def _recovered(self, what: str) -> None:
        if self.state == WAITING and self._waiting_for == what:
            self.state, self._state_since = self._otherwise, now_ms()
            self.tell("info", f"the {what} answers again")

    def _is_time(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True
