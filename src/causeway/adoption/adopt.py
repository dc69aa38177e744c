"""`causeway adopt`: take over a destination that another tool has been writing to.

`search` only reads, and finds a handoff for each source partition. `write` commits the first positions, all
in one transaction with a record of who adopted what. From then on the mirror runs as if it had written the
destination from the start. So adopting twice is refused, and so is adopting while the mirror runs or while
the old tool still writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from causeway.adoption.destination_topic import SearchResult
from causeway.adoption.handoff_search import HandoffSearch
from causeway.adoption.resume_hints import AdoptOptions, Hint, hints_of
from causeway.adoption.rules.handoff import start_offset
from causeway.adoption.sides import AdoptionSides
from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.handoff import CountRange
from causeway.core.ledger_record import CONTROL, Adopted, PoolMembers
from causeway.core.plural import counted
from causeway.core.position import Position
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.errors import IntegrityError, PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_access import who
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.range_reader import Ending, ReadProgress, no_progress
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import cluster_of, limits_of, shards_of
from causeway.planning.plan import plan_of
from causeway.planning.source_pools import SettledPools, settle_pools, source_view
from causeway.planning.survey import Survey, survey
from causeway.rules.ledger_state import LedgerState
from causeway.rules.positions import first as first_position
from causeway.rules.sharding import shard_of

LEDGER_SECONDS = 60.0
IN_ONE_RECORD = 1_000
"""Partitions in one Adopted record: below 1 MB even with the longest topic names."""


@dataclass(frozen=True, slots=True)
class AdoptionRow:
    """A source partition: its hint, what was found, and the offset to start at, if it may start."""

    lane: Lane
    hint: Hint
    result: SearchResult
    offset: int | None

    @property
    def unchecked(self) -> bool:
        return self.offset is not None and self.result.handoff.verdict in ("unmatched", "beyond_window")

    @property
    def twice(self) -> CountRange:
        """What will be replicated although the destination has it."""
        return self._cost(
            self.result.handoff.twice, self.result.handoff.repeat_from, self.result.window.log_end
        )

    @property
    def lost(self) -> CountRange:
        """What will be skipped although the destination does not have it."""
        return self._cost(
            self.result.handoff.lost, self.result.handoff.lose_from, self.result.window.log_start
        )

    def _cost(self, known: CountRange, starting_at: int | None, log_bound: int) -> CountRange:
        if self.offset is None:
            return CountRange()
        if self.unchecked:
            return CountRange(0, abs(log_bound - self.offset))
        return known if self.offset == starting_at else CountRange()


class Adoption:
    """The adoption of one mirror's destination."""

    def __init__(self, settings: Settings, mirror: MirrorSettings, options: AdoptOptions) -> None:
        self.mirror = mirror
        self.rows: list[AdoptionRow] = []
        self.empty_topics: list[str] = []  # topics with nothing to adopt: `run` starts them
        self._options = options
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._views = {alias: source_view(settings, alias) for alias in mirror.source}
        self._pools = SettledPools()
        self._known_pools: Mapping[str, PoolMembers] = {}
        self._endings: dict[Spot, Ending[bytes]] = {}
        self._topics: set[tuple[str, str]] = set()  # by the source cluster's id
        self._partitions = 0
        self._where = f'mirror "{mirror.name}"'

    def search(
        self, say: Callable[[str], None] = lambda text: None, progress: ReadProgress = no_progress
    ) -> None:
        """Read both sides; `rows` has what was found. Raises the error that prevents all of it."""
        mirror = self.mirror
        for view in (*self._views.values(), self._view):
            view.connect()
        self._pools = settle_pools(self._views.values(), self._destination, mirror.name)
        for line in self._pools.refused:
            say(line)
        ledger_state = read_image(self._destination, mirror.name)
        self._known_pools = ledger_state.pools
        surveyed = survey(mirror, self._views, self._view, ledger_state, adopting=True)
        self._topics = {(self._views[alias].cluster_id(), name) for alias, name in surveyed.routes}
        self._refuse(surveyed, ledger_state)
        self._partitions = sum(route.source.partitions for route in surveyed.routes.values())
        partitions = {name: facts.partitions for name, facts in surveyed.destinations.items()}
        sides = AdoptionSides(self._options, mirror, self._views, self._view, partitions, progress)
        all_lanes = plan_of(surveyed, self._views).lanes
        lanes = self._written(all_lanes, partitions)
        if lanes:
            say(f'reading the last records of the destination topics of mirror "{mirror.name}"')
            self._endings = sides.endings({lane.place.topic for lane in all_lanes})
            ends = {spot: ending.end for spot, ending in self._endings.items()}
            by_group = self._options.origin == "group"
            hints = hints_of(self._options, mirror, self._views, all_lanes if by_group else lanes, ends)
            # The group may have commits for topics that were never written to: these are checked too.
            known = {source[:2] for source, hint in hints.items() if hint.known and by_group}
            written = {lane.source for lane in lanes}
            lanes = [lane for lane in all_lanes if lane.source in written or lane.source[:2] in known]
            say(f'searching the {counted(len(lanes), "handoff")} of mirror "{mirror.name}"')
            results = HandoffSearch(self._options, sides, self._view).run(lanes, hints, self._endings)
            self.rows = [self._row(lane, hints[lane.source], results[lane.source]) for lane in lanes]
        searched = {lane.source.topic for lane in lanes}
        self.empty_topics = sorted({name for _, name in surveyed.routes} - searched)

    def write(self) -> None:
        """Commit the positions. Every row has an offset."""
        mirror = self.mirror
        shards = shards_of(mirror, self._partitions, os.cpu_count() or 1)
        ledger = ensure_topics(self._view, mirror.name, shards, mirror.replication_factor)
        control = Control(self._destination, mirror.name, mirror.delivery, limits_of(mirror))
        try:
            control.acquire(ledger.topic_id)
            generation = control.settle_shards(shards)
            # No other process writes the ledger from here on: what it holds now is complete.
            image = read_image(self._destination, mirror.name, LEDGER_SECONDS)
            self._refuse_twice(image)
            self._refuse_other_pools(image)
            self._refuse_growth()
            at = now_ms()
            positions = [self._position(row, generation.number, at) for row in self.rows]
            control.write(
                [
                    *((shard_of(position.source, shards), position) for position in positions),
                    *((CONTROL, part) for part in self._adopted(control.lease, at)),
                    *((CONTROL, record) for record in self._pools.records),
                ]
            )
        except (Again, Fenced) as error:
            raise Unreachable(
                "the positions were perhaps not written",
                where=self._where,
                why=str(error),
                todo="adopt again: it is refused if they were written",
            ) from None
        finally:
            control.close()

    def _written(self, lanes: Sequence[Lane], partitions: Mapping[str, int]) -> list[Lane]:
        """Lanes of topics whose destination holds, or held, records. The others have nothing to adopt."""
        topics = {lane.place.topic for lane in lanes}
        spots = [(name, n) for name in topics for n in range(partitions[name])]
        ends = self._view.all_offsets(spots, "latest")
        written = {topic for (topic, _), end in ends.items() if end > 0}
        return [lane for lane in lanes if lane.place.topic in written]

    def _row(self, lane: Lane, hint: Hint, result: SearchResult) -> AdoptionRow:
        accept, unchecked = self._options.accept, self._options.unchecked
        offset = start_offset(result.handoff, result.window, hint.offset, accept=accept, unchecked=unchecked)
        return AdoptionRow(lane, hint, result, offset)

    def _refuse(self, surveyed: Survey, ledger_state: LedgerState) -> None:
        self._refuse_twice(ledger_state)
        driver = ledger_state.heartbeats.get(0)
        if ledger_state.lease and driver and now_ms() - driver.at < 5_000 * self.mirror.heartbeat:
            raise IntegrityError(
                f"the mirror is running on {ledger_state.lease.host} (process {ledger_state.lease.pid})",
                where=self._where,
                todo="stop it first, and wait a few seconds",
            )
        if surveyed.refusals:
            raise PlanRefused(
                f"{counted(len(surveyed.refusals), 'topic')} cannot be replicated as configured",
                problems=tuple(str(refusal) for refusal in surveyed.refusals),
                where=self._where,
            )

    def _refuse_twice(self, ledger_state: LedgerState) -> None:
        known = sorted({source.topic for source in ledger_state.positions if source[:2] in self._topics})
        if known:
            raise IntegrityError(
                f"the ledger already has positions of {', '.join(known[:5])}{' …' * (len(known) > 5)}:"
                " adopting twice is refused",
                where=self._where,
                todo="`causeway run CONFIG` continues from these positions; to adopt only newer topics,"
                f" select them: -X 'mirrors.{self.mirror.name}.topics=[\"…\"]'",
            )

    def _refuse_other_pools(self, ledger_state: LedgerState) -> None:
        if ledger_state.pools != self._known_pools:
            raise IntegrityError(
                "the nodes of the source pool changed meanwhile", where=self._where, todo="adopt again"
            )

    def _refuse_growth(self) -> None:
        """The old tool must not write any more: what it adds now would be duplicated."""
        ends = self._view.offsets(self._endings, "latest")
        for spot, ending in self._endings.items():
            if ends.get(spot) != ending.end:
                raise IntegrityError(
                    f"something still writes to {spot[0]}[{spot[1]}]: its end moved from offset"
                    f" {ending.end} to {ends.get(spot)}",
                    where=self._where,
                    todo="stop the old tool, then adopt again",
                )

    def _position(self, row: AdoptionRow, generation: int, at: int) -> Position:
        lane, offset = row.lane, row.offset
        assert offset is not None
        ending = self._endings.get((lane.place.topic, lane.place.partition))
        return first_position(lane, offset, ending.end if ending else 0, generation, lease=0, at=at)

    def _adopted(self, lease: int, at: int) -> Iterator[Adopted]:
        ends = [(f"{topic}[{number}]", ending.end) for (topic, number), ending in self._endings.items()]
        for part, first in enumerate(range(0, max(len(self.rows), len(ends)), IN_ONE_RECORD)):
            rows = self.rows[first : first + IN_ONE_RECORD]
            starts: dict[str, list[str]] = {}
            for row in rows:
                starts.setdefault(row.lane.source.topic, []).append(f"{row.offset}")
            first_of = {row.lane.source.topic: row.lane.source.partition for row in reversed(rows)}
            yield Adopted(
                lease=lease,
                by=who(),
                hint=self._options.origin_text(self.mirror),
                accepted=self._options.accept,
                unchecked={str(row.lane.source): row.hint.offset for row in rows if row.unchecked},
                topics={
                    topic: f"{f'from partition {n} on ' if (n := first_of[topic]) else ''}starts at"
                    f" {', '.join(offsets)}"
                    for topic, offsets in starts.items()
                },
                ends=dict(ends[first : first + IN_ONE_RECORD]),
                at=at,
                part=part,
            )
