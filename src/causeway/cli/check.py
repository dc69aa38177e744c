"""`causeway check`: what would be in a mirror's way; lines for people, an object for machines."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config import load
from causeway.mirror.check import examine
from causeway.model.checkup import Checkup, Level
from causeway.printable import printable

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "bold red"}
_WIDTH = max(map(len, _STYLES))


class Output(StrEnum):
    lines = "lines"
    json = "json"


def check(
    config: ConfigFile,
    mirror: Mirrors = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="What to print.")] = Output.lines,
    override: Overrides = None,
) -> None:
    """Look at both sides, write nothing, and say what would be in the way; exit 0 when nothing is."""
    checkup = examine(load(config, override or []), mirror or [])
    if output is Output.json:
        typer.echo(json.dumps(checkup.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(checkup)
    if checkup.exit_code:
        raise typer.Exit(checkup.exit_code)


def _show(checkup: Checkup) -> None:
    console = Console(highlight=False, soft_wrap=True)  # commands must stay in one piece to be copied
    for section in checkup.sections:
        console.print(Text(f"{section.kind} {section.name}", style="bold"))
        for remark in section.remarks:
            level = remark.level.ljust(_WIDTH), _STYLES[remark.level]
            console.print(Text.assemble("  ", level, "  ", printable(remark.what)))
            if remark.todo:
                console.print(Text.assemble(" " * (_WIDTH + 4), ("do: ", "dim"), printable(remark.todo)))
    console.print(_summary(checkup))


def _summary(checkup: Checkup) -> str:
    counts = checkup.counts()
    levels: tuple[Level, ...] = ("problem", "warning")
    said = [f"{counts[level]} {level}{'s' if counts[level] > 1 else ''}" for level in levels if counts[level]]
    return ", ".join(said) or "nothing is in the way"
