"""`causeway offsets skip`: moves a position by hand.

A move is written under the lease, in one transaction: the position, the gap that records who moved it and
why, and that the partition is no longer stopped. Nothing may change between what the operator saw and the
write: the ledger is read again after every other writer is fenced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from causeway.config import MirrorSettings, Settings
from causeway.core.clock import now_ms
from causeway.core.ledger_record import CONTROL, Gap, LedgerRecord, Stopped
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import ledger_topic
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Unreachable, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import LedgerReader, read_image
from causeway.kafka.ledger_access import LEDGER_SECONDS, refuse_running, who
from causeway.kafka.task_errors import Again, Fenced
from causeway.operations.offsets import ledger_of, unknown
from causeway.operations.rules.skipping import Log, Objection, Wanted, foretold, objection, target
from causeway.planning.clusters import cluster_of, limits_of
from causeway.rules.coverage import coverage_of
from causeway.rules.gaps import moved
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of


@dataclass(frozen=True, slots=True)
class Wish:
    """The operator's request."""

    topic: str
    to: Wanted
    partitions: tuple[int, ...] = ()  # empty: all of them
    source: str = ""  # the alias, if several sources have the topic
    back: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    position: Position
    log: Log
    to: int
    stopped: Stopped | None

    @property
    def verdict(self) -> str:
        return self.stopped.verdict if self.stopped else "skip"


