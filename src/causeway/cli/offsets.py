"""`causeway offsets`: shows each source partition's position, and moves a position by hand."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config import MirrorSettings, Settings, load
from causeway.core.offsets import OffsetsReport, describe_gap
from causeway.errors import UsageError
from causeway.operations.offsets import show as look
from causeway.operations.rules.skipping import Wanted
from causeway.operations.skip import Skip, Wish
from causeway.planning.clusters import chosen, the_one
from causeway.printable import printable
from causeway.reporting.offsets import offsets_lines, offsets_table

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class OffsetsOutput(StrEnum):
    table = "table"
    json = "json"


@app.command()
def show(
    config: ConfigFile,
    mirror: Mirrors = None,
    topic: Annotated[str | None, typer.Option(help="Only this source topic.")] = None,
    output: Annotated[
        OffsetsOutput, typer.Option("-o", "--output", help="What to print.")
    ] = OffsetsOutput.table,
    override: Overrides = None,
) -> None:
    """Show what the ledger records for every source partition: position, counts, gaps, stops."""
    settings = load(config, override or [])
    reports = [look(settings, one, topic) for one in chosen(settings, mirror or [])]
    if output is OffsetsOutput.json:
        print(json.dumps({"mirrors": [report.to_json() for report in reports]}), flush=True)
    else:
        for report in reports:
            _print(report)


@app.command()
def skip(
    config: ConfigFile,
    topic: Annotated[str, typer.Option(help="The source topic.")],
    to: Annotated[str, typer.Option(metavar="OFFSET|earliest|latest", help="The next offset to carry.")],
    partition: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Of the source topic; may be repeated. None: all, where a gap stopped all."),
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="The mirror, where there are several.")] = None,
    source: Annotated[str, typer.Option(help="The source, where several have the topic.")] = "",
    back: Annotated[bool, typer.Option("--back", help="Let it go back: records come twice.")] = False,
    why: Annotated[
        str, typer.Option(metavar="TEXT", help="What the ledger shall remember as the reason.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    override: Overrides = None,
) -> None:
    """Move a position without replicating; the ledger keeps who did it, when and why for ever."""
    wanted = _wanted(to)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("without a terminal nobody can be asked", todo="--yes moves the position")
    settings = load(config, override or [])
    one = the_one(settings, mirror)
    moving = Skip(settings, one, Wish(topic, wanted, tuple(partition or ()), source, back, why))
    moving.look()
    for line in moving.foretold:
        print(printable(line), flush=True)
    if not moving.moves:
        print("nothing was written")
        return
    if not yes and not typer.confirm(_question(len(moving.moves))):
        raise UsageError("nothing was written")
    for gap in moving.write():
        print(printable(f"written to the ledger: {gap.source}: {describe_gap(gap)}"))
    print(f"go on with: {_command(config, one, settings)}")


def _question(count: int) -> str:
    return "Move the position?" if count == 1 else f"Move {count} positions?"


def _command(config: Path, mirror: MirrorSettings, settings: Settings) -> str:
    several = f" --mirror {mirror.name}" if len(settings.mirrors) > 1 else ""
    return f"causeway run {config}{several}"


def _wanted(to: str) -> Wanted:
    match to:
        case "earliest" | "latest":
            return to
    if not to.isascii() or not to.isdigit():
        raise UsageError(f"--to {to}: must be an offset, earliest or latest")
    return int(to)


def _print(report: OffsetsReport) -> None:
    console = Console(highlight=False)
    title = f"{report.mirror}: {', '.join(report.sources)} → {report.destination}"
    console.print(escape(title), style="bold", soft_wrap=True)
    table = offsets_table(report)
    if report.partitions:
        # As wide as it needs to be: topic names must not be cut.
        Console(highlight=False, width=Console(width=10_000).measure(table).maximum).print(table)
    for line in offsets_lines(report):
        console.print(escape(printable(line)), soft_wrap=True)
