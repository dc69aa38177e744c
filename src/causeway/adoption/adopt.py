"""`causeway adopt`: take over a destination that another tool has been writing to.

`look` only reads, and finds a handoff for each source partition. `write` commits the first positions, all in
one transaction with a record of who adopted what. From then on the mirror runs as if it had written the
destination from the start. So adopting twice is refused, and so is adopting while the mirror runs or while
the old tool still writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from causeway.adoption.cross_check import FoundHandoff
from causeway.adoption.handoff_search import Comparison
from causeway.adoption.resume_hints import Hint, HintRequest, hints_of
from causeway.adoption.rules.handoff import settle
from causeway.adoption.sides import AdoptionSides
from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.handoff import CountRange
from causeway.core.ledger_record import CONTROL, Adopted
from causeway.core.position import Position
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.errors import IntegrityError, PlanRefused, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_access import who
from causeway.kafka.ledger_topics import ensure_topics
from causeway.kafka.range_reader import Ending, ReadProgress, unwatched
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.clusters import cluster_of, limits_of, shards_of
from causeway.planning.plan import Survey, plan_of, survey
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of

LEDGER_SECONDS = 60.0
IN_ONE_RECORD = 1_000
"""Partitions in one Adopted record: below 1 MB even with the longest topic names."""


@dataclass(frozen=True, slots=True)
class Row:
    """A source partition: its hint, what was found, and the offset to start at, if it may start."""

    lane: Lane
    hint: Hint
    found: FoundHandoff
    offset: int | None

    @property
    def unchecked(self) -> bool:
        return self.offset is not None and self.found.seam.verdict in ("unmatched", "beyond")

    @property
    def twice(self) -> CountRange:
        """What will be replicated although the destination has it."""
        return self._cost(self.found.seam.twice, self.found.seam.repeat, self.found.window.log_end)

    @property
    def lost(self) -> CountRange:
        """What will be skipped although the destination does not have it."""
        return self._cost(self.found.seam.lost, self.found.seam.lose, self.found.window.log_start)

    def _cost(self, known: CountRange, at: int | None, far: int) -> CountRange:
        if self.offset is None:
            return CountRange()
        if self.unchecked:
            return CountRange(0, abs(far - self.offset))
        return known if self.offset == at else CountRange()


class Adoption:
    """The adoption of one mirror's destination."""

    def __init__(self, settings: Settings, mirror: MirrorSettings, asked: HintRequest) -> None:
        self.mirror = mirror
        self.rows: list[Row] = []
        self.left: list[str] = []  # topics with nothing to adopt: `run` starts them
        self._asked = asked
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._views = {alias: ClusterView(cluster_of(settings, alias)) for alias in mirror.source}
        self._endings: dict[Spot, Ending[bytes]] = {}
        self._topics: set[tuple[str, str]] = set()  # by the source cluster's id
        self._partitions = 0
        self._where = f'mirror "{mirror.name}"'

    def look(
        self, say: Callable[[str], None] = lambda text: None, progress: ReadProgress = unwatched
    ) -> None:
        """Read both sides; `rows` has what was found. Raises the error that prevents all of it."""
        mirror = self.mirror
        for view in (*self._views.values(), self._view):
            view.connect()
        image = read_image(self._destination, mirror.name)
        seen = survey(mirror, self._views, self._view, image, adopting=True)
        self._topics = {(self._views[alias].cluster_id(), name) for alias, name in seen.routes}
        self._refuse(seen, image)
        self._partitions = sum(route.source.partitions for route in seen.routes.values())
        partitions = {name: facts.partitions for name, facts in seen.destinations.items()}
        sides = AdoptionSides(self._asked, mirror, self._views, self._view, partitions, progress)
        every = plan_of(seen, self._views).lanes
        lanes = self._written(every, partitions)
        if lanes:
            say(f'reading the last records that mirror "{mirror.name}" would go on from')
            self._endings = sides.endings({lane.place.topic for lane in every})
            ends = {spot: ending.end for spot, ending in self._endings.items()}
            by_group = self._asked.origin == "group"
            hints = hints_of(self._asked, mirror, self._views, every if by_group else lanes, ends)
            # The group may have commits for topics that were never written to: these are checked too.
            known = {source[:2] for source, hint in hints.items() if hint.known and by_group}
            written = {lane.source for lane in lanes}
            lanes = [lane for lane in every if lane.source in written or lane.source[:2] in known]
            say(f"looking for the seams of {len(lanes)} partitions")
            found = Comparison(self._asked, sides, self._view).compare(lanes, hints, self._endings)
            self.rows = [self._row(lane, hints[lane.source], found[lane.source]) for lane in lanes]
        self.left = sorted({name for _, name in seen.routes} - {lane.source.topic for lane in lanes})

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
            self._refuse_twice(read_image(self._destination, mirror.name, LEDGER_SECONDS))
            self._refuse_growth()
            at = now_ms()
            positions = [self._position(row, generation.number, at) for row in self.rows]
            control.write(
                [
                    *((shard_of(position.source, shards), position) for position in positions),
                    *((CONTROL, part) for part in self._adopted(control.lease, at)),
                ]
            )
        except (Again, Fenced) as error:
            raise Unreachable(
                "the positions could not be written, or nobody knows whether they were",
                where=self._where,
                why=str(error),
                todo="adopt again: it is refused if they were",
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

    def _row(self, lane: Lane, hint: Hint, found: FoundHandoff) -> Row:
        accept, unchecked = self._asked.accept, self._asked.unchecked
        offset = settle(found.seam, found.window, hint.offset, accept=accept, unchecked=unchecked)
        return Row(lane, hint, found, offset)

    def _refuse(self, seen: Survey, image: LedgerState) -> None:
        self._refuse_twice(image)
        driver = image.heartbeats.get(0)
        if image.lease and driver and now_ms() - driver.at < 5_000 * self.mirror.heartbeat:
            raise IntegrityError(
                f"the mirror is running on {image.lease.host} (process {image.lease.pid})",
                where=self._where,
                todo="stop it first, and wait a few seconds",
            )
        if seen.refusals:
            raise PlanRefused(
                f"{len(seen.refusals)} topic(s) cannot be carried as they are",
                problems=tuple(str(refusal) for refusal in seen.refusals),
                where=self._where,
            )

    def _refuse_twice(self, image: LedgerState) -> None:
        known = sorted({one.topic for one in image.positions if one[:2] in self._topics})
        if known:
            raise IntegrityError(
                f"the ledger already holds positions of {', '.join(known[:5])}{' …' * (len(known) > 5)}:"
                " adopting twice is refused",
                where=self._where,
                todo="`causeway run CONFIG` goes on from there; topics that came later are adopted alone:"
                f" -X 'mirrors.{self.mirror.name}.topics=[\"…\"]'",
            )

    def _refuse_growth(self) -> None:
        """The old tool must not write any more: what it adds now would be duplicated."""
        ends = self._view.offsets(self._endings, "latest")
        for spot, ending in self._endings.items():
            if ends.get(spot) != ending.end:
                raise IntegrityError(
                    f"somebody writes to {spot[0]}[{spot[1]}]: it ended at {ending.end} and ends at"
                    f" {ends.get(spot)} now",
                    where=self._where,
                    todo="stop the old tool, then adopt again",
                )

    def _position(self, row: Row, generation: int, at: int) -> Position:
        lane, offset = row.lane, row.offset
        assert offset is not None
        ending = self._endings.get((lane.place.topic, lane.place.partition))
        return Position(
            source=lane.source,
            topic_id=lane.topic_id,
            start=offset,
            offset=offset,
            epoch=-1,
            place=lane.place,
            place_start=ending.end if ending else 0,
            place_end=-1,
            generation=generation,
            at=at,
        )

    def _adopted(self, lease: int, at: int) -> Iterator[Adopted]:
        ends = [(f"{topic}[{number}]", one.end) for (topic, number), one in self._endings.items()]
        for part, first in enumerate(range(0, max(len(self.rows), len(ends)), IN_ONE_RECORD)):
            some = self.rows[first : first + IN_ONE_RECORD]
            begins: dict[str, list[str]] = {}
            for row in some:
                begins.setdefault(row.lane.source.topic, []).append(f"{row.offset}")
            first_of = {row.lane.source.topic: row.lane.source.partition for row in reversed(some)}
            yield Adopted(
                lease=lease,
                by=who(),
                hint=self._asked.said(self.mirror),
                accepted=self._asked.accept,
                unchecked={str(row.lane.source): row.hint.offset for row in some if row.unchecked},
                topics={
                    topic: f"{f'from partition {n} on ' if (n := first_of[topic]) else ''}begins at"
                    f" {', '.join(offsets)}"
                    for topic, offsets in begins.items()
                },
                ends=dict(ends[first : first + IN_ONE_RECORD]),
                at=at,
                part=part,
            )
