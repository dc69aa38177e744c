"""`causeway verify`: compares both sides; a table for people, an object for machines, 9 when they differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from causeway.config import load
from causeway.config.units import parse_duration
from causeway.errors import UsageError, VerifyMismatch
from causeway.mirror.verify import verify as compare
from causeway.model.verdict import VerifyReport
from causeway.observe.verdict import summary, verdict_lines, verdict_table


class Output(StrEnum):
    table = "table"
    json = "json"


def verify(
    config: Annotated[Path, typer.Argument(help="The configuration file.")],
    mirror: Annotated[list[str] | None, typer.Option(help="Only this mirror; may be repeated.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Let a running mirror catch up with the ends of now first.")
    ] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Wait no longer than this, like 30s or 5m.")
    ] = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="What to print.")] = Output.table,
    override: Annotated[
        list[str] | None, typer.Option("-X", metavar="KEY=VALUE", help="Set a key of the configuration.")
    ] = None,
) -> None:
    """Compare both sides record by record; exit 0 when they are equal, 9 when not."""
    settings = load(config, override or [])
    seconds = _seconds(timeout)
    with _Watch() as watch:
        reports = compare(
            settings, mirror or [], wait=wait, timeout=seconds, say=watch.say, progress=watch.progress
        )
    if output is Output.json:
        equal = all(report.equal for report in reports)
        print(json.dumps({"equal": equal, "mirrors": [report.to_json() for report in reports]}), flush=True)
    else:
        _print(reports)
    _judge(reports)


def _seconds(timeout: str | None) -> float | None:
    if timeout is None:
        return None
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout {timeout}: {error}") from None


def _print(reports: Sequence[VerifyReport]) -> None:
    """The table is as wide as it needs to be where nobody looks at it through a terminal."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=200)
    for report in reports:
        sources = ", ".join(report.sources)
        console.print(escape(f"{report.mirror}: {sources} → {report.destination}"), style="bold")
        console.print(verdict_table(report))
        for line in verdict_lines(report):
            console.print(escape(line))


def _judge(reports: Sequence[VerifyReport]) -> None:
    different = [report for report in reports if not report.equal]
    if different:
        raise VerifyMismatch(
            "; ".join(f"both sides differ: {summary(report)}" for report in different),
            where=", ".join(f'mirror "{report.mirror}"' for report in different),
            todo=_advice(different),
        )


def _advice(different: Sequence[VerifyReport]) -> str:
    if all(
        {kind for kind, count in report.counts().items() if count} == {"behind"} for report in different
    ):
        return "run the mirror and verify with --wait"
    return ""


class _Watch:
    """Says what happens, on stderr: a bar on a terminal, lines without one."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> _Watch:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        if self._console.is_terminal:
            self._bar.update(self._task, description=escape(text))
        else:
            print(text, file=sys.stderr, flush=True)

    def progress(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
