"""The health of the mirrors as sentences: what is wrong and what to do, the worst first.

Pure: takes a snapshot, the time and the trend of the backlog; returns findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from causeway.core.snapshot import ENDED, UNROUTABLE, MirrorView, PartitionView, Snapshot
from causeway.core.times import span
from causeway.errors import Unreachable

HealthLevel = Literal["error", "warning", "notice", "well"]
LEVELS: tuple[HealthLevel, ...] = ("error", "warning", "notice", "well")

STALE_SECONDS = 10.0  # a snapshot is made twice a second
SILENT_SECONDS = 90.0  # `heartbeat` may be a minute
BEHIND_SECONDS = 10.0  # less is the normal variation between transactions
LATER = "a topic that is created later is found by itself"
LONGEST_SECONDS = 86_400.0  # longer counts as never catching up


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
    found = [*_failures(mirror), *_standing(mirror), *_waiting(mirror, now), *_silence(mirror, now)]
    found += [*_pause(mirror, now), *_lag(mirror, trend), *_beginning(mirror), *_nothing(mirror)]
    found += _aside(mirror)
    found.sort(key=lambda one: LEVELS.index(one.level))
    return tuple(replace(one, mirror=mirror.name) for one in found or [_well(mirror)])


def all_findings(
    snapshot: Snapshot, now: int, trends: Mapping[str, float | None]
) -> tuple[HealthFinding, ...]:
    """Findings of all mirrors of the process. The first one is the first line of the page."""
    of_mirrors = [findings(one, now, trends.get(one.name)) for one in snapshot.mirrors]
    found = [one for several in of_mirrors for one in several if one.level != "well"]
    if stale(snapshot, now):
        age = span((now - snapshot.at) / 1000)
        found.append(
            HealthFinding(
                "error",
                f"Nothing was heard from the mirrors for {age}: what is shown is old.",
                f"look at process {snapshot.pid} on {snapshot.host}, and at its log",
            )
        )
    if not snapshot.mirrors:
        found.append(HealthFinding("notice", "There is no mirror yet."))
    found.sort(key=lambda one: LEVELS.index(one.level))
    return tuple(found) or (_all_well(snapshot),)


def stale(snapshot: Snapshot, now: int) -> bool:
    return now - snapshot.at > STALE_SECONDS * 1000


def rpo(mirrors: Sequence[MirrorView]) -> str:
    """What would be lost if the source were lost, for one mirror or for all of them."""
    if not mirrors or not all(one.partitions for one in mirrors):
        return "How much would be missing without the source is not known yet."
    several = len({name for one in mirrors for name in one.sources}) > 1
    unseen = sorted({one.waiting_for for one in mirrors if one.waiting_for in one.sources})
    records = sum(one.lag_records for one in mirrors)
    seconds = max(one.lag_seconds for one in mirrors)
    missing = f"{_records(records)} / {span(seconds)}" if records else "nothing"
    loss = f"the source{'s' if several else ''} vanished now, {missing} would be missing."
    return f"As far as {' and '.join(unseen)} was last seen: if {loss}" if unseen else f"If {loss}"


def catch_up_seconds(mirror: MirrorView, trend: float | None) -> float | None:
    """Time to replicate the backlog at the pace of the last minute; None if unknown."""
    if not mirror.partitions or mirror.state not in ("running", "done"):
        return None
    if not _behind(mirror):
        return 0.0
    if trend is None or trend >= 0:
        return None
    seconds = sum(one.lag_records for one in _moving(mirror)) / -trend
    return seconds if seconds < LONGEST_SECONDS else None


def catching_up(mirror: MirrorView, trend: float | None) -> str:
    """The same as text."""
    seconds = catch_up_seconds(mirror, trend)
    if seconds is not None:
        return f"in about {span(seconds)}" if seconds else "caught up"
    if not mirror.partitions or mirror.state == "starting":
        return "not known yet"
    if mirror.state != "running":
        return "when it runs again"
    return "not known yet" if trend is None else "not at this pace"


def _failures(mirror: MirrorView) -> Iterator[HealthFinding]:
    last = next((one for one in mirror.events if one.level == "error"), None)
    why, todo = (last.what, last.todo) if last else ("", "")
    if mirror.state == "failed":
        yield HealthFinding("error", f"Failed: {why or 'the log says why'}", todo)
    if mirror.state == "stopped":
        yield HealthFinding(
            "warning",
            "Stopped: nothing is carried.",
            "start it again with `causeway run`: it goes on where it ended",
        )


def _standing(mirror: MirrorView) -> Iterator[HealthFinding]:
    """One finding per verdict: a thousand partitions of a deleted topic need one action.

    Planning's reasons differ from topic to topic, so there is one finding for each reason.
    """
    alike: dict[tuple[str, str], list[PartitionView]] = {}
    for one in mirror.standing:
        alike.setdefault((one.verdict, one.what if one.verdict == UNROUTABLE else ""), []).append(one)
    for (verdict, _), stopped in sorted(alike.items()):
        first, others = stopped[0], len(stopped) - 1
        more = f" and {others:,} other{'s' if others > 1 else ''}" if others else ""
        stand = "stand" if others else "stands"
        yield HealthFinding(
            "error", f"{named(mirror, first)}{more} {stand} still ({verdict}): {first.what}", first.todo
        )


def _waiting(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.blocked and mirror.state not in ENDED:
        yield HealthFinding("error", f"Waiting: {mirror.blocked}.", mirror.blocked_todo)
    elif mirror.state == "waiting":
        cluster = mirror.waiting_for or "a cluster"
        yield HealthFinding(
            "error",
            f"Waiting: {cluster} has not answered{_for(mirror, now)}. It goes on by itself.",
            Unreachable.remedy,
        )


def _silence(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.state != "running":
        return
    limit = now - SILENT_SECONDS * 1000
    silent = [one for one in mirror.shards if 0 <= one.heartbeat_at < limit]
    if silent:
        one = min(silent, key=lambda shard: shard.heartbeat_at)
        others = f" (and {len(silent) - 1:,} more)" if len(silent) > 1 else ""
        age = span((now - one.heartbeat_at) / 1000)
        yield HealthFinding(
            "warning",
            f"Nothing was heard from shard {one.number}{others} for {age}.",
            f"look at process {one.pid} on {one.host}: the shard is taken over when that process ends",
        )


def _pause(mirror: MirrorView, now: int) -> Iterator[HealthFinding]:
    if mirror.state == "paused":
        by = f" by {mirror.paused_by}" if mirror.paused_by else ""
        yield HealthFinding(
            "notice",
            f"Paused{by}{_for(mirror, now)}: {_records(mirror.lag_records)} wait.",
            "resume before the source's retention takes what waits",
        )


def _lag(mirror: MirrorView, trend: float | None) -> Iterator[HealthFinding]:
    if mirror.state != "running" or mirror.blocked or not _behind(mirror):
        return
    moving = _moving(mirror)
    count = sum(one.lag_records for one in moving)
    least = "at least " if any(one.lag_older for one in moving) else ""
    wait = f"{_records(count)} wait, the oldest for {least}{span(max(one.lag_seconds for one in moving))}"
    seconds = catch_up_seconds(mirror, trend)
    if trend is None:
        yield HealthFinding("notice", f"Behind: {wait}.")
    elif seconds is not None:
        yield HealthFinding("notice", f"Catching up, about {span(seconds)} to go: {wait}.")
    else:
        pace = f", and {trend:,.0f} more each second" if trend >= 1 else ""
        yield HealthFinding(
            "warning",
            f"Falls behind: {wait}{pace}.",
            "raise `shards`, or a limit that is set; the partitions furthest behind say where it is slow",
        )


def _beginning(mirror: MirrorView) -> Iterator[HealthFinding]:
    if mirror.state != "starting":
        return
    if missing := unreported(mirror):
        yield HealthFinding(
            "notice", f"Starting: no heartbeat yet from {len(missing):,} of {len(mirror.shards):,} shards."
        )
    else:
        yield HealthFinding("notice", "Starting: nothing is carried yet.")


def _nothing(mirror: MirrorView) -> Iterator[HealthFinding]:
    """A typo in `topics` looks like a topic that does not exist yet: only the operator knows."""
    for one in mirror.unmatched:
        todo = "correct `exclude`" if one.excluded else f"correct `topics`; {LATER}"
        yield HealthFinding("warning", f"{str(one)[:1].upper()}{str(one)[1:]}.", todo)
    if mirror.state in ("running", "done") and not (mirror.partitions or mirror.unmatched):
        yield HealthFinding(
            "warning", "No topic is selected: nothing is mirrored.", "correct `topics` and `exclude`"
        )


def _aside(mirror: MirrorView) -> Iterator[HealthFinding]:
    count = sum(one.quarantined for one in mirror.partitions)
    if count:
        topics = sorted({one.topic for one in mirror.partitions if one.quarantined})
        verb = "is" if count == 1 else "are"
        more = f" and {len(topics) - 3:,} more topics" if len(topics) > 3 else ""
        yield HealthFinding(
            "notice",
            f"{_records(count)} of {', '.join(topics[:3])}{more} {verb} in quarantine,"
            " not in the destination topic.",
            "`causeway offsets show CONFIG` lists them with their reasons",
        )


def _well(mirror: MirrorView) -> HealthFinding:
    if mirror.state == "done":
        return HealthFinding("well", "Done: everything up to the end was carried.")
    return HealthFinding("well", f"All is well: {_pace((mirror,))}.")


def _all_well(snapshot: Snapshot) -> HealthFinding:
    running = [one for one in snapshot.mirrors if one.state != "done"]
    if not running:
        return HealthFinding("well", "Done: everything up to the end was carried.")
    several = f"{len(running)} mirrors, " if len(running) > 1 else ""
    return HealthFinding("well", f"All is well: {several}{_pace(running)}.")


def _pace(mirrors: Sequence[MirrorView]) -> str:
    rate = sum(one.records_per_second for one in mirrors)
    if sum(one.lag_records for one in mirrors) == 0 and rate < 0.5:
        return "everything is carried, and nothing new comes"
    most = max(one.lag_seconds for one in mirrors)
    return f"{rate:,.0f} records/s, {'at most ' if len(mirrors) > 1 else ''}{span(most)} behind"


def unreported(mirror: MirrorView) -> list[int]:
    """Shards with partitions that sent no heartbeat since this process started."""
    return [one.number for one in mirror.shards if one.partitions and one.heartbeat_at < 0]


def named(mirror: MirrorView, one: PartitionView) -> str:
    """A partition's name, with its cluster if there are several sources."""
    name = f"{one.topic}[{one.partition}]"
    return f"{one.cluster}:{name}" if len(mirror.sources) > 1 else name


def _moving(mirror: MirrorView) -> list[PartitionView]:
    return [one for one in mirror.partitions if not one.verdict]


def _behind(mirror: MirrorView) -> bool:
    """Whether it lags. Includes records from before the start of this process: their age is unknown."""
    return any(
        one.lag_records and (one.lag_seconds >= BEHIND_SECONDS or one.lag_older) for one in _moving(mirror)
    )


def _for(mirror: MirrorView, now: int) -> str:
    return f" for {span(max(0, now - mirror.state_since) / 1000)}" if mirror.state_since >= 0 else ""


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"
