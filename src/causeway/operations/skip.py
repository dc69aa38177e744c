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
from causeway.core.topic import NO_TOPIC_ID
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Unreachable, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.lease import Control
from causeway.kafka.ledger import LedgerReader, read_image
from causeway.kafka.ledger_access import LEDGER_SECONDS, refuse_running, who
from causeway.kafka.pool_view import PoolView
from causeway.kafka.task_errors import Again, Fenced
from causeway.operations.offsets import read_ledger, unknown_topic
from causeway.operations.rules.skipping import (
    MoveRefusal,
    SourceLog,
    TargetOffset,
    describe_move,
    refusal_of,
    target,
)
from causeway.planning.clusters import cluster_of, limits_of
from causeway.planning.pool_nodes import read_pools
from causeway.planning.source_pools import source_view
from causeway.rules.coverage import coverage_of
from causeway.rules.gaps import moved
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of


@dataclass(frozen=True, slots=True)
class SkipRequest:
    """The operator's request."""

    topic: str
    to: TargetOffset
    partitions: tuple[int, ...] = ()  # empty: all of them
    source: str = ""  # the alias, if several sources have the topic
    back: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    position: Position
    log: SourceLog
    to: int
    stopped: Stopped | None

    @property
    def verdict(self) -> str:
        return self.stopped.verdict if self.stopped else "skip"


