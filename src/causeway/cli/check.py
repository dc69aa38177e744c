"""`causeway check`: reports what would prevent a mirror from running, as lines or as JSON."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from causeway.api import check as api
from causeway.api.arguments import load
from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.core.check_report import CheckReport, RemarkLevel
from causeway.core.plural import counted
from causeway.printable import printable

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
_WIDTH = max(map(len, _STYLES))


class CheckOutput(StrEnum):
    lines = "lines"
    json = "json"


def check(
    config: ConfigFile,
    mirror: Mirrors = None,
    output: Annotated[CheckOutput, typer.Option("-o", "--output", help="What to print.")] = CheckOutput.lines,
    override: Overrides = None,
) -> None:
    """Check both sides without writing; report what would prevent a mirror. Exit 0 if nothing does."""
    report = api.check(load(config, override or []), mirrors=mirror or None)
    if output is CheckOutput.json:
        typer.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _show(report: CheckReport) -> None:
    console = Console(highlight=False, soft_wrap=True)  # no wrapping: commands must stay copyable
    for section in report.sections:
        console.print(Text(f"{section.kind} {section.name}", style="bold"))
        for remark in section.remarks:
            level = remark.level.ljust(_WIDTH), _STYLES[remark.level]
            console.print(Text.assemble("  ", level, "  ", printable(remark.what)))
            if remark.todo:
                console.print(Text.assemble(" " * (_WIDTH + 4), ("do: ", "dim"), printable(remark.todo)))
    console.print(_summary(report))


def _summary(report: CheckReport) -> str:
    counts = report.counts()
    levels: tuple[RemarkLevel, ...] = ("problem", "warning")
    found = [counted(counts[level], level) for level in levels if counts[level]]
    return ", ".join(found) or "no problems"
