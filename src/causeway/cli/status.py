"""`causeway status`: the state of a running process's mirrors; findings first, then figures."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from causeway.cli.api_address import ApiOptions
from causeway.cli.api_client import ApiClient, api_of
from causeway.cli.options import Authority, ClientCertificate, ConfigFile, Mirrors, Overrides, Url
from causeway.cli.status_output import line, sections, width_of
from causeway.cli.status_report import MirrorDetails, StatusFailure, StatusReport
from causeway.config import Settings, load
from causeway.errors import CausewayError, IntegrityError, PlanRefused, Unreachable
from causeway.planning.clusters import chosen
from causeway.printable import printable
from causeway.web.api_schema import LEVELS, ApiMirror, ApiModel, ApiProcess

REFRESH_SECONDS = 1.0
EVENTS = 20


class StatusOutput(StrEnum):
    table = "table"
    json = "json"


def status(
    config: ConfigFile,
    mirror: Mirrors = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every second, until Ctrl-C.")] = False,
    output: Annotated[
        StatusOutput, typer.Option("-o", "--output", help="What to print.")
    ] = StatusOutput.table,
    url: Url = None,
    ca: Authority = None,
    cert: ClientCertificate = None,
    override: Overrides = None,
) -> None:
    """Show the state of the running mirrors.

    Exit 0 when no immediate action is needed; 6 when partitions are stopped or a mirror failed; 5 when
    a mirror waits for a cluster, hangs, or does not respond; 3 when a mirror has no topic to replicate. Other
    warnings, and pauses, are 0.
    """
    settings = load(config, override or [])
    names = [chosen_mirror.name for chosen_mirror in chosen(settings, mirror or [])]
    api = api_of(settings.web, ApiOptions(url, ca, cert))
    commands = ledger_commands(config, settings)

    def request() -> StatusReport:
        return status_report(api, names, commands, only=bool(mirror))

    if watch:
        _watch(request, output)
        return
    report = request()
    if output is StatusOutput.json:
        _print_json(report)
    else:
        _print(report)
    if code := exit_code(report):
        raise typer.Exit(code)


def ledger_commands(config: Path, settings: Settings) -> dict[str, str]:
    """The command that shows each mirror's ledger."""
    command = f"causeway offsets show {shlex.quote(str(config))}"
    several = len(settings.mirrors) > 1
    return {
        mirror.name: f"{command} --mirror {shlex.quote(mirror.name)}" if several else command
        for mirror in settings.mirrors
    }


def status_report(
    api: ApiClient, names: Sequence[str], commands: Mapping[str, str], *, only: bool
) -> StatusReport:
    """What the API reports: of these mirrors if `only`, else of every mirror of the process."""
    process = api.process()
    running = [mirror.name for mirror in process.mirrors]
    absent = [name for name in names if name not in running]
    if absent and (only or (running and len(absent) == len(names))):
        raise _not_run_here(api.address, absent, running)
    if only:
        process = narrowed(process, names)
    details = {
        mirror.name: MirrorDetails(
            shards=api.shards(mirror.name),
            stopped_partitions=api.stopped_partitions(mirror.name) if mirror.stopped else [],
            events=api.events(mirror.name, EVENTS),
            gaps=api.gaps(mirror.name) if mirror.gaps else [],
            # A mirror of another configuration: its file is not known here.
            ledger_command=commands.get(mirror.name, "causeway offsets show CONFIG"),
        )
        for mirror in process.mirrors
    }
    return StatusReport(
        **dict(process), url=api.address, not_run_here=absent if running else [], details=details
    )


