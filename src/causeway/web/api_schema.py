"""A snapshot as JSON, in the shapes that docs/api.md describes. -1, which means none, becomes null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from causeway.core.job import Job
from causeway.core.position import LATENCY_BOUNDS_MS
from causeway.core.snapshot import EventView, GapView, MirrorView, PartitionView, ShardView, Snapshot
from causeway.web.health_summary import (
    all_findings,
    catch_up_seconds,
    catching_up,
    findings,
    named,
    rpo,
    stale,
)
from causeway.web.history import History

ApiObject = dict[str, Any]
STANDING_SHOWN = 50
"""Maximum number of stopped partitions that every event describes."""


def overview(snapshot: Snapshot, history: History, now: int) -> ApiObject:
    """The process, its mirrors and the findings."""
    trends = {one.name: history.track(one.name).trend for one in snapshot.mirrors}
    return {
        "at": snapshot.at,
        "now": now,
        "stale": stale(snapshot, now),
        "version": snapshot.version,
        "host": snapshot.host,
        "pid": snapshot.pid,
        "started_at": snapshot.started_at,
        "prepared": snapshot.prepared,
        "findings": [asdict(one) for one in all_findings(snapshot, now, trends)],
        "rpo": rpo(snapshot.mirrors),
        "mirrors": [summary(one, history, now) for one in snapshot.mirrors],
    }


def summary(mirror: MirrorView, history: History, now: int) -> ApiObject:
    track = history.track(mirror.name)
    trend, last = track.trend, track.last
    return {
        "name": mirror.name,
        "state": mirror.state,
        "state_since": _known(mirror.state_since),
        "sources": list(mirror.sources),
        "destination": mirror.destination,
        "delivery": mirror.delivery,
        "findings": [asdict(one) for one in findings(mirror, now, trend)],
        "rpo": rpo((mirror,)),
        "catch_up": {"seconds": catch_up_seconds(mirror, trend), "words": catching_up(mirror, trend)},
        "records_per_second": round(mirror.records_per_second, 1),
        "bytes_per_second": round(mirror.bytes_per_second),
        "lag_records": mirror.lag_records,
        "lag_seconds": round(mirror.lag_seconds, 3),
        "p50_ms": _rounded(last.p50_ms if last else None),
        "p99_ms": _rounded(last.p99_ms if last else None),
        "delivered": mirror.delivered,
        "bytes": sum(one.bytes for one in mirror.partitions),
        "filtered": sum(one.filtered for one in mirror.partitions),
        "quarantined": sum(one.quarantined for one in mirror.partitions),
        "skipped": sum(one.skipped for one in mirror.partitions),
        "partitions": len(mirror.partitions),
        "standing": len(mirror.standing),
        "shards": len(mirror.shards),
        "gaps": len(mirror.gaps),
        "waiting_for": mirror.waiting_for,
        "blocked": mirror.blocked,
        "paused_by": mirror.paused_by,
        "unmatched": [asdict(one) for one in mirror.unmatched],
    }


def detail(mirror: MirrorView, history: History, now: int) -> ApiObject:
    """A mirror with the fields that only its own route has."""
    return {
        **summary(mirror, history, now),
        "lease": mirror.lease,
        "slice": mirror.slice,
        "slices": mirror.slices,
        "failed_slices": mirror.failed_slices,
        "group_commits": mirror.group_commits,
        "latency": _histogram(mirror.latency, mirror.latency_seconds),
        "carrying": _histogram(mirror.carrying, mirror.carrying_seconds),
    }


def moment(snapshot: Snapshot, history: History, now: int) -> ApiObject:
    """What the stream sends: the overview, and for each mirror what the page draws twice a second.

    Data that changes rarely is omitted; a mark changes when it must be requested again.
    """
    answer = overview(snapshot, history, now)
    for shape, mirror in zip(answer["mirrors"], snapshot.mirrors, strict=True):
        stopped = [index for index, one in enumerate(mirror.partitions) if one.verdict]
        shape["heat"] = [_heat(one) for one in mirror.partitions]
        shape["stopped"] = stopped
        shape["standing_still"] = [
            {
                "index": index,
                "name": named(mirror, mirror.partitions[index]),
                "verdict": mirror.partitions[index].verdict,
                "what": mirror.partitions[index].what,
                "todo": mirror.partitions[index].todo,
            }
            for index in stopped[:STANDING_SHOWN]
        ]
        shape["marks"] = {
            "layout": _mark((one.cluster, *place(one)) for one in mirror.partitions),
            "events": _mark((one.at, one.what) for one in mirror.events),
            "gaps": _mark((one.at, one.topic, one.partition, one.begin) for one in mirror.gaps),
            "configuration": _mark([mirror.configuration]),
        }
    return answer


def layout(mirror: MirrorView) -> list[ApiObject]:
    """Describes each cell of the heat map, in the order of the stream's `heat`."""
    return [
        {
            "name": named(mirror, one),
            "cluster": one.cluster,
            "topic": one.topic,
            "partition": one.partition,
            "to_topic": one.to_topic,
            "to_partition": _known(one.to_partition),
            "shard": one.shard,
        }
        for one in mirror.partitions
    ]


