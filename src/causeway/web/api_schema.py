"""The API's schema: every response as a model.

The server builds its responses from these models, and `causeway status` parses them. The tables of
docs/api.md are generated from them. A test compares the fields that the page's script reads with them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from causeway.core.job import JobState
from causeway.core.snapshot import EventLevel, State
from causeway.web.api_base import ApiModel
from causeway.web.api_pools import (
    ApiNode,
    ApiNodeLag,
    ApiNodeLagList,
    ApiNodeMove,
    ApiNodeRequest,
    ApiNodeResult,
    ApiPool,
)

__all__ = [
    "LEVELS",
    "ApiAccepted",
    "ApiCatchUp",
    "ApiConfiguration",
    "ApiError",
    "ApiEvent",
    "ApiEventList",
    "ApiFinding",
    "ApiGap",
    "ApiGapList",
    "ApiHistogram",
    "ApiHistory",
    "ApiJob",
    "ApiLayout",
    "ApiLayoutCell",
    "ApiLive",
    "ApiMirror",
    "ApiMirrorDetail",
    "ApiModel",
    "ApiNode",
    "ApiNodeLag",
    "ApiNodeLagList",
    "ApiNodeMove",
    "ApiNodeRequest",
    "ApiNodeResult",
    "ApiPartition",
    "ApiPartitionList",
    "ApiPool",
    "ApiProcess",
    "ApiProcessState",
    "ApiReady",
    "ApiShard",
    "ApiShardList",
    "ApiStarted",
    "ApiStoppedPartition",
    "ApiStreamEvent",
    "ApiStreamedMirror",
    "ApiUnmatched",
    "ApiVersions",
    "HealthLevel",
]

HealthLevel = Literal["error", "warning", "notice", "ok"]
LEVELS: tuple[HealthLevel, ...] = ("error", "warning", "notice", "ok")
"""From the worst to the best."""


class ApiError(ApiModel):
    error: str = Field(description="why the request failed")
    todo: str = Field(description="what to do, or empty")


class ApiFinding(ApiModel):
    level: HealthLevel = Field(description="`error`, `warning`, `notice` or `ok`")
    what: str = Field(description="one sentence")
    todo: str = Field(description="what to do; empty if there is nothing to do")
    mirror: str = Field(description="the mirror; empty if the finding is about the whole process")


class ApiCatchUp(ApiModel):
    seconds: float | None = Field(
        description="time until the backlog is replicated, at the rate of the last minute; 0 if the mirror"
        " has caught up, `null` if unknown"
    )
    text: str = Field(description="the same as text, with the reason if it is unknown")


class ApiUnmatched(ApiModel):
    entry: str = Field(description="an entry of `topics` that selects no topic")
    sources: list[str] = Field(description="the sources that were searched")
    nearest: str = Field(description="the topic with the most similar name, or empty")
    excluded: bool = Field(description="topics match the entry, but `exclude` removes all of them")


class ApiMirror(ApiModel):
    name: str = Field(description="as configured")
    sources: list[str] = Field(description="aliases of the source clusters")
    destination: str = Field(description="alias of the destination cluster")
    delivery: str = Field(description="`exactly-once` or `at-least-once`")
    state: State = Field(
        description="`starting` (until every shard has sent a heartbeat), `running`, `waiting` (a cluster"
        " does not respond, or no node of a pool can be read from), `paused`, `done`, `stopped` or `failed`"
    )
    state_since: int | None = Field(description="when it entered this state")
    findings: list[ApiFinding] = Field(description="as for the process, of this mirror alone")
    rpo: str = Field(description="as for the process, of this mirror alone")
    catch_up: ApiCatchUp = Field(description="when the backlog will be replicated")
    records_per_second: float = Field(description="over the last seconds")
    bytes_per_second: int = Field(description="over the last seconds, keys and values")
    lag_records: int | None = Field(
        description="offsets on the sources that are not replicated yet; `null` while no log end is known"
    )
    lag_seconds: float | None = Field(description="how long the oldest of them has been waiting")
    p50_ms: float | None = Field(
        description="record timestamp to commit, of the last 10 s; `null` if nothing was replicated"
    )
    p99_ms: float | None = Field(description="the same, 99th percentile")
    delivered: int = Field(description="records committed at the destination, since the mirror began")
    bytes: int = Field(description="their bytes, keys and values")
    filtered: int = Field(description="records that filters dropped")
    quarantined: int = Field(description="records that the destination rejected, in the quarantine topic")
    skipped: int = Field(description="offsets that were skipped; moves back count negative")
    partitions: int = Field(description="number of source partitions")
    stopped: int = Field(description="number of partitions that are stopped until an operator acts")
    shards: int = Field(description="number of shards")
    gaps: int = Field(description="number of gaps, since the mirror began")
    waiting_for: str = Field(
        description="the cluster that does not respond, or the pool without a node to read from, or empty"
    )
    waiting_why: str = Field(
        description="how the cluster refuses this mirror, or why none of a pool's nodes can be read from;"
        " empty if it does not respond at all"
    )
    blocked: str = Field(
        description="why the destination rejects records although it responds (too few in-sync replicas),"
        " or empty"
    )
    paused_by: str = Field(description="who paused it, or empty")
    unmatched: list[ApiUnmatched] = Field(description="entries of `topics` that select no topic")
    pools: list[ApiPool] = Field(description="its source pools; empty if its sources are clusters")


class ApiProcessState(ApiModel):
    at: int = Field(description="when the snapshot was made")
    now: int = Field(description="when the request was served")
    stale: bool = Field(description="the snapshot is more than 10 s old")
    version: str = Field(description="Causeway's version")
    host: str = Field(description="where the process runs")
    pid: int = Field(description="its process id")
    started_at: int = Field(description="when it started")
    prepared: bool = Field(description="every mirror has its lease and its plan")
    findings: list[ApiFinding] = Field(
        min_length=1, description="the state of all mirrors, the worst first; never empty"
    )
    rpo: str = Field(description="how many records would be lost with the sources now, as text")


class ApiProcess(ApiProcessState):
    mirrors: list[ApiMirror] = Field(description="every mirror of the process")


class ApiHistogram(ApiModel):
    bounds_ms: list[int] = Field(description="upper bounds of the buckets")
    counts: list[int] = Field(description="records in each bucket; the last one is above all bounds")
    sum_seconds: float = Field(description="sum of all times")


class ApiMirrorDetail(ApiMirror):
    lease: int = Field(description="number of the lease; 0 before it is taken")
    slice: int = Field(description="number of the running slice (Spark job)")
    slices: int = Field(description="slices that ended, in this process")
    failed_slices: int = Field(description="those that failed")
    group_commits: int = Field(description="commits to the source's consumer group, in this process")
    latency: ApiHistogram = Field(description="record timestamp to commit, since the mirror began")
    fetch_to_commit: ApiHistogram = Field(description="fetch to commit, in this process")


class ApiLayoutCell(ApiModel):
    name: str = Field(description="`topic[partition]`, with the cluster if there are several sources")
    cluster: str = Field(description="alias of the source")
    topic: str = Field(description="on the source")
    partition: int = Field(description="on the source")
    to_topic: str = Field(description="destination topic")
    to_partition: int | None = Field(description="destination partition; `null` if the record's key chooses")
    shard: int = Field(description="the shard that replicates it")


class ApiLayout(ApiModel):
    partitions: list[ApiLayoutCell] = Field(
        description="in the order of the stream's `partition_lag_seconds`"
    )


class ApiPartition(ApiLayoutCell):
    log_start: int | None = Field(description="first offset of the source's log")
    log_end: int | None = Field(description="end of the source's log, as a read_committed consumer sees it")
    start: int | None = Field(description="the offset that the mirror began with")
    position: int | None = Field(description="the next offset to replicate")
    to_end: int | None = Field(description="the destination offset after the last replicated record")
    committed_at: int | None = Field(description="when its position was last committed")
    delivered: int = Field(
        description="records committed at the destination; `position` − `start` is the sum of `delivered`,"
        " `filtered`, `quarantined`, `holes` and `skipped`"
    )
    filtered: int = Field(description="records that filters dropped")
    quarantined: int = Field(description="records in the quarantine topic")
    holes: int = Field(
        description="offsets without a record: transaction markers, aborted or compacted records"
    )
    skipped: int = Field(description="offsets that were skipped; moves back count negative")
    bytes: int = Field(description="keys and values of the delivered records")
    filtered_bytes: int = Field(description="of the filtered records")
    quarantined_bytes: int = Field(description="of the quarantined records")
    lag_records: int | None = Field(description="as for a mirror; `null` while the log end is unknown")
    lag_bytes: int | None = Field(description="their bytes, estimated")
    lag_seconds: float | None = Field(description="how long the oldest of them has been waiting")
    lag_seconds_is_minimum: bool = Field(
        description="some of them were there before this process started, and may be older than `lag_seconds`"
    )
    lagging: bool = Field(
        description="the oldest of them has been waiting for 10 s or more; otherwise it counts as caught up"
    )
    verdict: str = Field(description="why it is stopped ([verdicts](integrity.md)); empty if it is not")
    what: str = Field(description="the reason as text")
    todo: str = Field(description="what to do")
    expected: int | None = Field(
        description="if it is stopped: the next offset to replicate; `null` if offsets are not the cause"
    )
    found: int | None = Field(description="the offset that was found instead")
    gone: int | None = Field(
        description="offsets that no longer exist; 0 if there are none, or if they cannot be counted; `null`"
        " if the partition is not stopped"
    )
    waits_for: str = Field(
        description="the [schemas](schemas.md) that its next record names and that the destination lacks,"
        " each with the reason; empty if there are none"
    )


class ApiPartitionList(ApiModel):
    total: int = Field(description="number of partitions of the mirror")
    matching: int = Field(description="number of partitions that match `q`")
    partitions: list[ApiPartition] = Field(description="the first `limit` of them")


class ApiShard(ApiModel):
    number: int = Field(description="1 to the number of shards")
    host: str = Field(description="where its task runs; empty before its first heartbeat")
    pid: int = Field(description="process id of the Python worker; 0 before its first heartbeat")
    carrier: str = Field(description="`native` or `object`, with the reason if it is not native")
    slice: int = Field(description="the slice it works on")
    partitions: int = Field(description="number of its partitions")
    heartbeat_at: int | None = Field(description="its last heartbeat")
    heartbeat_age_seconds: float | None = Field(description="how long ago that was")
    transactions: int = Field(description="committed transactions, in this process; as all counts of a shard")
    transaction_seconds: float = Field(description="sum of their times, from first record to commit")
    transaction_records: int = Field(description="records in them")
    retries: int = Field(description="attempts that were restarted")
    fences: int = Field(description="attempts that were fenced by another producer")


class ApiShardList(ApiModel):
    shards: list[ApiShard] = Field(description="every shard, by number")


class ApiEvent(ApiModel):
    at: int = Field(description="when it happened")
    level: EventLevel = Field(description="`info`, `warning` or `error`")
    what: str = Field(description="what happened")
    todo: str = Field(description="what to do, or empty")
    shard: int = Field(description="the shard, 0 for the driver")
    topic: str = Field(description="the source topic, or empty")
    partition: int | None = Field(description="the source partition")
    offset: int | None = Field(description="the source offset")
    expected: int | None = Field(description="as for a partition, if the event is that it stopped")
    found: int | None = Field(description="likewise")
    gone: int | None = Field(description="likewise")


class ApiEventList(ApiModel):
    events: list[ApiEvent] = Field(description="the latest first")


class ApiGap(ApiModel):
    at: int = Field(description="when the position moved")
    cluster: str = Field(description="alias of the source")
    topic: str = Field(description="the source topic")
    partition: int = Field(description="the source partition")
    verdict: str = Field(description="the verdict that it resolved; `skip` if there was none")
    begin: int = Field(description="the position before")
    end: int = Field(description="the position after")
    offsets: int = Field(description="`end` − `begin`; negative for a move back")
    skipped: int = Field(
        description="number of skipped offsets: the same as `offsets`, but 0 if the topic was recreated,"
        " since its offsets are different ones"
    )
    by: str = Field(description="the policy or the operator that moved it")
    why: str = Field(description="the operator's reason, or empty")
    text: str = Field(description="all of this as one sentence")


class ApiGapList(ApiModel):
    total: int = Field(description="number of gaps since the mirror began")
    gaps: list[ApiGap] = Field(description="the latest first")


class ApiConfiguration(ApiModel):
    configuration: str = Field(description="the effective configuration as TOML, without secrets")


class ApiHistory(ApiModel):
    mirror: str = Field(description="the mirror's name")
    at: list[int] = Field(description="times of the samples, the oldest first; the columns below match them")
    records_per_second: list[float] = Field(description="the mean, for a sample of ten seconds")
    bytes_per_second: list[float] = Field(description="the mean, for a sample of ten seconds")
    lag_records: list[int | None] = Field(description="the maximum, for a sample of ten seconds")
    lag_seconds: list[float | None] = Field(description="the maximum, for a sample of ten seconds")
    p50_ms: list[float | None] = Field(
        description="record timestamp to commit, of the 10 s before; `null` if nothing was replicated"
    )
    p99_ms: list[float | None] = Field(description="the same, 99th percentile")
    backlog: list[int] = Field(description="the lag in records without stopped partitions")


class ApiStoppedPartition(ApiModel):
    index: int = Field(description="its place in `partition_lag_seconds`")
    name: str = Field(description="as in the layout")
    verdict: str = Field(description="why it is stopped")
    what: str = Field(description="the reason as text")
    todo: str = Field(description="what to do")


class ApiVersions(ApiModel):
    layout: str = Field(description="of `/layout`")
    events: str = Field(description="of `/events`")
    gaps: str = Field(description="of `/gaps`")
    configuration: str = Field(description="of `/configuration`")


class ApiStreamedMirror(ApiMirror):
    partition_lag_seconds: list[float | None] = Field(
        description="lag of each partition in seconds; `null` if unknown, or before the mirror has started"
        " with it"
    )
    stopped_indexes: list[int] = Field(
        description="the stopped partitions, as indexes in `partition_lag_seconds`"
    )
    stopped_partitions: list[ApiStoppedPartition] = Field(description="the first 50 of them")
    versions: ApiVersions = Field(
        description="opaque texts: when one changes, request the route of that name again"
    )


class ApiStreamEvent(ApiProcessState):
    mirrors: list[ApiStreamedMirror] = Field(description="every mirror of the process")


class ApiAccepted(ApiModel):
    mirror: str = Field(description="the mirror's name")
    action: Literal["pause", "resume", "verify", "failover"] = Field(description="what was requested")
    by: str = Field(description="who requested it: `by` of the request, or the client's address")
    job: str | None = Field(default=None, description="id of the comparison that `verify` started")
    request: int | None = Field(
        default=None, description="the time of the request that `failover` made: `request.at` of the pool"
    )


class ApiJob(ApiModel):
    id: str = Field(description="as returned by `verify`")
    mirror: str = Field(description="the mirror that is compared")
    state: JobState = Field(description="`running`, `equal`, `different` or `failed`")
    started_at: int = Field(description="when it started")
    ended_at: int | None = Field(description="when it ended; `null` while it runs")
    lines: list[str] = Field(description="its last lines of output, the oldest first")


class ApiLive(ApiModel):
    live: bool = Field(description="always true")


class ApiReady(ApiModel):
    ready: bool = Field(description="true with 200, false with 503")
    reasons: list[str] = Field(description="why it is not ready")


class ApiStarted(ApiModel):
    started: bool = Field(description="true with 200, false with 503")
    reasons: list[str] = Field(description="why it is not started")
