"""The plan of a running mirror: made at the start, and again when topics, partitions or settings change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from causeway.core.clock import now_ms
from causeway.core.ledger_record import CreatedTopic
from causeway.core.offsets import when
from causeway.core.plan import Plan, Refusal
from causeway.core.position import SourcePartition
from causeway.core.route import ClusterTopic
from causeway.planning.plan import plan_of, prepare
from causeway.planning.route_conflicts import refuse_claimed
from causeway.planning.routing import KnownEdge, Neighbours, edges
from causeway.planning.starts import met_later
from causeway.planning.survey import survey
from causeway.planning.topology import UNKNOWN, read_topology, refused, stamped_since
from causeway.replication.event_log import EventLog
from causeway.replication.mirror_setup import MirrorSetup
from causeway.replication.open_ledger import OpenLedger
from causeway.replication.start_checks import refuse_at_start
from causeway.replication.timers import Timers

REFUSED_SECONDS = 30.0
"""How often refused routes and missing topics for timings are tried again, and routes compared that other
mirrors may have too."""


class Planner:
    def __init__(self, setup: MirrorSetup, events: EventLog) -> None:
        self._setup = setup
        self._events = events
        self._timers = Timers()
        self._at_start: set[ClusterTopic] | None = None  # source topics that existed at the start
        self._uncompared = False  # whether some routes still have to be compared with other mirrors
        self.plan = Plan((), (), {})
        self.topology = UNKNOWN
        self.edges: list[KnownEdge] = []
        self.others: Callable[[], Neighbours] = Neighbours  # the other mirrors of this process

    def read_topology(self) -> None:
        self.topology = read_topology(self._setup.mirror, self._setup.sources, self._setup.destination)

    def changed(self, ledger: OpenLedger, *, starting: bool) -> bool:
        """Plan again if topics, partitions or settings changed; returns whether the plan's work changed."""
        setup, before, plan = self._setup, self.topology, self.plan
        now = read_topology(setup.mirror, setup.sources, setup.destination, before)
        stamped = stamped_since(before, now, plan.places)
        for name in stamped:
            since = f"since {when(before.at)}"
            self._events.report_once(
                "error", f"topic {name}: what came {since} may have other timestamps there"
            )
        if setup.stop_at_end:
            refuse_at_start(setup.name, refused(now, stamped))  # it replicates what it found, or ends
        elif now != before or (
            (plan.refusals or self._uncompared or now.without_timings)
            and self._timers.due("refused", REFUSED_SECONDS)
        ):
            self.make_plan(ledger, starting=starting)
            self.report_refusals(plan.refusals)
        self.topology = now  # only now: if a cluster does not respond, everything is compared again
        return not self.plan.same_work(plan)

    def report_refusals(self, before: Sequence[Refusal] = ()) -> None:
        """Report what cannot be replicated, except what was refused before; the rest is replicated."""
        known = {refusal.identity for refusal in before}
        for refusal in self.plan.refusals:
            if refusal.identity not in known:
                self._events.report("error", f"not replicated: {refusal}")

    def make_plan(self, ledger: OpenLedger, *, starting: bool) -> None:
        """Survey both sides, create missing topics, and make the plan. `starting`: before the first slice."""
        setup, image, others = self._setup, ledger.state, self.others()
        surveyed = survey(setup.mirror, setup.sources, setup.destination, image, others)
        later = self._at_start is not None
        if self._at_start is None:
            self._at_start = {
                ClusterTopic(setup.sources[alias].cluster_id(), name) for alias, name in surveyed.every
            }
        ledger.record(met_later(surveyed.every, setup.sources, image, self._at_start))
        created: list[CreatedTopic] = []
        try:
            created.extend(
                CreatedTopic(topic.name, topic.topic_id, now_ms())
                for topic in prepare(surveyed, setup.destination)
            )
        finally:  # even if a later one fails: a recorded topic may be grown later
            ledger.record(created)
        self._uncompared = refuse_claimed(
            setup.mirror,
            surveyed,
            setup.sources,
            setup.destination,
            image,
            others,
            starting=starting,
            later=later,
            write=ledger.record,
            wait=setup.control.wait_visible,
            warn=partial(self._events.report_once, "warning"),
        )
        for alias, name in surveyed.absent:
            self._events.report_once("warning", f'topic {name} does not exist on "{alias}" (yet)')
        for what in surveyed.warnings:
            self._events.report_once("warning", what)
        for unmatched in surveyed.unmatched:
            self._events.report_once("warning", str(unmatched))
        self.plan = plan_of(surveyed, setup.sources)
        self.edges = [
            KnownEdge(edge, setup.mirror.provenance, setup.name)
            for edge in edges(surveyed.routes.values(), setup.sources, setup.destination)
        ]

    def sources(self) -> list[SourcePartition]:
        """Source partitions of the plan."""
        return [lane.source for lane in self.plan.lanes]

    def refused(self) -> dict[SourcePartition, Refusal]:
        """Source partitions that the plan refuses."""
        return {
            SourcePartition(self._setup.sources[refusal.source].cluster_id(), refusal.topic, number): refusal
            for refusal in self.plan.refusals
            for number in refusal.partitions
        }