def partitions(mirror: MirrorView, text: str, order: str, limit: int) -> ApiObject:
    """Partitions whose name, destination topic or verdict contains a text; by name, or by lag."""
    wanted = text.casefold()
    matching = [one for one in mirror.partitions if wanted in _searched(mirror, one)]
    if order == "lag":
        matching.sort(key=lambda one: (not one.verdict, -one.lag_seconds, -one.lag_records))
    return {
        "total": len(mirror.partitions),
        "matching": len(matching),
        "partitions": [partition(mirror, one) for one in matching[:limit]],
    }


def partition(mirror: MirrorView, one: PartitionView) -> ApiObject:
    known = {
        name: _known(getattr(one, name))
        for name in (
            "to_partition", "start", "position", "to_end", "committed_at", "log_start", "log_end",
            "expected", "found",
        )
    }  # fmt: skip
    return {"name": named(mirror, one), **asdict(one), **known}


def shard(one: ShardView, now: int) -> ApiObject:
    age = round((now - one.heartbeat_at) / 1000, 1) if one.heartbeat_at >= 0 else None
    return {**asdict(one), "heartbeat_at": _known(one.heartbeat_at), "heartbeat_age": age}


def event(one: EventView) -> ApiObject:
    numbers = ("partition", "offset", "expected", "found", "gone")
    return {**asdict(one), **{name: _known(getattr(one, name)) for name in numbers}}


def gap(one: GapView) -> ApiObject:
    return {**asdict(one), "offsets": one.end - one.begin}


def job(one: Job) -> ApiObject:
    return {**asdict(one), "ended_at": _known(one.ended_at), "lines": list(one.lines)}


def place(one: PartitionView) -> tuple[str, int, str, int, int]:
    return one.topic, one.partition, one.to_topic, one.to_partition, one.shard


def _searched(mirror: MirrorView, one: PartitionView) -> str:
    standing = f"stopped {one.verdict}" if one.verdict else ""
    return f"{one.cluster}:{one.topic}[{one.partition}] {one.to_topic} {standing}".casefold()


def _heat(one: PartitionView) -> float | None:
    """Lag in seconds; None before the mirror has started with the partition."""
    if one.position < 0:
        return None
    return round(one.lag_seconds) if one.lag_seconds >= 10 else round(one.lag_seconds, 1)


def _histogram(counts: Sequence[int], seconds: float) -> ApiObject:
    return {"bounds_ms": list(LATENCY_BOUNDS_MS), "counts": list(counts), "sum_seconds": seconds}


def _mark(values: Iterable[object]) -> str:
    """A text that differs when the values differ; valid within this process only."""
    return f"{hash(tuple(values)) & 0xFFFFFFFFFFFF:x}"


def _known(value: int) -> int | None:
    return None if value == -1 else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
