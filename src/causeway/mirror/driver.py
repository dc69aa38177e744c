"""What a mirror's driver knows and decides: lease, plan, orders, and what it sees while a slice runs.

Records never come here. What happens in the shards it reads from the ledger, which they write to.
`prepare` fails loudly; from then on a cluster that does not answer is waited for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from causeway.config import MirrorSettings, Settings
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Superseded, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import LedgerReader, check_ledger, ensure_topics
from causeway.kafka.outcome import Again, Fenced
from causeway.mirror.clusters import cluster_of, filters_of, limits_of, shards_of
from causeway.mirror.ends import ends_of_now, source_ends
from causeway.mirror.lease import Control, finish_transactions
from causeway.mirror.orders import make_orders
from causeway.mirror.plan import plan_of, prepare, survey
from causeway.mirror.progress import Gauge
from causeway.mirror.routing import Known, Routes, edges, routes
from causeway.mirror.testimony import refuse_older
from causeway.model.offsets import told
from causeway.model.order import Order, Start
from causeway.model.plan import Plan
from causeway.model.position import SourcePartition
from causeway.model.progress import MirrorProgress
from causeway.model.record import CONTROL, CreatedTopic, Event, Gap, Heartbeat, Record, Stopped
from causeway.pipeline import filters
from causeway.pipeline.memory import now_ms

Say = Callable[[str, str, str], None]
"""Tell people: mirror, level, text."""

ENDS_SECONDS = 1.0
SILENT_SECONDS = 15.0
STARTING_SECONDS = 45.0
"""A busy machine takes long to start Python workers: up to its first heartbeat a shard has so much more."""
LEDGER_SECONDS = 60.0
FINISH_SECONDS = 5.0
PROGRESS_SECONDS = 0.5
WAITING = "waiting for a cluster"
NO_HEARTBEAT = "no heartbeat from"
WAITING_SECONDS = 30.0


class Driver:
    def __init__(self, settings: Settings, mirror: MirrorSettings, stop_at_end: bool, say: Say) -> None:
        self.mirror = mirror
        self.name = mirror.name
        self.state = "starting"
        self.shards = 0
        self.slice_number = 0
        self.stop_at_end = stop_at_end
        self._say = say
        self._sources = {alias: cluster_of(settings, alias) for alias in mirror.source}
        self._destination = cluster_of(settings, mirror.destination)
        self._views = {alias: ClusterView(cluster) for alias, cluster in self._sources.items()}
        self._view = ClusterView(self._destination)
        self._control = Control(self._destination, mirror.name, mirror.delivery, limits_of(mirror))
        self._gauge = Gauge()
        self._plan = Plan((), (), 0)
        self._filters = filters_of(mirror)
        self._routes: Routes = {}
        self.edges: list[Known] = []
        self.others: Callable[[], list[Known]] = list  # the routes of other mirrors in this process
        self._starts: dict[SourcePartition, Start] = {}
        self._ends: dict[SourcePartition, int] = {}
        self._until: dict[SourcePartition, int] = {}
        self._alive: dict[int, float] = {}  # when a shard's heartbeat was last seen here
        self.ended = 0  # shards that have done their order of this slice, and are silent by right
        self._said: set[str] = set()
        self._waiting_for = ""  # the side that does not answer
        self._next: dict[str, float] = {}
        self.progress = MirrorProgress(mirror.name, self.state, (), 0)

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
        self._refuse_twins()
        self._routes = routes(mirror, self._views, self._view)
        partitions = sum(route.source.partitions for route in self._routes.values())
        self.shards = shards_of(mirror, partitions, cores)
        self._ledger = ensure_topics(
            self._view,
            self.name,
            self.shards,
            mirror.replication_factor,
            quarantine=mirror.on_poison == "quarantine",
        )
        self._control.acquire(self._ledger.topic_id)
        self._generation = self._control.settle_shards(self.shards)
        self._reader = LedgerReader(self._destination, self.name, range(self._ledger.partitions))
        image = self._reader.read_to_end(LEDGER_SECONDS)
        self._reader.follow()
        if mirror.delivery == "exactly-once":
            refuse_older(self._view, self.name, image)
        known = {(source.cluster, source.topic) for source in image.positions}
        # `start` is for what exists now and is new to the ledger; whatever appears later begins at earliest.
        self._starts = {
            SourcePartition(cluster_id, topic, number): mirror.seen_from(alias).start_at
            for (alias, topic), route in self._routes.items()
            if ((cluster_id := self._views[alias].cluster_id()), topic) not in known
            for number in range(route.source.partitions)
        }
        self._look()
        self._refuse_at_start()
        self._ends = source_ends(self._views, self._lane_sources(), "latest")
        self._until = (
            ends_of_now(self._views, self._lane_sources(), self._plan.gone) if self.stop_at_end else {}
        )
        self._measure()

    def _refuse_twins(self) -> None:
        """Two aliases of one cluster would carry the same partitions twice."""
        ids: dict[str, str] = {}
        for alias, view in self._views.items():
            other = ids.setdefault(view.cluster_id(), alias)
            if other != alias:
                raise PlanRefused(
                    f'the sources "{other}" and "{alias}" are the same cluster',
                    where=f'mirror "{self.name}"',
                    why=f"both have the id {view.cluster_id()}",
                    todo="name it once; topics of both can be chosen there",
                )

    def _refuse_at_start(self) -> None:
        refusals = self._plan.refusals
        if not refusals:
            return
        where = f'mirror "{self.name}"'
        problems = tuple(str(refusal) for refusal in refusals)
        if all(refusal.integrity for refusal in refusals):
            topics = ", ".join(f"{refusal.source}:{refusal.topic}" for refusal in refusals)
            raise IntegrityError(refusals[0].why, where=f"{where}: {topics}", todo=refusals[0].todo)
        raise PlanRefused(
            f"{len(refusals)} topic(s) cannot be carried as they are", problems=problems, where=where
        )

    def replan(self) -> None:
        """Look at both sides again; what cannot be carried is said, and the rest goes on."""
        self._look()
        for refusal in self._plan.refusals:
            self._once("error", f"not carried: {refusal}")

    def _look(self) -> None:
        """Look at both sides, and make the topics that are missing."""
        image = self._reader.image
        found = survey(self.mirror, self._views, self._view, image, self.others())
        made = prepare(found, self._view)
        if made:
            records = [(CONTROL, CreatedTopic(facts.name, facts.topic_id, now_ms())) for facts in made]
            self._control.write(records)
            for _, record in records:
                image.apply(CONTROL, record)
        for alias, name in found.absent:
            self._once("warning", f'topic {name} does not exist on "{alias}" (yet)')
        self._plan = plan_of(found, self._views, self._starts)
        self.edges = [
            (edge, self.mirror.provenance) for edge in edges(found.routes.values(), self._views, self._view)
        ]

    def orders(self) -> list[Order]:
        """The next slice's orders; shards without a partition get none."""
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
        )
        self._alive = {order.shard: time.monotonic() + STARTING_SECONDS for order in orders}
        self.ended = 0
        return orders

    def tick(self, seconds: float) -> str:
        """Look at everything once; answers why the slice must be cut short, if it must.

        Raises Superseded when a newer instance holds the lease.
        """
        side = "destination"
        try:
            for record in self._reader.poll(seconds):
                self._hear(record)
            if self._reader.image.newest_lease() > self._control.lease:
                raise Superseded(
                    f"a newer instance of this mirror holds lease {self._reader.image.newest_lease()},"
                    f" this one {self._control.lease}",
                    where=f'mirror "{self.name}"',
                )
            if self._is_time("progress", PROGRESS_SECONDS):
                self._measure()
            if self._is_time("heartbeat", self.mirror.heartbeat):
                self._check_ledger()
                self._control.heartbeat(self.slice_number)
                self._recovered(side)
            side = "source"
            if self._is_time("ends", ENDS_SECONDS):
                self._ends = source_ends(self._views, self._lane_sources(), "latest")
                self._recovered(side)
            if self._is_time("shape", self.mirror.refresh) and not self.stop_at_end:
                return self._changed()
        except Superseded:
            raise
        except IntegrityError:
            with contextlib.suppress(Again, Unreachable):
                self._check_ledger()  # where it is another topic, that is the reason, whatever else was found
            raise
        except (Again, CausewayError) as error:
            if self._is_time("waiting", WAITING_SECONDS) or self.state != WAITING:
                self.tell("warning", f"waiting for an answer: {error}")
            self.state = WAITING
            # Both sides are asked whether topics changed; the error names the one that did not answer.
            self._waiting_for = "destination" if f'"{self._destination.alias}"' in str(error) else side
        return self._silent()

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

    def tell(self, level: str, text: str) -> None:
        self._say(self.name, level, text)

    @property
    def fulfilled(self) -> bool:
        """With --stop-at-end: whether nothing at all is left to do or to judge.

        Only what stands exactly at its end, in the very topics it was carried between, needs no look.
        """
        image = self._reader.image
        positions = image.positions
        if not self.stop_at_end or self.stopped():
            return False
        for lane in self._plan.lanes:
            position, end = positions.get(lane.source), self._until.get(lane.source)
            if lane.source in self._plan.gone:
                return False  # somebody has to say so
            if position is None:
                if end != 0:
                    return False
            elif (position.offset, position.topic_id, position.place) != (end, lane.topic_id, lane.place):
                return False
        return True

    def stopped(self) -> list[Stopped]:
        """Partitions of the plan that stand still until somebody acts."""
        known = self._reader.image.stopped
        planned = set(self._lane_sources()) if known else set()
        return [record for source, record in sorted(known.items()) if source in planned]

    def _measure(self) -> None:
        """What people are shown; kept as a value, since another thread shows it."""
        image = self._reader.image
        self.progress = self._gauge.measure(
            self.name,
            self.state,
            image.positions,
            self._ends,
            [record.source for record in self.stopped()],
            self.shards,
        )

    def _hear(self, record: Record) -> None:
        match record:
            case Event():
                self._say(self.name, record.level, f"shard {record.shard}: {record.what}")
            case Stopped(verdict=verdict) if verdict:
                self._once("error", f"{record.source} stopped ({verdict}): {record.what}; {record.todo}")
            case Gap():
                self._once("error", f"{record.source}: {told(record)}")
            case Heartbeat(shard=shard) if shard and record.lease == self._control.lease:
                self._alive[shard] = time.monotonic()
                self._once("info", f"carried by: {record.carrier}")

    def _changed(self) -> str:
        """Whether topics or partitions came, went or changed since the plan was made."""
        now = routes(self.mirror, self._views, self._view)
        refused = bool(self._plan.refusals) and self._is_time("refused", 30.0)
        if now == self._routes and not refused:
            return ""
        self._routes = now
        before = self._plan
        self.replan()
        return "" if self._plan.same_work(before) else "topics or partitions changed"

    def _check_ledger(self) -> None:
        name = self._ledger.name
        found = self._view.describe([name]).get(name)
        check_ledger(name, self._ledger.topic_id, found, self._destination.alias)

    def _lane_sources(self) -> list[SourcePartition]:
        return [lane.source for lane in self._plan.lanes]

    def _silent(self) -> str:
        """A worker that hangs is seen by nobody but whoever waits for its heartbeat."""
        now = time.monotonic()
        # A shard that lives is silent for a flush and a commit at most, and neither outlasts a transaction;
        # or while a cluster does not answer its questions.
        patience = max(SILENT_SECONDS, 2 * self.mirror.transaction_timeout, 5 * self.mirror.heartbeat)
        if self.state != "running":
            # Nobody can write while the destination is away.
            self._alive = {shard: max(seen, now) for shard, seen in self._alive.items()}
            return ""
        silent = [shard for shard, seen in self._alive.items() if now - seen > patience]
        if len(silent) <= self.ended:
            return ""
        return f"{NO_HEARTBEAT} shard {silent[0]} for {patience:.0f} s"

    def _recovered(self, what: str) -> None:
        if self.state == WAITING and self._waiting_for == what:
            self.state = "running"
            self.tell("info", f"the {what} answers again")

    def _is_time(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True

    def _once(self, level: str, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(self.name, level, text)
