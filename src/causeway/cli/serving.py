"""Serves the page, the API, the probes and the metrics while mirrors run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from causeway.api.runner import Runner
from causeway.cli.verify_jobs import Comparisons
from causeway.config import Settings
from causeway.config.observability import PORT, is_loopback
from causeway.core.clock import now_ms
from causeway.core.job import Job
from causeway.core.snapshot import EventView, Snapshot
from causeway.errors import SetupError
from causeway.replication.event_log import SayEvent
from causeway.reporting.metrics import Metrics
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import Server
from causeway.web.tls import Certificate, CertificateFiles

PLAIN = "other machines are served without TLS: tokens and what is read can be seen on the network"


class Served:
    """The mirrors of this process as the source of the web server."""

    def __init__(self, settings: Settings, runner: Runner) -> None:
        self._runner = runner
        self._comparisons = Comparisons(settings)
        chosen = settings.metrics
        self._metrics = Metrics(
            runner.status, partitions=chosen.max_partitions or sys.maxsize, compat=chosen.compat
        )

    def snapshot(self) -> Snapshot:
        return self._runner.status()

    def metrics(self) -> bytes:
        return self._metrics.exposition()

    def pause(self, mirror: str, by: str) -> None:
        self._runner.pause(mirror, by=by, timeout=0)

    def resume(self, mirror: str, by: str) -> None:
        self._runner.resume(mirror, by=by, timeout=0)

    def failover(self, mirror: str, pool: str, node: str, by: str, *, force: bool) -> int:
        return self._runner.failover(mirror, pool=pool, to=node, force=force, by=by)

    def verify(self, mirror: str) -> str:
        state = next(one.state for one in self.snapshot().mirrors if one.name == mirror)
        return self._comparisons.start(mirror, wait=state != "paused")

    def job(self, id: str) -> Job | None:
        return self._comparisons.job(id)

    def close(self) -> None:
        self._comparisons.close()


@contextlib.contextmanager
def serving(settings: Settings, runner: Runner, say: SayEvent) -> Iterator[None]:
    """Serve inside this context if [web] is enabled; raises SetupError if the configured port is taken."""
    if not settings.web.enabled:
        yield
        return
    served = Served(settings, runner)
    server = _started(settings, served)
    say("web", EventView(now_ms(), "info", f"the page is at {server.address}"))
    if settings.web.tls is None and not is_loopback(settings.web.host):
        say("web", EventView(now_ms(), "warning", PLAIN, "set `certificate` and `key` under [web.tls]"))
    try:
        yield
    finally:
        server.stop()
        served.close()


def _started(settings: Settings, served: Served) -> Server:
    web, tls = settings.web, settings.web.tls
    access = Access(web.token, web.reads_with_token, settings.metrics.token, settings.metrics.public)
    files = CertificateFiles(tls.certificate, tls.key, tls.key_password, tls.client_ca) if tls else None
    certificate = Certificate(files) if files else None
    ports = (PORT, 0) if web.port is None else (web.port,)
    for port in ports:
        app = application(served, access, (*web.allowed_hosts, web.host))
        server = Server(app, web.host, port, certificate)
        try:
            server.start()
            return server
        except SetupError:
            if port == ports[-1]:
                raise
    raise AssertionError("one of them was the last")
