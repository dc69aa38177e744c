"""`causeway pause` and `causeway resume`: the page's buttons, from a shell.

A running mirror is asked over its API. For a mirror that does not run, the change is written to its ledger
and takes effect at the next start.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from causeway.cli.api_client import ApiClient, address_of
from causeway.cli.options import ConfigFile, Overrides, Url
from causeway.config import MirrorSettings, Settings, load
from causeway.core.offsets import when
from causeway.core.snapshot import ENDED
from causeway.errors import AccessDenied, Unreachable
from causeway.kafka.ledger_access import who
from causeway.operations.pause import note
from causeway.planning.clusters import the_one

ASKED_SECONDS = 60.0
POLL_SECONDS = 0.2

Mirror = Annotated[str | None, typer.Option(help="The mirror, where there are several.")]
PauseAction = Literal["pause", "resume"]


def pause(config: ConfigFile, mirror: Mirror = None, url: Url = None, override: Overrides = None) -> None:
    """Pause a mirror; it stays paused across restarts."""
    settings = load(config, override or [])
    print(_Change(settings, the_one(settings, mirror), config, "pause").made(url))


def resume(config: ConfigFile, mirror: Mirror = None, url: Url = None, override: Overrides = None) -> None:
    """Resume a paused mirror."""
    settings = load(config, override or [])
    print(_Change(settings, the_one(settings, mirror), config, "resume").made(url))


class _Change:
    def __init__(self, settings: Settings, mirror: MirrorSettings, config: Path, action: PauseAction) -> None:
        self._settings = settings
        self._mirror = mirror
        self._config = config
        self._action: PauseAction = action
        self._name = mirror.name

    def made(self, url: str | None) -> str:
        """Make the change over the API or in the ledger; returns the message to print."""
        try:
            api = ApiClient(address_of(self._settings.web, url), self._settings.web.token)
            seen = self._seen(api)
        except Unreachable as error:
            return self._in_ledger(str(error))
        if seen["state"] in ENDED:
            return self._in_ledger(f"{api.address} says that it has ended: {seen['state']}")
        if _paused(seen) == (self._action == "pause"):
            since = seen["state_since"] if seen["state"] == "paused" else None
            return self._already(seen["paused_by"], since, f"it is {seen['state']}")
        if not self._settings.web.token:
            raise AccessDenied(
                f"the mirror runs, and without a token nobody may {self._action} it",
                where=f'mirror "{self._name}" at {api.address}',
                todo='set `token = "${env:CAUSEWAY_TOKEN}"` under [web], and start the mirror again',
            )
        api.act(self._name, self._action, who())
        self._wait(api)
        return (
            f"{self._name} is paused: nothing is carried until `{self._command('resume')}`"
            if self._action == "pause"
            else f"{self._name} goes on"
        )

    def _seen(self, api: ApiClient) -> dict[str, Any]:
        mirrors: list[dict[str, Any]] = api.mirrors()["mirrors"]
        for one in mirrors:
            if one["name"] == self._name:
                return one
        runs = ", ".join(one["name"] for one in mirrors) or "none yet"
        raise Unreachable(f"the process at {api.address} does not run it: it runs {runs}", where=self._name)

    def _wait(self, api: ApiClient) -> None:
        """Poll the state until the requested change has taken effect."""
        deadline = time.monotonic() + ASKED_SECONDS
        while not self._done(seen := self._seen(api)):
            if seen["state"] in ENDED or time.monotonic() > deadline:
                waits = f", for {seen['waiting_for']}" if seen["waiting_for"] else ""
                raise Unreachable(
                    f"the mirror was asked to {self._action}, and has not yet",
                    where=f'mirror "{self._name}" at {api.address}',
                    why=f"it is {seen['state']}{waits}",
                    todo=f"look at it with `causeway status {self._config}`; the same command again waits on",
                )
            time.sleep(POLL_SECONDS)

    def _done(self, seen: dict[str, Any]) -> bool:
        # While it waits for a cluster its shards may still replicate: only "paused" means that none does.
        return seen["state"] == "paused" if self._action == "pause" else not _paused(seen)

    def _in_ledger(self, why: str) -> str:
        noted = note(self._settings, self._mirror, who() if self._action == "pause" else "", why)
        if noted.before:
            record = noted.record
            return self._already(
                record.by if record else "", record.at if record else None, "the ledger knows of no pause"
            )
        if self._action == "pause":
            return (
                f"{self._name} does not run, and is paused: when it is started, nothing is carried until"
                f" `{self._command('resume')}`"
            )
        return f"{self._name} does not run, and is not paused any more: go on with: {self._command('run')}"

    def _already(self, by: str, since: int | None, otherwise: str) -> str:
        if self._action == "resume":
            return f"{self._name} is not paused: {otherwise}"
        told = (f" by {by}" if by else "") + (f" since {when(since)}" if since is not None else "")
        return f"{self._name} is paused already{told}: it goes on with `{self._command('resume')}`"

    def _command(self, verb: str) -> str:
        several = f" --mirror {self._name}" if len(self._settings.mirrors) > 1 else ""
        return f"causeway {verb} {self._config}{several}"


def _paused(seen: dict[str, Any]) -> bool:
    return seen["state"] == "paused" or bool(seen["paused_by"])
