"""Builds the API's responses (`api_schema`) from a snapshot. -1, which means none, becomes null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from causeway.core.job import Job
from causeway.core.position import LATENCY_BOUNDS_MS
from causeway.core.snapshot import EventView, GapView, MirrorView, PartitionView, ShardView, Snapshot
from causeway.web import pool_responses
from causeway.web.api_schema import (
    ApiCatchUp,
    ApiEvent,
    ApiFinding,
    ApiGap,
    ApiGapList,
    ApiHistogram,
    ApiHistory,
    ApiJob,
    ApiLayout,
    ApiLayoutCell,
    ApiMirror,
    ApiMirrorDetail,
    ApiPartition,
    ApiPartitionList,
    ApiProcess,
    ApiShard,
    ApiStoppedPartition,
    ApiStreamedMirror,
    ApiStreamEvent,
    ApiUnmatched,
    ApiVersions,
)
from causeway.web.health_summary import (
    HealthFinding,
    all_findings,
    catch_up_seconds,
    catch_up_text,
    findings,
    lag_known,
    lagging,
    partition_name,
    rpo,
    stale,
)
from causeway.web.history import History

PARTITION_FIELDS = {field.name for field in fields(PartitionView)} & set(ApiPartition.model_fields)
PARTITION_OFFSETS = (
    "log_start", "log_end", "start", "position", "to_end", "committed_at", "expected", "found",
)  # fmt: skip
STOPPED_SHOWN = 50
"""Maximum number of stopped partitions that every event of the stream describes."""


def process(snapshot: Snapshot, history: History, now: int) -> ApiProcess:
    """The process, its mirrors and the findings."""
    mirrors = [_mirror(mirror, history, now) for mirror in snapshot.mirrors]
    return ApiProcess(**_process(snapshot, history, now), mirrors=[ApiMirror(**values) for values in mirrors])


def mirror_detail(mirror: MirrorView, history: History, now: int) -> ApiMirrorDetail:
    """A mirror with the fields that only its own route has."""
    return ApiMirrorDetail(
        **_mirror(mirror, history, now),
        lease=mirror.lease,
        slice=mirror.slice,
        slices=mirror.slices,
        failed_slices=mirror.failed_slices,
        group_commits=mirror.group_commits,
        latency=_histogram(mirror.latency, mirror.latency_seconds),
        fetch_to_commit=_histogram(mirror.carrying, mirror.carrying_seconds),
    )


def stream_event(snapshot: Snapshot, history: History, now: int) -> ApiStreamEvent:
    """The process, and for each mirror what the page draws twice a second.

    Data that changes rarely is omitted; its version changes when the page must request it again.
    """
    return ApiStreamEvent(
        **_process(snapshot, history, now),
        mirrors=[_streamed(mirror, history, now) for mirror in snapshot.mirrors],
    )


def layout(mirror: MirrorView) -> ApiLayout:
    """Describes each cell of the heat map, in the order of the stream's `partition_lag_seconds`."""
    return ApiLayout(
        partitions=[ApiLayoutCell(**_cell(mirror, partition)) for partition in mirror.partitions]
    )


def partitions(mirror: MirrorView, text: str, order: str, limit: int) -> ApiPartitionList:
    """Partitions whose name, destination topic or verdict contains a text; by name, or by lag."""
    wanted = text.casefold()
    matching = [partition for partition in mirror.partitions if wanted in _searched(partition)]
    if order == "lag":
        matching.sort(key=lambda view: (not view.verdict, -view.lag_seconds, -view.lag_records))
    return ApiPartitionList(
        total=len(mirror.partitions),
        matching=len(matching),
        partitions=[_partition(mirror, partition) for partition in matching[:limit]],
    )


def shard(view: ShardView, now: int) -> ApiShard:
    age = round(max(0, now - view.heartbeat_at) / 1000, 1) if view.heartbeat_at >= 0 else None
    values = asdict(view) | {"heartbeat_at": _known(view.heartbeat_at)}
    return ApiShard(**values, heartbeat_age_seconds=age)


def event(view: EventView) -> ApiEvent:
    numbers = ("partition", "offset", "expected", "found", "gone")
    return ApiEvent(**asdict(view) | {name: _known(getattr(view, name)) for name in numbers})


def gaps(views: Sequence[GapView], limit: int) -> ApiGapList:
    return ApiGapList(total=len(views), gaps=[_gap(view) for view in views[:limit]])


def history_of(mirror: MirrorView, history: History, since: int) -> ApiHistory:
    return ApiHistory(mirror=mirror.name, **history.series(mirror.name, since))


def job(view: Job) -> ApiJob:
    return ApiJob(**asdict(view) | {"ended_at": _known(view.ended_at)})


def _process(snapshot: Snapshot, history: History, now: int) -> dict[str, Any]:
    trends = {mirror.name: history.track(mirror.name).trend for mirror in snapshot.mirrors}
    return {
        "at": snapshot.at,
        "now": now,
        "stale": stale(snapshot, now),
        "version": snapshot.version,
        "host": snapshot.host,
        "pid": snapshot.pid,
        "started_at": snapshot.started_at,
        "prepared": snapshot.prepared,
        "findings": _findings(all_findings(snapshot, now, trends)),
        "rpo": rpo(snapshot.mirrors),
    }


