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
from causeway.errors import UsageError
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
    print_acls: Annotated[
        bool,
        typer.Option(
            "--print-acls",
            help="Print the least permissions as kafka-acls.sh lines, and check nothing. Needs no cluster.",
        ),
    ] = False,
    principal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ALIAS=PRINCIPAL",
            help="With --print-acls: the principal on this cluster or pool, where it is not the user name"
            " of PLAIN or SCRAM; may be repeated.",
        ),
    ] = None,
    override: Overrides = None,
) -> None:
    """Check both sides without writing; report what would prevent a mirror. Exit 0 if nothing does."""
    settings = load(config, override or [])
    if print_acls:
        if output is CheckOutput.json:
            raise UsageError("--print-acls prints lines for a shell, no JSON")
        for line in api.print_acls(settings, mirrors=mirror or None, principals=_principals(principal or [])):
            typer.echo(printable(line))
        return
    if principal:
        raise UsageError("--principal belongs to --print-acls")
    report = api.check(settings, mirrors=mirror or None)
    if output is CheckOutput.json:
        typer.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _principals(options: list[str]) -> dict[str, str]:
    principals = {}
    for option in options:
        alias, _, principal = option.partition("=")
        kind, _, name = principal.partition(":")
        if not (alias and kind and name):
            raise UsageError(
                f"--principal {option}: it names no principal of a cluster",
                todo="write ALIAS=TYPE:NAME, for example --principal paris=User:causeway",
            )
        principals[alias] = principal
    return principals


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
