"""`causeway verify`: compares both sides; prints a table or JSON, exits with 9 if they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from causeway.api import verify as api
from causeway.api.arguments import load
from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config.units import parse_duration
from causeway.core.verify_report import VerifyReport
from causeway.errors import UsageError
from causeway.reporting.bars import Watch
from causeway.reporting.verify_report import verdict_lines, verdict_table


class VerifyOutput(StrEnum):
    table = "table"
    json = "json"


def verify(
    config: ConfigFile,
    mirror: Mirrors = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="First wait until a running mirror has reached the current log ends."),
    ] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Wait no longer than this, like 30s or 5m.")
    ] = None,
    node: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of a source pool: compare this node, whatever it has."),
    ] = "",
    output: Annotated[
        VerifyOutput, typer.Option("-o", "--output", help="What to print.")
    ] = VerifyOutput.table,
    override: Overrides = None,
) -> None:
    """Compare both sides record by record; exit 0 when they are equal, 9 when not."""
    settings = load(config, override or [])
    seconds = _seconds(timeout)
    with Watch("reading both sides") as watch:
        result = api.verify(
            settings,
            mirrors=mirror or None,
            wait=wait,
            timeout=seconds,
            node=node,
            on_step=watch.say,
            on_progress=watch.progress,
        )
    if output is VerifyOutput.json:
        told = {"equal": result.equal, "mirrors": [report.to_json() for report in result]}
        print(json.dumps(told), flush=True)
    else:
        _print(result)
    result.raise_if_different()


def _seconds(timeout: str | None) -> float | None:
    if timeout is None:
        return None
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout {timeout}: {error}") from None


def _print(reports: Iterable[VerifyReport]) -> None:
    console = Console(highlight=False)
    for report in reports:
        title = f"{report.mirror}: {', '.join(report.sources)} → {report.destination}"
        console.print(escape(title), style="bold", soft_wrap=True)
        table = verdict_table(report)
        if console.is_terminal and _width(table) > console.width:
            table = verdict_table(report, [kind for kind, count in report.counts().items() if count])
        Console(highlight=False, width=_width(table)).print(table)
        for line in verdict_lines(report):
            console.print(escape(line), soft_wrap=True)


def _width(table: Table) -> int:
    """As wide as it needs to be: topic names must not be cut."""
    return Console(width=10_000).measure(table).maximum