class Skip:
    """Moves positions of one mirror by hand."""

    def __init__(self, settings: Settings, mirror: MirrorSettings, request: SkipRequest) -> None:
        if request.source and request.source not in mirror.source:
            raise UsageError(
                f'"{request.source}" is no source of mirror "{mirror.name}"',
                todo=f"its sources are: {', '.join(mirror.source)}",
            )
        self.mirror = mirror
        self.moves: list[Move] = []
        self.consequences: list[str] = []  # a line for each pool that is read, and for each partition
        self._request = request
        self._destination = cluster_of(settings, mirror.destination)
        self._view = ClusterView(self._destination)
        self._sources = {
            alias: source_view(settings, alias)
            for alias in ((request.source,) if request.source else mirror.source)
        }
        self._where = f'mirror "{mirror.name}"'

    def plan(self) -> None:
        """Determine the moves and their consequences. Raises if a move is not possible."""
        ledger = read_ledger(self._view, self.mirror)
        refuse_running(self._destination, self.mirror)
        for view in self._sources.values():
            view.connect()
        reads, refused = read_pools(self.mirror, self._sources, self._destination)
        self.consequences += [*refused, *map(str, reads)]
        positions = self._chosen(ledger)
        logs = self._logs(positions)
        self._refuse(positions, logs)
        for position in positions:
            source = position.source
            to = target(self._request.to, logs[source])
            self.consequences.append(
                describe_move(position, to, logs[source], coverage_of(position, ledger.gaps_of(source)))
            )
            if to != position.offset:
                self.moves.append(Move(position, logs[source], to, ledger.stopped.get(source)))

    def write(self) -> list[Gap]:
        """Move the positions; returns the gaps written to the ledger."""
        topic = ledger_topic(self.mirror.name)
        facts = self._view.describe([topic])[topic]
        control = Control(self._destination, self.mirror.name, self.mirror.delivery, limits_of(self.mirror))
        try:
            control.acquire(facts.topic_id)
            shards = control.settle_shards(self._shards()).shards
            # Every other writer is fenced from here on: the ledger cannot change any more.
            ledger = read_image(self._destination, self.mirror.name, LEDGER_SECONDS)
            self._refuse_changes(ledger)
            entries: list[tuple[int, LedgerRecord]] = []
            gaps = []
            for move in self.moves:
                position = replace(ledger.positions[move.position.source], lease=control.lease)
                records = self._records(position, move)
                gaps.append(records[0])
                entries += [(shard_of(move.position.source, shards), record) for record in records]
            control.write(entries)
        except (Again, Fenced) as error:
            raise Unreachable(
                "the positions were perhaps not moved",
                where=self._where,
                why=str(error),
                todo="`causeway offsets show` shows whether they were moved",
            ) from None
        finally:
            control.close()
        return gaps

    def _chosen(self, ledger: LedgerState) -> list[Position]:
        request = self._request
        ids = {view.cluster_id(): alias for alias, view in self._sources.items()}
        known = {
            source: position
            for source, position in sorted(ledger.positions.items())
            if source.topic == request.topic and source.cluster in ids
        }
        if not known:
            raise unknown_topic(request.topic, ledger, self.mirror)
        aliases = sorted({ids[source.cluster] for source in known})
        if len(aliases) > 1:
            raise UsageError(
                f"{request.topic} comes from several sources: {', '.join(aliases)}",
                where=self._where,
                todo=f"choose one, such as --source {aliases[0]}",
            )
        by_number = {source.partition: position for source, position in known.items()}
        unknown = [number for number in request.partitions if number not in by_number]
        if unknown:
            raise UsageError(
                f"the ledger has no position of partition {unknown[0]} of {request.topic}:"
                f" it has {', '.join(map(str, by_number))}",
                where=self._where,
            )
        if not request.partitions:
            self._refuse_all(list(known), ledger)
        return [by_number[number] for number in sorted(set(request.partitions) or by_number)]

    def _refuse_all(self, sources: list[SourcePartition], ledger: LedgerState) -> None:
        """Omitting --partition is only for records that are lost anyway: nothing else is skipped in bulk."""
        stopped_by_gap = [
            source
            for source in sources
            if source in ledger.stopped and ledger.stopped[source].verdict == "gap"
        ]
        if self._request.to == "earliest" and len(stopped_by_gap) == len(sources):
            return
        partitions = " ".join(f"--partition {source.partition}" for source in stopped_by_gap)
        raise UsageError(
            f"all partitions of {self._request.topic} can be moved together only with --to earliest, and if"
            " each of them is stopped by a gap",
            where=self._where,
            todo=partitions or "name each partition with --partition",
        )

    def _logs(self, positions: list[Position]) -> dict[SourcePartition, SourceLog]:
        sources = [position.source for position in positions]
        (view,) = (view for view in self._sources.values() if view.cluster_id() == sources[0].cluster)
        node = view.node_in_use() if isinstance(view, PoolView) else view
        facts = node.describe([source.topic for source in sources])
        spots = [(source.topic, source.partition) for source in sources if source.topic in facts]
        starts, ends = node.all_offsets(spots, "earliest"), node.all_offsets(spots, "latest")
        logs = {}
        for position in positions:
            source = position.source
            if source.topic not in facts:
                logs[source] = SourceLog(None)
                continue
            spot = source.topic, source.partition
            topic_id = facts[source.topic].topic_id
            if (position.node or source.cluster) != node.cluster_id():
                topic_id = NO_TOPIC_ID  # each node of a pool has another one
            logs[source] = SourceLog(topic_id, starts[spot], ends[spot])
        return logs

    def _refuse(self, positions: list[Position], logs: dict[SourcePartition, SourceLog]) -> None:
        request = self._request
        for position in positions:
            refusal = refusal_of(position, logs[position.source], request.to, back=request.back)
            if refusal is not None:
                raise self._error(refusal)

    def _error(self, refusal: MoveRefusal) -> CausewayError:
        kind = UsageError if refusal.usage else IntegrityError
        return kind(refusal.what, where=self._where, why="nothing was written", todo=refusal.todo)

    def _refuse_changes(self, ledger: LedgerState) -> None:
        logs = self._logs([move.position for move in self.moves])
        for move in self.moves:
            seen, now = move.position, ledger.positions.get(move.position.source)
            if now is None or (now.offset, now.topic_id) != (seen.offset, seen.topic_id):
                raise IntegrityError(
                    f"the position of {seen.source} changed from offset {seen.offset} to"
                    f" {now.offset if now else 'none'} meanwhile",
                    where=self._where,
                    why="nothing was written",
                    todo="check the positions again: causeway offsets show",
                )
            refusal = refusal_of(now, logs[seen.source], move.to, back=self._request.back)
            if refusal is not None:
                raise self._error(refusal)

    def _records(self, position: Position, move: Move) -> tuple[Gap, Position, Stopped]:
        """The gap first: without transactions, no offset is skipped before its gap is written."""
        stopped = move.stopped
        why = self._request.why or (stopped.what if stopped else "")
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
            raise PlanRefused("the ledger has no shards yet", where=self._where, todo="run the mirror once")
        return generation.shards
