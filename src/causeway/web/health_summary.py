"""The health of the mirrors as sentences: what is wrong and what to do, the worst first.

Pure: takes a snapshot, the time and the trend of the backlog; returns findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from causeway.core.plural import counted, is_are
from causeway.core.snapshot import ENDED, UNROUTABLE, MirrorView, PartitionView, Snapshot
from causeway.core.times import span
from causeway.errors import Unreachable
from causeway.web.api_schema import LEVELS, HealthLevel

STALE_SECONDS = 10.0  # a snapshot is made twice a second
SILENT_SECONDS = 90.0  # `heartbeat` may be a minute
LAGGING_SECONDS = 10.0  # less is the normal variation between transactions
NEVER_SECONDS = 86_400.0  # longer counts as never catching up
NEW_TOPICS = "a topic that is created later is found by itself"
TOPICS_NAMED = 3
UNKNOWN = "not known yet"


@dataclass(frozen=True, slots=True)
class HealthFinding:
    level: HealthLevel
    what: str
    todo: str = ""
    mirror: str = ""


def findings(mirror: MirrorView, now: int, trend: float | None) -> tuple[HealthFinding, ...]:
    """A mirror's findings, the worst first; never empty.

    `trend`: records per second by which its backlog grows, None if unknown.
    """
    problems = [*_ended(mirror), *_stopped(mirror), *_waiting(mirror, now), *_silent_shards(mirror, now)]
    problems += _for_schemas(mirror)
    problems += [*_paused(mirror, now), *_lagging(mirror, trend), *_starting(mirror), *_unmatched(mirror)]
    problems += [*_quarantined(mirror), *_nodes(mirror)]
    problems.sort(key=lambda finding: LEVELS.index(finding.level))
    return tuple(replace(finding, mirror=mirror.name) for finding in problems or [_healthy((mirror,))])


def all_findings(
    snapshot: Snapshot, now: int, trends: Mapping[str, float | None]
) -> tuple[HealthFinding, ...]:
    """Findings of all mirrors of the process. The first one is the headline of the page."""
    problems = [
        finding
        for mirror in snapshot.mirrors
        for finding in findings(mirror, now, trends.get(mirror.name))
        if finding.level != "ok"
    ]
    if stale(snapshot, now):
        problems.append(
            HealthFinding(
                "error",
                f"No status from the driver for {span((now - snapshot.at) / 1000)}: all figures are old.",
                f"check process {snapshot.pid} on {snapshot.host}, and its log",
            )
        )
    if not snapshot.mirrors:
        problems.append(HealthFinding("notice", "No mirrors yet."))
    problems.sort(key=lambda finding: LEVELS.index(finding.level))
    return tuple(problems) or (_healthy(snapshot.mirrors),)


def stale(snapshot: Snapshot, now: int) -> bool:
    return now - snapshot.at > STALE_SECONDS * 1000


def lag_known(mirror: MirrorView) -> bool:
    """Whether the log end of any partition is known: without one, a lag of 0 means nothing."""
    return any(partition.log_end >= 0 for partition in mirror.partitions)


def rpo(mirrors: Sequence[MirrorView]) -> str:
    """How many records would be lost with the source, for one mirror or for all of them."""
    if not mirrors or not all(map(lag_known, mirrors)):
        return f"How many records would be lost with the source is {UNKNOWN}."
    several = len({name for mirror in mirrors for name in mirror.sources}) > 1
    away = sorted({mirror.waiting_for for mirror in mirrors if mirror.waiting_for in mirror.sources})
    records = sum(mirror.lag_records for mirror in mirrors)
    seconds = max(mirror.lag_seconds for mirror in mirrors)
    lost = f"{counted(records, 'record')} ({span(seconds)})" if records else "no records"
    loss = f"the source{'s' if several else ''} were lost now, {lost} would be lost."
    return f"As of the last response of {' and '.join(away)}: if {loss}" if away else f"If {loss}"


def catch_up_seconds(mirror: MirrorView, trend: float | None) -> float | None:
    """Time to replicate the backlog at the rate of the last minute; None if unknown."""
    if not lag_known(mirror) or mirror.state not in ("running", "done"):
        return None
    if not _lags(mirror):
        return 0.0
    if trend is None or trend >= 0:
        return None
    seconds = sum(partition.lag_records for partition in _not_stopped(mirror)) / -trend
    return seconds if seconds < NEVER_SECONDS else None


def catch_up_text(mirror: MirrorView, trend: float | None) -> str:
    seconds = catch_up_seconds(mirror, trend)
    if seconds is not None:
        return f"in about {span(seconds)}" if seconds else "caught up"
    if not lag_known(mirror) or mirror.state == "starting":
        return UNKNOWN
    if mirror.state != "running":
        return "when it runs again"
    return UNKNOWN if trend is None else "not at this rate"


def lagging(partition: PartitionView) -> bool:
    """Includes records from before the start of this process: their age is unknown."""
    old = partition.lag_seconds >= LAGGING_SECONDS or partition.lag_older
    return bool(partition.lag_records) and old


def unreported(mirror: MirrorView) -> list[int]:
    """Shards with partitions that sent no heartbeat since this process started."""
    return [shard.number for shard in mirror.shards if shard.partitions and shard.heartbeat_at < 0]


def partition_name(mirror: MirrorView, partition: PartitionView) -> str:
    """The topic and the partition, with the cluster if there are several sources."""
    name = f"{partition.topic}[{partition.partition}]"
    return f"{partition.cluster}:{name}" if len(mirror.sources) > 1 else name


def _ended(mirror: MirrorView) -> Iterator[HealthFinding]:
    if mirror.state == "failed":
        last = next((event for event in mirror.events if event.level == "error"), None)
        why, todo = (last.what, last.todo) if last else ("see the log", "")
        yield HealthFinding("error", f"Failed: {why}", todo)
    if mirror.state == "stopped":
        yield HealthFinding(
            "warning",
            "Stopped: not replicating.",
            "start it again with `causeway run`: it resumes after its last commit",
        )


def _stopped(mirror: MirrorView) -> Iterator[HealthFinding]:
    """One finding per verdict: a thousand partitions of a deleted topic need one action.

    Planning's reasons differ from topic to topic, so there is one finding for each reason.
    """
    by_reason: dict[tuple[str, str], list[PartitionView]] = {}
    for partition in mirror.stopped_partitions:
        reason = partition.what if partition.verdict == UNROUTABLE else ""
        by_reason.setdefault((partition.verdict, reason), []).append(partition)
    for (verdict, _), stopped in sorted(by_reason.items()):
        first, others = stopped[0], len(stopped) - 1
        more = f" and {counted(others, 'other')}" if others else ""
        yield HealthFinding(
            "error",
            f"{partition_name(mirror, first)}{more} {is_are(len(stopped))} stopped ({verdict}): {first.what}",
            first.todo,
        )


def _waiting(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.blocked and mirror.state not in ENDED:
        yield HealthFinding("error", f"Waiting: {mirror.blocked}.", mirror.blocked_todo)
    elif mirror.state == "waiting" and mirror.waiting_why:
        yield HealthFinding(
            "error",
            f"Waiting{_for(mirror, now)}: {mirror.waiting_why}. The mirror resumes by itself.",
            mirror.waiting_todo,
        )
    elif mirror.state == "waiting":
        cluster = mirror.waiting_for or "a cluster"
        yield HealthFinding(
            "error",
            f"Waiting: {cluster} has not responded{_for(mirror, now)}. The mirror resumes by itself.",
            Unreachable.remedy,
        )


def _for_schemas(mirror: MirrorView) -> Iterator[HealthFinding]:
    """Partitions of which the next record names a schema that could not be copied yet."""
    waiting = [partition for partition in mirror.partitions if partition.waits_for]
    if waiting and mirror.state not in ENDED:
        first, others = waiting[0], len(waiting) - 1
        more = f" and {counted(others, 'other')}" if others else ""
        yield HealthFinding(
            "warning",
            f"{partition_name(mirror, first)}{more} {'wait' if others else 'waits'} for schemas:"
            f" {first.waits_for}. The rest continues.",
            "check that both schema registries respond, and what `causeway check` says about the subjects",
        )


def _silent_shards(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.state != "running":
        return
    limit = now - SILENT_SECONDS * 1000
    silent = [shard for shard in mirror.shards if 0 <= shard.heartbeat_at < limit]
    if silent:
        oldest = min(silent, key=lambda shard: shard.heartbeat_at)
        others = f" (and {len(silent) - 1:,} more)" if len(silent) > 1 else ""
        age = span((now - oldest.heartbeat_at) / 1000)
        yield HealthFinding(
            "warning",
            f"No heartbeat from shard {oldest.number}{others} for {age}.",
            f"check process {oldest.pid} on {oldest.host}: the shard is taken over when that process ends",
        )


def _paused(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.state == "paused":
        by = f" by {mirror.paused_by}" if mirror.paused_by else ""
        lag = f": lag {counted(mirror.lag_records, 'record')}" if lag_known(mirror) else ""
        yield HealthFinding(
            "notice",
            f"Paused{by}{_for(mirror, now)}{lag}.",
            "resume before the source's retention deletes records that are not replicated",
        )


def _lagging(mirror: MirrorView, trend: float | None) -> Iterator[HealthFinding]:
    if mirror.state != "running" or mirror.blocked or not _lags(mirror):
        return
    partitions = _not_stopped(mirror)
    records = sum(partition.lag_records for partition in partitions)
    least = "at least " if any(partition.lag_older for partition in partitions) else ""
    age = span(max(partition.lag_seconds for partition in partitions))
    lag = f"{counted(records, 'record')}, the oldest waiting for {least}{age}"
    seconds = catch_up_seconds(mirror, trend)
    if trend is None:
        yield HealthFinding("notice", f"Lagging: {lag}.")
    elif seconds is not None:
        yield HealthFinding("notice", f"Catching up, about {span(seconds)} left: {lag}.")
    else:
        rate = f", growing by {trend:,.0f} records/s" if trend >= 1 else ""
        yield HealthFinding(
            "warning",
            f"Lagging, not catching up: {lag}{rate}.",
            "raise `shards`, or a limit that is set; the partitions with the largest lag show the slow part",
        )


def _starting(mirror: MirrorView) -> Iterator[HealthFinding]:
    if mirror.state != "starting":
        return
    if missing := unreported(mirror):
        shards = counted(len(mirror.shards), "shard")
        yield HealthFinding("notice", f"Starting: no heartbeat yet from {len(missing):,} of {shards}.")
    else:
        yield HealthFinding("notice", "Starting: not replicating yet.")


def _unmatched(mirror: MirrorView) -> Iterator[HealthFinding]:
    """A typo in `topics` looks like a topic that does not exist yet: only the operator knows."""
    for entry in mirror.unmatched:
        todo = "correct `exclude`" if entry.excluded else f"correct `topics`; {NEW_TOPICS}"
        text = str(entry)
        yield HealthFinding("warning", f"{text[:1].upper()}{text[1:]}.", todo)
    if mirror.state in ("running", "done") and not (mirror.partitions or mirror.unmatched):
        yield HealthFinding(
            "warning", "No topic is selected: nothing is replicated.", "correct `topics` and `exclude`"
        )


def _quarantined(mirror: MirrorView) -> Iterator[HealthFinding]:
    count = sum(partition.quarantined for partition in mirror.partitions)
    if count:
        topics = sorted({partition.topic for partition in mirror.partitions if partition.quarantined})
        others = len(topics) - TOPICS_NAMED
        more = f" and {counted(others, 'more topic')}" if others > 0 else ""
        yield HealthFinding(
            "notice",
            f"{counted(count, 'record')} of {', '.join(topics[:TOPICS_NAMED])}{more} {is_are(count)} in"
            " quarantine, not in the destination topic.",
            "`causeway offsets show CONFIG` lists them with their reasons",
        )


def _nodes(mirror: MirrorView) -> Iterator[HealthFinding]:
    """Nodes of a pool that could not take over, while another one is read."""
    if mirror.state not in ("running", "paused"):
        return
    for pool in mirror.pools:
        unfit = [node for node in pool.nodes if node.why]
        if unfit and not pool.no_node:
            rejected = any(node.state == "rejected" for node in unfit)
            described = ", ".join(f"{node.name} is {node.state} ({node.why})" for node in unfit)
            yield HealthFinding("warning" if rejected else "notice", f"Pool {pool.name}: {described}.")


def _healthy(mirrors: Sequence[MirrorView]) -> HealthFinding:
    running = [mirror for mirror in mirrors if mirror.state != "done"]
    if not running:
        return HealthFinding("ok", "Done: everything up to the end is replicated.")
    several = f"{counted(len(running), 'mirror')}, " if len(running) > 1 else ""
    return HealthFinding("ok", f"Healthy: {several}{_rate_and_lag(running)}.")


def _rate_and_lag(mirrors: Sequence[MirrorView]) -> str:
    rate = sum(mirror.records_per_second for mirror in mirrors)
    if not any(map(lag_known, mirrors)):
        return f"{rate:,.0f} records/s, lag {UNKNOWN}"
    if sum(mirror.lag_records for mirror in mirrors) == 0 and rate < 0.5:
        return "caught up, no new records"
    most = max(mirror.lag_seconds for mirror in mirrors)
    return f"{rate:,.0f} records/s, lag {'at most ' if len(mirrors) > 1 else ''}{span(most)}"


def _not_stopped(mirror: MirrorView) -> list[PartitionView]:
    return [partition for partition in mirror.partitions if not partition.verdict]


def _lags(mirror: MirrorView) -> bool:
    return any(map(lagging, _not_stopped(mirror)))


def _for(mirror: MirrorView, now: int) -> str:
    return f" for {span(max(0, now - mirror.state_since) / 1000)}" if mirror.state_since >= 0 else ""
