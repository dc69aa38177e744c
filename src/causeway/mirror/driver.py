"""What a mirror's driver knows and decides: lease, plan, orders, and what it sees while a slice runs.

Records never come here. What happens in the shards it reads from the ledger, which they write to.
`prepare` fails loudly; from then on a cluster that does not answer is waited for.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from causeway.config import MirrorSettings, Settings
from causeway.config.effective import effective
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Superseded, Unreachable
from causeway.kafka.admin import At, ClusterView
from causeway.kafka.ledger import LedgerReader
from causeway.kafka.ledger_topics import check_ledger, ensure_topics
from causeway.kafka.outcome import Again, Fenced
from causeway.kafka.quarantine import ensure_quarantine
from causeway.mirror.clusters import cluster_of, filters_of, limits_of, shards_of
from causeway.mirror.ends import all_there, ends_of_now
from causeway.mirror.lease import Control, finish_transactions
from causeway.mirror.orders import make_orders
from causeway.mirror.outlook import Outlook
from causeway.mirror.plan import plan_of, prepare, survey
from causeway.mirror.pulse import Pulse
from causeway.mirror.refusing import refuse_at_start, refuse_paused, refuse_timeout, refuse_twins
from causeway.mirror.rivals import refuse_claimed
from causeway.mirror.routing import Known, Neighbours, Selection, edges, selection_of
from causeway.mirror.shape import UNKNOWN, refused, shape_of, stamped_since
from causeway.mirror.starts import first_positions, met_later, wanted_starts
from causeway.mirror.telling import Say, Telling, level
from causeway.mirror.testimony import refuse_older
from causeway.model.offsets import told, when
from causeway.model.order import Order
from causeway.model.plan import Plan, Refusal
from causeway.model.position import SourcePartition
from causeway.model.record import CONTROL, CreatedTopic, Event, Gap, Heartbeat, Paused, Record, Stopped
from causeway.model.route import Spot
from causeway.model.snapshot import MirrorView, State
from causeway.pipeline import filters
from causeway.pipeline.memory import now_ms
from causeway.policy.sharding import shard_of

ENDS_SECONDS = 1.0
STARTS_SECONDS = 10.0
SILENT_SECONDS = 15.0
LEDGER_SECONDS = 60.0
FINISH_SECONDS = 5.0
PROGRESS_SECONDS = 0.5
WAITING: State = "waiting"
NO_HEARTBEAT = "no heartbeat from"
WAITING_SECONDS = 30.0


class Driver:
    def __init__(self, settings: Settings, mirror: MirrorSettings, stop_at_end: bool, say: Say) -> None:
        self.mirror = mirror
        self.name = mirror.name
        self.state: State = "starting"
        self._state_since = now_ms()
        self.shards = 0
        self.slice_number = 0
        self.stop_at_end = stop_at_end
        self._telling = Telling(mirror.name, say)
        self.tell = self._telling.tell
        self._sources = {alias: cluster_of(settings, alias) for alias in mirror.source}
        self._destination = cluster_of(settings, mirror.destination)
        self._views = {alias: ClusterView(cluster) for alias, cluster in self._sources.items()}
        self._view = ClusterView(self._destination)
        self._control = Control(self._destination, mirror.name, mirror.delivery, limits_of(mirror))
        self._plan = Plan((), (), {})
        self._at_start: set[Spot] | None = None  # the source topics that the start found
        self._uncompared = False  # whether routes are left to be compared with those of other mirrors
        self._filters = filters_of(mirror)
        self._shape = UNKNOWN
        self.fulfilled = False  # with --stop-at-end: whether nothing at all is left to do or to judge
        self.edges: list[Known] = []
        self.others: Callable[[], Neighbours] = Neighbours  # the other mirrors of this process
        self._until: dict[SourcePartition, int] = {}
        self.pulse = Pulse()
        self._otherwise: State = "starting"  # what it is when all answer
        self._ordered: set[int] | None = None  # shards of the newest orders, None before the first
        self._reported = False  # all of them were heard once, under this lease
        self._waiting_for = ""  # the side that does not answer
        self._absent = ""  # and the cluster, for people
        self._next: dict[str, float] = {}
        self._wishes: deque[tuple[bool, str]] = deque()  # of other threads: to stand still or not, by whom
        self._configuration = effective(settings, mirror)
        self.outlook = Outlook(self._own_view())

    def prepare(self, cores: int) -> None:
        """Connect, take the lease, settle the sharding, look at both sides."""
        try:
            self._prepare(cores)
        except (Again, Fenced) as error:
            raise Unreachable("the mirror could not be prepared", where=self.name, why=str(error)) from None

    def _prepare(self, cores: int) -> None:
        mirror = self.mirror
        for spec in self._filters:
            filters.make(spec)  # where it cannot be made, better here than in every shard
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
            refuse_paused(self.name, image.paused)  # it would wait for somebody who need not be there
        starts = wanted_starts(mirror, self._shape.routes, self._views, image)
        if mirror.on_poison == "quarantine":
            aside = sum(position.tally.quarantined for position in image.positions.values())
            if lost := ensure_quarantine(self._view, self.name, mirror.replication_factor, aside):
                self.tell("warning", lost)
        self._look()
        # A run with an end must not end well over partitions that it left out.
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
        """Commit where these partitions begin, before anyone is told that the mirror is ready."""
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
        """Look at both sides again; what cannot be carried is said, and the rest goes on."""
        before = self._plan.refusals
        self._look()
        self._tell_refusals(before)

    def _tell_refusals(self, before: Sequence[Refusal]) -> None:
        told = {refusal.identity for refusal in before}
        for refusal in self._plan.refusals:
            if refusal.identity not in told:
                self.tell("error", f"not carried: {refusal}")

    def _look(self) -> None:
        """Look at both sides, and make the topics that are missing."""
        image = self._reader.image
        others = self.others()
        found = survey(self.mirror, self._views, self._view, image, others)
        running = self._at_start is not None
        if self._at_start is None:
            self._at_start = {Spot(self._views[alias].cluster_id(), name) for alias, name in found.every}
        self._record(met_later(found.every, self._views, image, self._at_start))
        made: list[CreatedTopic] = []
        try:
            made.extend(CreatedTopic(one.name, one.topic_id, now_ms()) for one in prepare(found, self._view))
        finally:  # where a later one fails: those that were made may grow
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
            Known(edge, self.mirror.provenance, self.name)
            for edge in edges(found.routes.values(), self._views, self._view)
        ]

    def _record(self, records: Sequence[Record]) -> None:
        """Commit records to the control partition."""
        if records:
            self._control.write((CONTROL, record) for record in records)
        for record in records:
            self._reader.image.apply(CONTROL, record)

    def selection(self) -> Selection:
        """What this mirror's settings select; the clusters are known."""
        return selection_of(self.mirror, self._views, self._view)

    def orders(self, after: int = 0) -> list[Order]:
        """The next slice's orders, which may be given before the slice `after` has ended.

        Shards without a partition get none.
        """
        self.slice_number += 1
        orders = make_orders(
            self.mirror,
            self._plan,
            sources={self._views[alias].cluster_id(): cluster for alias, cluster in self._sources.items()},
            destination=self._destination,
            destination_id=self._view.cluster_id(),
            filters=self._filters,
            shards=self.shards,
            lease=self._control.lease,
            generation=self._generation.number,
            slice_number=self.slice_number,
            ledger_id=self._ledger.topic_id,
            until=self._until if self.stop_at_end else None,
            positions=self._reader.image.positions,
            seen=self._reader.seen,
            after=after,
        )
        self._ordered = {order.shard for order in orders}
        return orders

    def tick(self, seconds: float, *, leaving: bool = False) -> str:
        """Look at everything once; answers why the slice must be cut short, if it must.

        Each side is looked at whether or not the other one answers: heartbeats go on without a source, and
        what waits there is seen while the destination is away. A slice that is `leaving` needs no source, and
        one that does not answer would hold it up for seconds. Raises Superseded when a newer instance holds
        the lease.
        """
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
                self._check_ledger()  # where it is another topic, that is the reason, whatever else was found
            raise
        except (Again, CausewayError) as error:
            if self._is_time("waiting", WAITING_SECONDS) or self.state != WAITING:
                self.tell("warning", f"waiting for an answer: {error}")
            # Both sides are asked whether topics changed; the error names the one that did not answer.
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
        """Who wants the mirror to stand still; it does so once its slice has ended."""
        record = self._reader.image.paused
        return record.by if record else ""

    def wish(self, paused: bool, by: str) -> None:
        """Stand still, or go on, by whose word. From any thread; the next tick sees to it."""
        self._wishes.append((paused, by))

    def _serve_wishes(self) -> None:
        while self._wishes:
            paused, by = self._wishes[0]
            if paused != bool(self.paused):
                wish = Paused(by if paused else "", now_ms())
                self._control.write([(CONTROL, wish)])
                self._reader.image.apply(CONTROL, wish)
                self.tell("info", f"paused by {by}" if paused else f"goes on, by {by}")
            self._wishes.popleft()  # only now: where the destination does not answer, it is served later

    def settle(self, state: State) -> None:
        """Set the displayed state; `waiting` clears only when the cluster answers.

        A mirror is `running` once every shard of its orders was heard under this lease: before that nothing
        shows that any of them replicates.
        """
        if state == "running" and not self._all_reported():
            state = "starting"
        if state in ("starting", "running", "paused"):
            self._otherwise = state
            if self.state == WAITING:
                return
        if state != self.state:
            self.state, self._state_since = state, now_ms()
            self.restate()

    def _all_reported(self) -> bool:
        """Once is enough: whoever falls silent later is missed by the pulse."""
        heard = self._ordered is not None and self._ordered <= self.outlook.shards.last.keys()
        self._reported = self._reported or heard
        return self._reported

    def restate(self) -> None:
        """Let people see what has just happened, whatever the next look will find."""
        self.outlook.restate(self._own_view())

    def cut(self, reason: str) -> None:
        self._control.cut(self.slice_number, reason)

    def finish(self) -> None:
        """After the last slice: nothing stays open on the destination, and the last word is known."""
        try:
            # First: an open transaction of a shard that was cancelled would hide the ledger's last word.
            if self.mirror.delivery == "exactly-once":
                finish_transactions(self._destination, self.name, self.shards, limits_of(self.mirror))
            for record in self._reader.poll(0):
                self._hear(record)
            self._reader.read_to_end(FINISH_SECONDS)
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
        """Close the clients; what the ledger said stays known."""
        self._control.close()
        self._reader.close()

    def stopped(self) -> list[Stopped]:
        """Partitions of the plan that stand still until somebody acts."""
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
        """What nobody but the driver knows."""
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

    def _hear(self, record: Record) -> None:
        match record:
            case Event():
                self.tell(level(record.level), record.what, shard=record.shard, at=record.at)
                if record.level != "info":
                    self.pulse.said(record.shard, record.what, why_silent=record.uncommitted)
            case Stopped(verdict=verdict) if verdict:
                self._telling.stopped(record)
            case Gap():
                what = f"{record.source}: {told(record)}"
                self._telling.once("error", what, source=record.source, offset=record.begin)
            case Heartbeat(shard=shard) if shard and record.lease == self._control.lease:
                self.pulse.heard(shard, record.slice, record.age_ms / 1_000)
                self.outlook.shards.heard(record)
                self._telling.once("info", f"carried by: {record.carrier}")
                if self._otherwise == "starting" and self._all_reported():
                    self._measure()  # its heartbeats are shown before the state that follows from them
                    self.settle("running")

    def _changed(self) -> str:
        """Whether topics, partitions or settings came, went or changed since the plan was made."""
        before, plan = self._shape, self._plan
        now = shape_of(self.mirror, self._views, self._view, before)
        stamped = stamped_since(before, now, plan.places)
        for name in stamped:
            since = f"since {when(before.at)}"
            self._telling.once("error", f"topic {name}: what came {since} may have other timestamps there")
        if self.stop_at_end:
            refuse_at_start(self.name, refused(now, stamped))  # it carries what it found, or ends
        elif now != before or ((plan.refusals or self._uncompared) and self._is_time("refused", 30.0)):
            self.replan()
        self._shape = now  # only now: where a cluster does not answer, all is compared again
        return "" if self._plan.same_work(plan) else "topics or partitions changed"

    def _check_ledger(self) -> None:
        name = self._ledger.name
        found = self._view.describe([name]).get(name)
        check_ledger(name, self._ledger.topic_id, found, self._destination.alias)

    def _refused(self) -> dict[SourcePartition, Refusal]:
        """Source partitions that are not carried as things are."""
        return {
            SourcePartition(self._views[refusal.source].cluster_id(), refusal.topic, number): refusal
            for refusal in self._plan.refusals
            for number in refusal.partitions
        }

    def _lane_sources(self) -> list[SourcePartition]:
        return [lane.source for lane in self._plan.lanes]

    def _silent(self) -> str:
        # A shard that lives is silent for a flush and a commit at most, and neither outlasts a transaction;
        # or while a cluster does not answer its questions.
        patience = max(SILENT_SECONDS, 2 * self.mirror.transaction_timeout, 5 * self.mirror.heartbeat)
        if self.state not in ("starting", "running"):
            self.pulse.excuse()  # nobody can write while the destination is away
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
