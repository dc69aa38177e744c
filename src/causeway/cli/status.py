"""`causeway status`: the state of a running process's mirrors; findings first, then figures."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from causeway.cli.api_client import ApiClient, address_of
from causeway.cli.options import ConfigFile, Mirrors, Overrides, Url
from causeway.config import Settings, load
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Unreachable
from causeway.planning.clusters import chosen
from causeway.reporting.status import line, parts, width_of

REFRESH_SECONDS = 1.0
EVENTS = 20
LEVELS = {"error": 0, "warning": 1, "notice": 2, "well": 3}


class StatusOutput(StrEnum):
    table = "table"
    json = "json"


def status(
    config: ConfigFile,
    mirror: Mirrors = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on showing it, until Ctrl-C.")] = False,
    output: Annotated[
        StatusOutput, typer.Option("-o", "--output", help="What to print.")
    ] = StatusOutput.table,
    url: Url = None,
    override: Overrides = None,
) -> None:
    """Show the state of the running mirrors.

    Exit 0 when no immediate action is needed; 6 when partitions are stopped or a mirror failed; 5 when
    a mirror waits for a cluster, hangs, or does not respond; 3 when a mirror has no topic to replicate. Other
    warnings, and pauses, are 0.
    """
    settings = load(config, override or [])
    known = [one.name for one in chosen(settings, mirror or [])]
    api = ApiClient(address_of(settings.web, url))
    commands = ledger_commands(config, settings)

    def look() -> dict[str, Any]:
        return seen(api, known, commands, only=bool(mirror))

    if watch:
        _watch(look, output)
        return
    found = look()
    if output is StatusOutput.json:
        _object(found)
    else:
        _print(found)
    if code := exit_code(found):
        raise typer.Exit(code)


def ledger_commands(config: Path, settings: Settings) -> dict[str, str]:
    """The command that shows each mirror's ledger."""
    typed = f"causeway offsets show {shlex.quote(str(config))}"
    several = len(settings.mirrors) > 1
    return {
        one.name: f"{typed} --mirror {shlex.quote(one.name)}" if several else typed
        for one in settings.mirrors
    }


def seen(api: ApiClient, known: Sequence[str], commands: Mapping[str, str], *, only: bool) -> dict[str, Any]:
    """What the API reports: of these mirrors if `only`, else of every mirror of the process."""
    answer = api.mirrors()
    there = [one["name"] for one in answer["mirrors"]]
    absent = [name for name in known if name not in there]
    if absent and (only or (there and len(absent) == len(known))):
        raise _not_here(api.address, absent, there)
    if only:
        answer = narrowed(answer, known)
    details = {
        one["name"]: {
            "shards": api.shards(one["name"]),
            "standing": api.standing(one["name"]) if one["standing"] else [],
            "events": api.events(one["name"], EVENTS),
            "gaps": api.gaps(one["name"]) if one["gaps"] else [],
            # A mirror of another configuration: its file is not known here.
            "ledger": commands.get(one["name"], "causeway offsets show CONFIG"),
        }
        for one in answer["mirrors"]
    }
    return {"url": api.address, **answer, "elsewhere": absent if there else [], "details": details}


def narrowed(answer: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The response as if the process ran only these mirrors."""
    mirrors = [one for one in answer["mirrors"] if one["name"] in names]
    if len(mirrors) == len(answer["mirrors"]):
        return answer
    found = [one for one in answer["findings"] if not one["mirror"] and one["level"] != "well"]
    found += [one for mirror in mirrors for one in mirror["findings"]]
    bad = [one for one in found if one["level"] != "well"]
    return {
        **answer,
        "findings": sorted(bad or found, key=lambda one: LEVELS.get(one["level"], 0)),
        "rpo": " ".join(
            f"{one['name']}: {one['rpo']}" if len(mirrors) > 1 else one["rpo"] for one in mirrors
        ),
        "mirrors": mirrors,
    }


def exit_code(found: dict[str, Any]) -> int:
    """The exit code for scripts: 0 if no immediate action is needed."""
    if all(one["level"] != "error" for one in found["findings"]):
        return PlanRefused.exit_code if any(map(_mirrors_nothing, found["mirrors"])) else 0
    graver = any(one["standing"] or one["state"] == "failed" for one in found["mirrors"])
    return (IntegrityError if graver else Unreachable).exit_code


def _mirrors_nothing(mirror: dict[str, Any]) -> bool:
    """No source topic is selected: a typo in `topics`, or a topic that does not exist yet."""
    return mirror["state"] in ("running", "done") and not mirror.get("partitions", 1)


def _not_here(address: str, absent: Sequence[str], there: Sequence[str]) -> Unreachable:
    several = len(absent) > 1
    return Unreachable(
        f"mirror{'s' if several else ''} {', '.join(absent)} {'are' if several else 'is'} not run by the"
        " process that answers there",
        where=address,
        why=f"it runs {', '.join(there) or 'none yet'}",
        todo='--url where the mirror serves: with port = "auto" the second process of a machine takes another'
        " port, and says which in its first lines",
    )


def _object(found: dict[str, Any]) -> None:
    print(json.dumps(found, ensure_ascii=False), flush=True)


def _print(found: dict[str, Any]) -> None:
    console = Console(highlight=False)
    for part in parts(found, console.width if console.is_terminal else None):
        if isinstance(part, Table) and not console.is_terminal:
            Console(highlight=False, width=width_of(part)).print(part)  # a file has no width limit
        else:
            # No wrapping: commands must stay copyable.
            console.print(part, soft_wrap=isinstance(part, Text))


def _watch(look: Callable[[], dict[str, Any]], output: StatusOutput) -> None:
    """Refresh until Ctrl-C. No response at the start is an error; later failures are retried."""
    console = Console(highlight=False)
    try:
        found = look()
        if output is StatusOutput.json or not console.is_terminal:
            _watch_lines(look, found, output)
        else:
            _watch_live(look, found, console)
    except KeyboardInterrupt:
        return


def _watch_lines(look: Callable[[], dict[str, Any]], found: dict[str, Any], output: StatusOutput) -> None:
    while True:
        if output is StatusOutput.json:
            _object(found)
        else:
            print(line(found), flush=True)
        found = _again(look, output)


def _again(look: Callable[[], dict[str, Any]], output: StatusOutput) -> dict[str, Any]:
    """The next response; retries until there is one, and prints one line with the reason for each failure."""
    while True:
        time.sleep(REFRESH_SECONDS)
        try:
            return look()
        except CausewayError as error:
            if output is StatusOutput.json:
                _object({"error": error.what, "where": error.where, "why": error.why, "todo": error.todo})
            else:
                print(f"error: {error}", flush=True)


def _watch_live(look: Callable[[], dict[str, Any]], found: dict[str, Any], console: Console) -> None:
    with Live(_group(found, console), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(REFRESH_SECONDS)
            try:
                found = look()
                live.update(_group(found, console), refresh=True)
            except CausewayError as error:
                live.update(_group(found, console, error), refresh=True)


def _group(found: dict[str, Any], console: Console, error: CausewayError | None = None) -> Group:
    shown: list[RenderableType] = []
    if error is not None:
        shown += [Text(f"{error}: what follows is old", style="bold red"), Text()]
    return Group(*shown, *parts(found, console.width))
