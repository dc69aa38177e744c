"""`causeway pause` and `causeway resume`: the page's buttons, from a shell.

A running mirror is asked over its API. For a mirror that does not run, the change is written to its ledger
and takes effect at the next start.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from causeway.cli.api_address import ApiOptions
from causeway.cli.api_client import ApiClient, api_of
from causeway.cli.options import Authority, ClientCertificate, ConfigFile, OneMirror, Overrides, Url
from causeway.cli.running_mirror import of_process
from causeway.config import MirrorSettings, Settings, load
from causeway.core.offsets import when
from causeway.core.snapshot import ENDED
from causeway.errors import AccessDenied, Unreachable
from causeway.kafka.ledger_access import who
from causeway.operations.pause import write_pause
from causeway.planning.clusters import the_one
from causeway.web.api_schema import ApiMirror

WAIT_SECONDS = 60.0
POLL_SECONDS = 0.2

PauseAction = Literal["pause", "resume"]


def pause(
    config: ConfigFile,
    mirror: OneMirror = None,
    url: Url = None,
    ca: Authority = None,
    cert: ClientCertificate = None,
    override: Overrides = None,
) -> None:
    """Pause a mirror; it stays paused across restarts."""
    settings = load(config, override or [])
    print(_Change(settings, the_one(settings, mirror), config, "pause").made(ApiOptions(url, ca, cert)))


def resume(
    config: ConfigFile,
    mirror: OneMirror = None,
    url: Url = None,
    ca: Authority = None,
    cert: ClientCertificate = None,
    override: Overrides = None,
) -> None:
    """Resume a paused mirror."""
    settings = load(config, override or [])
    print(_Change(settings, the_one(settings, mirror), config, "resume").made(ApiOptions(url, ca, cert)))


class _Change:
    def __init__(self, settings: Settings, mirror: MirrorSettings, config: Path, action: PauseAction) -> None:
        self._settings = settings
        self._mirror = mirror
        self._config = config
        self._action: PauseAction = action
        self._name = mirror.name

    def made(self, options: ApiOptions) -> str:
        """Make the change over the API or in the ledger; returns the message to print."""
        try:
            api = api_of(self._settings.web, options)
            mirror = of_process(api, self._name)
        except Unreachable as error:
            return self._in_ledger(str(error))
        if mirror.state in ENDED:
            return self._in_ledger(f"the process at {api.address} no longer runs it: it is {mirror.state}")
        if _paused(mirror) == (self._action == "pause"):
            since = mirror.state_since if mirror.state == "paused" else None
            return self._already(mirror.paused_by, since, f"it is {mirror.state}")
        if not self._settings.web.token:
            raise AccessDenied(
                f"the mirror runs, and no token is configured: it cannot be asked to {self._action}",
                where=f'mirror "{self._name}" at {api.address}',
                todo='set `token = "${env:CAUSEWAY_TOKEN}"` under [web], and restart the mirror',
            )
        api.act(self._name, self._action, who())
        self._wait(api)
        if self._action == "resume":
            return f"{self._name} is resumed"
        return f"{self._name} is paused; resume it with `{self._command('resume')}`"

    def _wait(self, api: ApiClient) -> None:
        """Poll the state until the requested change has taken effect."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._done(mirror := of_process(api, self._name)):
            if mirror.state in ENDED or time.monotonic() > deadline:
                cluster = f" for {mirror.waiting_for}" if mirror.waiting_for else ""
                raise Unreachable(
                    f"the mirror has not {self._action}d yet",
                    where=f'mirror "{self._name}" at {api.address}',
                    why=f"it is {mirror.state}{cluster}",
                    todo=f"see `causeway status {self._config}`; the same command again continues to wait",
                )
            time.sleep(POLL_SECONDS)

    def _done(self, mirror: ApiMirror) -> bool:
        # While it waits for a cluster its shards may still replicate: only "paused" means that none does.
        return mirror.state == "paused" if self._action == "pause" else not _paused(mirror)

    def _in_ledger(self, why: str) -> str:
        noted = write_pause(self._settings, self._mirror, who() if self._action == "pause" else "", why)
        if noted.unchanged:
            record = noted.record
            return self._already(
                record.by if record else "", record.at if record else None, "the ledger has no pause"
            )
        if self._action == "pause":
            return (
                f"{self._name} does not run; it is paused and stays paused when it is started; resume it with"
                f" `{self._command('resume')}`"
            )
        return f"{self._name} does not run; it is no longer paused; start it with `{self._command('run')}`"

    def _already(self, by: str, since: int | None, otherwise: str) -> str:
        if self._action == "resume":
            return f"{self._name} is not paused: {otherwise}"
        details = (f" by {by}" if by else "") + (f" since {when(since)}" if since is not None else "")
        return f"{self._name} is already paused{details}; resume it with `{self._command('resume')}`"

    def _command(self, verb: str) -> str:
        several = f" --mirror {self._name}" if len(self._settings.mirrors) > 1 else ""
        return f"causeway {verb} {self._config}{several}"


def _paused(mirror: ApiMirror) -> bool:
    return mirror.state == "paused" or bool(mirror.paused_by)