def narrowed(process: ApiProcess, names: Sequence[str]) -> ApiProcess:
    """The response as if the process ran only these mirrors."""
    mirrors = [mirror for mirror in process.mirrors if mirror.name in names]
    if len(mirrors) == len(process.mirrors):
        return process
    findings = [finding for finding in process.findings if not finding.mirror and finding.level != "ok"]
    findings += [finding for mirror in mirrors for finding in mirror.findings]
    problems = [finding for finding in findings if finding.level != "ok"]
    several = len(mirrors) > 1
    return process.model_copy(
        update={
            "findings": sorted(problems or findings, key=lambda finding: LEVELS.index(finding.level)),
            "rpo": " ".join(f"{mirror.name}: {mirror.rpo}" if several else mirror.rpo for mirror in mirrors),
            "mirrors": mirrors,
        }
    )


def exit_code(report: StatusReport) -> int:
    """The exit code for scripts: 0 if no immediate action is needed."""
    if all(finding.level != "error" for finding in report.findings):
        return PlanRefused.exit_code if any(map(_replicates_nothing, report.mirrors)) else 0
    integrity = any(mirror.stopped or mirror.state == "failed" for mirror in report.mirrors)
    return (IntegrityError if integrity else Unreachable).exit_code


def _replicates_nothing(mirror: ApiMirror) -> bool:
    """No source topic is selected: a typo in `topics`, or a topic that does not exist yet."""
    return mirror.state in ("running", "done") and not mirror.partitions


def _not_run_here(address: str, absent: Sequence[str], running: Sequence[str]) -> Unreachable:
    mirrors = f"mirror{'s' if len(absent) > 1 else ''} {', '.join(absent)}"
    return Unreachable(
        f"the process at this address does not run {mirrors}",
        where=address,
        why=f"it runs {', '.join(running) or 'none yet'}",
        todo='give the mirror\'s address with --url: with port = "auto" the second process on a machine takes'
        " another port, and prints it in its first lines",
    )


def _print_json(model: ApiModel) -> None:
    print(model.model_dump_json(), flush=True)


def _print(report: StatusReport) -> None:
    console = Console(highlight=False)
    for section in sections(report, console.width if console.is_terminal else None):
        if isinstance(section, Table) and not console.is_terminal:
            Console(highlight=False, width=width_of(section)).print(section)  # a file has no width limit
        else:
            # No wrapping: commands must stay copyable.
            console.print(section, soft_wrap=isinstance(section, Text))


def _watch(request: Callable[[], StatusReport], output: StatusOutput) -> None:
    """Refresh until Ctrl-C. No response at the start is an error; later failures are retried."""
    console = Console(highlight=False)
    try:
        report = request()
        if output is StatusOutput.json or not console.is_terminal:
            _watch_lines(request, report, output)
        else:
            _watch_live(request, report, console)
    except KeyboardInterrupt:
        return


def _watch_lines(request: Callable[[], StatusReport], report: StatusReport, output: StatusOutput) -> None:
    while True:
        if output is StatusOutput.json:
            _print_json(report)
        else:
            print(line(report), flush=True)
        report = _next(request, output)


def _next(request: Callable[[], StatusReport], output: StatusOutput) -> StatusReport:
    """The next response; retries until there is one, and prints one line with the reason for each failure."""
    while True:
        time.sleep(REFRESH_SECONDS)
        try:
            return request()
        except CausewayError as error:
            if output is StatusOutput.json:
                _print_json(
                    StatusFailure(error=error.what, where=error.where, why=error.why, todo=error.todo)
                )
            else:
                print(printable(f"error: {error}"), flush=True)


def _watch_live(request: Callable[[], StatusReport], report: StatusReport, console: Console) -> None:
    with Live(_group(report, console), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(REFRESH_SECONDS)
            try:
                report = request()
                live.update(_group(report, console), refresh=True)
            except CausewayError as error:
                live.update(_group(report, console, error), refresh=True)


def _group(report: StatusReport, console: Console, error: CausewayError | None = None) -> Group:
    shown: list[RenderableType] = []
    if error is not None:
        shown += [Text(f"{error}: the status below is old", style="bold red"), Text()]
    return Group(*shown, *sections(report, console.width))