class Skip:
    """Moves positions of one mirror by hand."""

    def __init__(self, settings: Settings, mirror: MirrorSettings, wish: Wish) -> None:
        if wish.source and wish.source not in mirror.source:
            raise UsageError(
                f'"{wish.source}" is no source of mirror "{mirror.name}"',
                todo=f"its sources are: {', '.join(mirror.source)}",
            )
        self.mirror = mirror
        self.moves: list[Move] = []
        self.foretold: list[str] = []
        self._wish = wish
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._sources = {
            alias: ClusterView(cluster_of(settings, alias))
            for alias in ((wish.source,) if wish.source else mirror.source)
        }
        self._where = f'mirror "{mirror.name}"'

    def look(self) -> None:
        """Determine the moves and their consequences. Raises if a move is not possible."""
        image = ledger_of(self._view, self.mirror)
        refuse_running(self._destination, self.mirror)
        positions = self._chosen(image)
        logs = self._logs([position.source for position in positions])
        self._refuse(positions, logs)
        for position in positions:
            source = position.source
            to = target(self._wish.to, logs[source])
            self.foretold.append(
                foretold(position, to, logs[source], coverage_of(position, image.gaps_of(source)))
            )
            if to != position.offset:
                self.moves.append(Move(position, logs[source], to, image.stopped.get(source)))

    def write(self) -> list[Gap]:
        """Move the positions; returns the gaps written to the ledger."""
        ledger = self._view.describe([ledger_topic(self.mirror.name)])
        control = Control(self._destination, self.mirror.name, self.mirror.delivery, limits_of(self.mirror))
        try:
            control.acquire(ledger[ledger_topic(self.mirror.name)].topic_id)
            shards = control.settle_shards(self._shards()).shards
            # Every other writer is fenced from here on: the ledger cannot change any more.
            image = read_image(self._destination, self.mirror.name, LEDGER_SECONDS)
            self._refuse_changes(image)
            entries: list[tuple[int, LedgerRecord]] = []
            gaps = []
            for move in self.moves:
                position = replace(image.positions[move.position.source], lease=control.lease)
                records = self._records(position, move)
                gaps.append(records[0])
                entries += [(shard_of(move.position.source, shards), record) for record in records]
            control.write(entries)
        except (Again, Fenced) as error:
            raise Unreachable(
                "the positions could not be moved, or nobody knows whether they were",
                where=self._where,
                why=str(error),
                todo="`causeway offsets show` tells whether they were",
            ) from None
        finally:
            control.close()
        return gaps

    def _chosen(self, image: LedgerState) -> list[Position]:
        wish = self._wish
        ids = {view.connect(): alias for alias, view in self._sources.items()}
        known = {
            source: position
            for source, position in sorted(image.positions.items())
            if source.topic == wish.topic and source.cluster in ids
        }
        if not known:
            raise unknown(wish.topic, image, self.mirror)
        aliases = sorted({ids[source.cluster] for source in known})
        if len(aliases) > 1:
            raise UsageError(
                f"{wish.topic} comes from several sources: {', '.join(aliases)}",
                where=self._where,
                todo=f"--source {aliases[0]}, or another of them",
            )
        by_number = {source.partition: position for source, position in known.items()}
        strange = [number for number in wish.partitions if number not in by_number]
        if strange:
            raise UsageError(
                f"the ledger does not know partition {strange[0]} of {wish.topic}:"
                f" it knows {', '.join(map(str, by_number))}",
                where=self._where,
            )
        if not wish.partitions:
            self._refuse_all(list(known), image)
        return [by_number[number] for number in sorted(set(wish.partitions) or by_number)]

    def _refuse_all(self, sources: list[SourcePartition], image: LedgerState) -> None:
        """Omitting --partition is only for records that are lost anyway: nothing else is skipped in bulk."""
        before_gap = [
            source for source in sources if source in image.stopped and image.stopped[source].verdict == "gap"
        ]
        if self._wish.to == "earliest" and len(before_gap) == len(sources):
            return
        named = " ".join(f"--partition {source.partition}" for source in before_gap)
        raise UsageError(
            f"all partitions of {self._wish.topic} at once: only with --to earliest, and where a gap"
            " stopped each of them",
            where=self._where,
            todo=named or "--partition, as often as needed",
        )

    def _logs(self, sources: list[SourcePartition]) -> dict[SourcePartition, Log]:
        (view,) = (view for view in self._sources.values() if view.cluster_id() == sources[0].cluster)
        facts = view.describe([source.topic for source in sources])
        spots = [(source.topic, source.partition) for source in sources if source.topic in facts]
        starts, ends = view.all_offsets(spots, "earliest"), view.all_offsets(spots, "latest")
        found = {}
        for source in sources:
            if source.topic not in facts:
                found[source] = Log(None)
                continue
            spot = source.topic, source.partition
            found[source] = Log(facts[source.topic].topic_id, starts[spot], ends[spot])
        return found

    def _refuse(self, positions: list[Position], logs: dict[SourcePartition, Log]) -> None:
        wish = self._wish
        for position in positions:
            found = objection(position, logs[position.source], wish.to, back=wish.back)
            if found is not None:
                raise self._objected(found)

    def _objected(self, found: Objection) -> CausewayError:
        kind = UsageError if found.usage else IntegrityError
        return kind(found.what, where=self._where, why="nothing was written", todo=found.todo)

    def _refuse_changes(self, image: LedgerState) -> None:
        logs = self._logs([move.position.source for move in self.moves])
        for move in self.moves:
            seen, now = move.position, image.positions.get(move.position.source)
            if now is None or (now.offset, now.topic_id) != (seen.offset, seen.topic_id):
                raise IntegrityError(
                    f"{seen.source} was at offset {seen.offset} a moment ago, and is at"
                    f" {now.offset if now else 'none'} now: somebody moved it",
                    where=self._where,
                    why="nothing was written",
                    todo="look again: causeway offsets show",
                )
            found = objection(now, logs[seen.source], move.to, back=self._wish.back)
            if found is not None:
                raise self._objected(found)

    def _records(self, position: Position, move: Move) -> tuple[Gap, Position, Stopped]:
        """The gap first: without transactions, no offset is skipped before its gap is written."""
        stopped = move.stopped
        why = self._wish.why or (stopped.what if stopped else "")
        new, gap = moved(position, move.to, verdict=move.verdict, by=who(), why=why, at=now_ms())
        cleared = Stopped(*position.source, verdict="", what="", todo="", at=new.at, lease=position.lease)
        return gap, new, cleared

    def _shards(self) -> int:
        """The number of shards of the current generation: a move does not change it."""
        reader = LedgerReader(self._destination, self.mirror.name, [CONTROL])
        try:
            generation = reader.read_to_end(LEDGER_SECONDS).generation
        finally:
            reader.close()
        if generation is None:
            raise PlanRefused("the ledger has no sharding yet", where=self._where, todo="run the mirror once")
        return generation.shards
