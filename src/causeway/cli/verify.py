"""`causeway verify`: compares both sides; prints a table or JSON, exits with 9 if they differ."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config import load
from causeway.config.units import parse_duration
from causeway.core.verify_report import DifferenceKind, VerifyReport
from causeway.errors import UsageError, VerifyMismatch
from causeway.reporting.bars import Watch
from causeway.reporting.verify_report import summary, verdict_lines, verdict_table
from causeway.verification.verify import verify as compare


class VerifyOutput(StrEnum):
    table = "table"
    json = "json"


def verify(
    config: ConfigFile,
    mirror: Mirrors = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Let a running mirror catch up with the ends of now first.")
    ] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Wait no longer than this, like 30s or 5m.")
    ] = None,
    output: Annotated[
        VerifyOutput, typer.Option("-o", "--output", help="What to print.")
    ] = VerifyOutput.table,
    override: Overrides = None,
) -> None:
    """Compare both sides record by record; exit 0 when they are equal, 9 when not."""
    settings = load(config, override or [])
    seconds = _seconds(timeout)
    stopping = threading.Event()
    with Watch("looking at both sides") as watch, ThreadPoolExecutor(1) as pool:
        comparing = pool.submit(
            compare,
            settings,
            mirror or [],
            wait=wait,
            timeout=seconds,
            say=watch.say,
            progress=watch.progress,
            stopping=stopping,
        )
        try:
            reports = comparing.result()
        except KeyboardInterrupt:
            stopping.set()
            raise
    if output is VerifyOutput.json:
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


def _judge(reports: Sequence[VerifyReport]) -> None:
    different = [report for report in reports if not report.equal]
    if different:
        raise VerifyMismatch(
            "; ".join(f"{_said(report)}: {summary(report)}" for report in different),
            where=", ".join(f'mirror "{report.mirror}"' for report in different),
            todo=_advice(different),
        )


def _advice(different: Sequence[VerifyReport]) -> str:
    if any(report.lost for report in different):
        return (
            "let replicas lead that are whole; where there are none, declare what is lost:"
            ' `causeway offsets skip`, or on_gap = "continue"'
        )
    if all(_kinds(report) == {"lagging"} for report in different):
        return "run the mirror and verify with --wait"
    if any("unreadable" in _kinds(report) for report in different):
        return "compare the headers of the unreadable records with another client"
    return ""


def _said(report: VerifyReport) -> str:
    unknown = _kinds(report) == {"unreadable"}
    return "some headers could not be compared" if unknown else "both sides differ"


def _kinds(report: VerifyReport) -> set[DifferenceKind]:
    return {kind for kind, count in report.counts().items() if count}
