"""The rows of a mirror's status (`core/snapshot.py`): the ledger compared with the sources' end offsets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from causeway.core.ledger_record import Gap, Heartbeat, Stopped
from causeway.core.offsets import describe_gap
from causeway.core.plan import Refusal
from causeway.core.position import NO_LATENCY, Place, Position, SourcePartition
from causeway.core.snapshot import UNROUTABLE, GapView, PartitionView, ShardView
from causeway.core.task_order import Lane
from causeway.replication.rules.lag_age import Ages
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of


@dataclass(slots=True)
class ShardCounts:
    """What a shard did in all slices of this process."""

    transactions: int = 0
    transaction_ms: int = 0
    transaction_records: int = 0
    retries: int = 0
    group_commits: int = 0
    carrying_ms: int = 0

    def __add__(self, other: ShardCounts) -> ShardCounts:
        return ShardCounts(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(ShardCounts))
        )


class Shards:
    """Heartbeats count from the start of their slice; this class counts from the start of the process."""

    def __init__(self) -> None:
        self.last: dict[int, Heartbeat] = {}
        self.fences: dict[int, int] = {}
        self._before: dict[int, tuple[ShardCounts, tuple[int, ...]]] = {}

    def apply(self, beat: Heartbeat) -> None:
        last = self.last.get(beat.shard)
        if last is not None and last.slice != beat.slice:
            counts, carrying = self.totals(beat.shard)
            self._before[beat.shard] = (counts, carrying)
        self.last[beat.shard] = beat

    def fenced(self, shard: int) -> None:
        self.fences[shard] = self.fences.get(shard, 0) + 1

    def totals(self, shard: int) -> tuple[ShardCounts, tuple[int, ...]]:
        counts, carrying = self._before.get(shard, (ShardCounts(), NO_LATENCY))
        beat = self.last.get(shard)
        if beat is None:
            return counts, carrying
        now = ShardCounts(*(getattr(beat, each.name) for each in fields(ShardCounts)))
        return counts + now, _added(carrying, beat.carrying or NO_LATENCY)

    def carrying(self) -> tuple[tuple[int, ...], float]:
        """Records by the time from fetch to commit, and the sum of those times in seconds."""
        counts, total = NO_LATENCY, 0
        for shard in self.last:
            done, carrying = self.totals(shard)
            counts, total = _added(counts, carrying), total + done.carrying_ms
        return counts, total / 1_000

    @property
    def group_commits(self) -> int:
        return sum(self.totals(shard)[0].group_commits for shard in self.last)

    def views(self, lanes: Iterable[Lane], shards: int) -> tuple[ShardView, ...]:
        homes = [shard_of(lane.source, shards) for lane in lanes]
        return tuple(self._view(shard, homes.count(shard)) for shard in range(1, shards + 1))

    def _view(self, shard: int, partitions: int) -> ShardView:
        beat = self.last.get(shard)
        counts, _ = self.totals(shard)
        where = (beat.host, beat.pid, beat.carrier, beat.slice, beat.at) if beat else ("", 0, "", 0, -1)
        return ShardView(
            shard, *where, partitions, counts.transactions, counts.transaction_ms / 1_000,
            counts.transaction_records, counts.retries, self.fences.get(shard, 0),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Logs:
    """Log starts and ends of the source partitions, when the ends were reached, and the matching positions.

    Positions are taken before the ends are fetched: a log ends at or after what was replicated of it. A
    position taken later could lie after the end that it is shown with.
    """

    starts: Mapping[SourcePartition, int]
    ends: Mapping[SourcePartition, int]
    ages: Ages[SourcePartition]
    positions: Mapping[SourcePartition, Position] = field(default_factory=dict)

    def settled(self, positions: Mapping[SourcePartition, Position]) -> Logs:
        """With current positions, when ends cannot be fetched: a log ends at or after what was replicated."""
        reached = {source: positions[source].offset for source in self.ends if source in positions}
        ends = {source: max(end, reached.get(source, end)) for source, end in self.ends.items()}
        return replace(self, ends=ends, positions=positions)


class PartitionRows:
    """Views of partitions. Only those that changed or lag are built again: of a thousand, most are idle."""

    def __init__(self) -> None:
        self._known: dict[SourcePartition, tuple[tuple[object, ...], PartitionView]] = {}

    def views(
        self,
        lanes: Iterable[Lane],
        stopped: Mapping[SourcePartition, Stopped],
        logs: Logs,
        aliases: Mapping[str, str],
        shards: int,
        waits: Mapping[SourcePartition, str] | None = None,
    ) -> tuple[PartitionView, ...]:
        now = time.monotonic()
        known, self._known = self._known, {}
        views = []
        for lane in sorted(lanes, key=lambda lane: lane.source):
            source = lane.source
            position, stop = logs.positions.get(source), stopped.get(source)
            wait = (waits or {}).get(source, "")
            made_of = (
                lane.place,
                position,
                stop,
                logs.starts.get(source),
                logs.ends.get(source),
                shards,
                wait,
            )
            before = known.get(source)
            if before is not None and before[0] == made_of and not before[1].lag_records:
                view = before[1]
            else:
                view = _partition(lane, position, stop, logs, aliases, shards, now, wait)
            self._known[source] = made_of, view
            views.append(view)
        return tuple(views)


def _partition(
    lane: Lane,
    position: Position | None,
    stopped: Stopped | None,
    logs: Logs,
    aliases: Mapping[str, str],
    shards: int,
    now: float,
    wait: str,
) -> PartitionView:
    source, place = lane.source, lane.place
    log_start, log_end = logs.starts.get(source, -1), logs.ends.get(source, -1)
    at = position.offset if position else max(0, log_start)
    lag = max(0, log_end - at)
    tally = position.tally if position else None
    size = tally.bytes / tally.delivered if tally and tally.delivered else 0.0
    return PartitionView(
        cluster=aliases.get(source.cluster, source.cluster),
        topic=source.topic,
        partition=source.partition,
        to_topic=place.topic,
        to_partition=place.partition,
        shard=shard_of(source, shards),
        start=position.start if position else -1,
        position=position.offset if position else -1,
        log_start=log_start,
        log_end=log_end,
        to_end=position.place_end if position else -1,
        committed_at=position.at if position else -1,
        delivered=tally.delivered if tally else 0,
        filtered=tally.filtered if tally else 0,
        quarantined=tally.quarantined if tally else 0,
        holes=tally.holes if tally else 0,
        skipped=tally.skipped if tally else 0,
        bytes=tally.bytes if tally else 0,
        filtered_bytes=tally.filtered_bytes if tally else 0,
        quarantined_bytes=tally.quarantined_bytes if tally else 0,
        lag_records=lag,
        lag_bytes=int(lag * size),
        lag_seconds=logs.ages.age(now, source, at) if lag else 0.0,
        lag_older=bool(lag) and logs.ages.older(source, at),
        verdict=stopped.verdict if stopped else "",
        what=stopped.what if stopped else "",
        todo=stopped.todo if stopped else "",
        expected=stopped.expected if stopped else -1,
        found=stopped.found if stopped else -1,
        gone=stopped.gone if stopped else 0,
        waits_for="" if stopped else wait,
    )


def refused_lane(source: SourcePartition, refusal: Refusal) -> Lane:
    """A refused partition, to be shown among the others: its records count as lag."""
    return Lane(source, "", Place(refusal.to, "", -1), until=None)


def refused_stop(source: SourcePartition, refusal: Refusal) -> Stopped:
    return Stopped(*source, verdict=UNROUTABLE, what=refusal.why, todo=refusal.todo, at=0)


def gaps(image: LedgerState, aliases: Mapping[str, str]) -> tuple[GapView, ...]:
    """All gaps in the ledger, the latest first."""
    return tuple(_gap(gap, aliases) for gap in reversed(image.gaps_in_order()))


def _gap(gap: Gap, aliases: Mapping[str, str]) -> GapView:
    return GapView(
        gap.at, aliases.get(gap.cluster, gap.cluster), gap.topic, gap.partition, gap.verdict,
        gap.begin, gap.end, gap.by, describe_gap(gap), gap.why, gap.skipped,
    )  # fmt: skip


def _added(left: Iterable[int], right: Iterable[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))