def _mirror(mirror: MirrorView, history: History, now: int) -> dict[str, Any]:
    track = history.track(mirror.name)
    trend, last = track.trend, track.last
    known = lag_known(mirror)
    return {
        "name": mirror.name,
        "sources": list(mirror.sources),
        "destination": mirror.destination,
        "delivery": mirror.delivery,
        "state": mirror.state,
        "state_since": _known(mirror.state_since),
        "findings": _findings(findings(mirror, now, trend)),
        "rpo": rpo((mirror,)),
        "catch_up": ApiCatchUp(seconds=catch_up_seconds(mirror, trend), text=catch_up_text(mirror, trend)),
        "records_per_second": round(mirror.records_per_second, 1),
        "bytes_per_second": round(mirror.bytes_per_second),
        "lag_records": mirror.lag_records if known else None,
        "lag_seconds": round(mirror.lag_seconds, 3) if known else None,
        "p50_ms": _rounded(last.p50_ms if last else None),
        "p99_ms": _rounded(last.p99_ms if last else None),
        "delivered": mirror.delivered,
        "bytes": sum(partition.bytes for partition in mirror.partitions),
        "filtered": sum(partition.filtered for partition in mirror.partitions),
        "quarantined": sum(partition.quarantined for partition in mirror.partitions),
        "skipped": sum(partition.skipped for partition in mirror.partitions),
        "partitions": len(mirror.partitions),
        "stopped": len(mirror.stopped_partitions),
        "shards": len(mirror.shards),
        "gaps": len(mirror.gaps),
        "waiting_for": mirror.waiting_for,
        "blocked": mirror.blocked,
        "paused_by": mirror.paused_by,
        "waiting_why": mirror.waiting_why,
        "pools": [pool_responses.pool(pool) for pool in mirror.pools],
        "unmatched": [ApiUnmatched(**asdict(entry)) for entry in mirror.unmatched],
    }


def _streamed(mirror: MirrorView, history: History, now: int) -> ApiStreamedMirror:
    views = mirror.partitions
    stopped = [index for index, partition in enumerate(views) if partition.verdict]
    return ApiStreamedMirror(
        **_mirror(mirror, history, now),
        partition_lag_seconds=[_streamed_lag(partition) for partition in views],
        stopped_indexes=stopped,
        stopped_partitions=[
            ApiStoppedPartition(
                index=index,
                name=partition_name(mirror, views[index]),
                verdict=views[index].verdict,
                what=views[index].what,
                todo=views[index].todo,
            )
            for index in stopped[:STOPPED_SHOWN]
        ],
        versions=ApiVersions(
            layout=_version(
                (view.cluster, view.topic, view.partition, view.to_topic, view.to_partition, view.shard)
                for view in views
            ),
            events=_version((view.at, view.what) for view in mirror.events),
            gaps=_version((view.at, view.topic, view.partition, view.begin) for view in mirror.gaps),
            configuration=_version([mirror.configuration]),
        ),
    )


def _findings(found: Iterable[HealthFinding]) -> list[ApiFinding]:
    return [ApiFinding(**asdict(finding)) for finding in found]


def _cell(mirror: MirrorView, view: PartitionView) -> dict[str, Any]:
    return {
        "name": partition_name(mirror, view),
        "cluster": view.cluster,
        "topic": view.topic,
        "partition": view.partition,
        "to_topic": view.to_topic,
        "to_partition": _known(view.to_partition),
        "shard": view.shard,
    }


def _partition(mirror: MirrorView, view: PartitionView) -> ApiPartition:
    # Not asdict(): it copies values, and takes several times as long.
    values = {name: getattr(view, name) for name in PARTITION_FIELDS}
    values |= _cell(mirror, view)
    values |= {name: _known(values[name]) for name in PARTITION_OFFSETS}
    if view.log_end < 0:
        values |= dict.fromkeys(("lag_records", "lag_bytes", "lag_seconds"))
    if not view.verdict:
        values["gone"] = None
    return ApiPartition(**values, lag_seconds_is_minimum=view.lag_older, lagging=lagging(view))


def _gap(view: GapView) -> ApiGap:
    return ApiGap(**asdict(view), offsets=view.end - view.begin)


def _searched(view: PartitionView) -> str:
    stopped = f"stopped {view.verdict}" if view.verdict else ""
    return f"{view.cluster}:{view.topic}[{view.partition}] {view.to_topic} {stopped}".casefold()


def _streamed_lag(view: PartitionView) -> float | None:
    """Lag in seconds, short: a thousand of them are sent twice a second."""
    if view.position < 0 or view.log_end < 0:
        return None
    return round(view.lag_seconds) if view.lag_seconds >= 10 else round(view.lag_seconds, 1)


def _histogram(counts: Sequence[int], seconds: float) -> ApiHistogram:
    return ApiHistogram(bounds_ms=list(LATENCY_BOUNDS_MS), counts=list(counts), sum_seconds=seconds)


def _version(values: Iterable[object]) -> str:
    """A text that differs when the values differ; valid within this process only."""
    return f"{hash(tuple(values)) & 0xFFFFFFFFFFFF:x}"


def _known(value: int) -> int | None:
    return None if value == -1 else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
