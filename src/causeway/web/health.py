"""Probes. `/livez` reports only that the process serves: a Kafka outage must not restart the mirrors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from causeway.core.snapshot import ENDED, UNROUTABLE, MirrorView, Snapshot
from causeway.core.times import span
from causeway.web.access import Access
from causeway.web.api_schema import ApiLive, ApiReady, ApiStarted
from causeway.web.health_summary import partition_name, stale, unreported
from causeway.web.json_model import JsonModel
from causeway.web.source import Source

WITH_TOKEN = "the reasons are shown with the token alone"
NAMED = 5
"""Maximum number of partitions named per reason."""


class Health:
    def __init__(self, source: Source, access: Access, now: Callable[[], int]) -> None:
        self._source = source
        self._access = access
        self._now = now

    async def livez(self, request: Request) -> Response:
        return JsonModel(ApiLive(live=True))

    async def readyz(self, request: Request) -> Response:
        reasons = unready(self._source.snapshot(), self._now())
        return JsonModel(
            ApiReady(ready=not reasons, reasons=self._shown(request, reasons)), 503 if reasons else 200
        )

    async def startupz(self, request: Request) -> Response:
        snapshot = self._source.snapshot()
        reasons = [] if snapshot.prepared else unprepared(snapshot)
        return JsonModel(
            ApiStarted(started=not reasons, reasons=self._shown(request, reasons)), 503 if reasons else 200
        )

    def _shown(self, request: Request, reasons: list[str]) -> list[str]:
        return reasons if not reasons or self._access.shows_reasons(request.headers) else [WITH_TOKEN]


def unready(snapshot: Snapshot, now: int) -> list[str]:
    """Why the mirrors do not replicate. A paused or finished mirror is in the state it was asked to be in."""
    reasons = starting(snapshot) if snapshot.prepared else unprepared(snapshot)
    if stale(snapshot, now):
        reasons.append(f"no status from the driver for {span((now - snapshot.at) / 1000)}")
    return reasons + [reason for mirror in snapshot.mirrors for reason in _reasons(mirror)]


def starting(snapshot: Snapshot) -> list[str]:
    return [
        f"{mirror.name} is starting{_without_heartbeat(mirror)}"
        for mirror in snapshot.mirrors
        if mirror.state == "starting"
    ]


def _without_heartbeat(mirror: MirrorView) -> str:
    shards = unreported(mirror)
    return f": no heartbeat yet from shard {', '.join(map(str, shards))}" if shards else ""


def unprepared(snapshot: Snapshot) -> list[str]:
    waiting = [f"{mirror.name} is not prepared" for mirror in snapshot.mirrors if mirror.state == "starting"]
    return waiting or ["the mirrors are not prepared"]


def _reasons(mirror: MirrorView) -> Iterator[str]:
    """A stopped partition is not a reason: the others continue, and a restart would not help it.

    A partition that planning rejects is a reason: `topics` selects it, and it is not replicated.
    """
    unroutable: dict[str, list[str]] = {}
    for partition in mirror.partitions:
        if partition.verdict == UNROUTABLE:
            unroutable.setdefault(partition.what, []).append(partition_name(mirror, partition))
    for what, names in unroutable.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        yield f"{mirror.name} does not replicate {', '.join(names[:NAMED])}{more}: {what}"
    if mirror.blocked and mirror.state not in ENDED:
        yield f"{mirror.name} waits: {mirror.blocked}"
    elif mirror.state == "waiting" and mirror.waiting_why:
        yield f"{mirror.name} waits: {mirror.waiting_why}"
    elif mirror.state == "waiting":
        yield f"{mirror.name} waits for {mirror.waiting_for or 'a cluster'}, which does not respond"
    elif mirror.state in ("stopped", "failed"):
        yield f"{mirror.name} has {mirror.state}"
