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
from causeway.operations.offsets import read_offsets
from causeway.operations.rules.skipping import TargetOffset
from causeway.operations.skip import Skip, SkipRequest
from causeway.planning.clusters import chosen, the_one
from causeway.printable import printable
from causeway.reporting.offsets import offsets_lines, offsets_table

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Show the positions of partitions, or move them.",
)


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
    reports = [read_offsets(settings, each, topic) for each in chosen(settings, mirror or [])]
    if output is OffsetsOutput.json:
        print(json.dumps({"mirrors": [report.to_json() for report in reports]}), flush=True)
    else:
        for report in reports:
            _print(report)


@app.command()
def skip(
    config: ConfigFile,
    topic: Annotated[str, typer.Option(help="The source topic.")],
    to: Annotated[str, typer.Option(metavar="OFFSET|earliest|latest", help="The next offset to replicate.")],
    partition: Annotated[
        list[int] | None,
        typer.Option(
            min=0, help="Of the source topic; may be repeated. Without it all, if a gap stopped each of them."
        ),
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="The mirror, if there are several.")] = None,
    source: Annotated[str, typer.Option(help="The source, if several have the topic.")] = "",
    back: Annotated[bool, typer.Option("--back", help="Allow a move back: it duplicates records.")] = False,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, for the ledger.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    override: Overrides = None,
) -> None:
    """Move a position without replicating; the ledger keeps who did it, when and why for ever."""
    target = _target(to)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("cannot ask for confirmation without a terminal", todo="--yes moves the position")
    settings = load(config, override or [])
    chosen_mirror = the_one(settings, mirror)
    request = SkipRequest(topic, target, tuple(partition or ()), source, back, why)
    move = Skip(settings, chosen_mirror, request)
    move.plan()
    for line in move.consequences:
        print(printable(line), flush=True)
    if not move.moves:
        print("nothing was written")
        return
    if not yes and not typer.confirm(_question(len(move.moves))):
        raise UsageError("nothing was written")
    for gap in move.write():
        print(printable(f"written to the ledger: {gap.source}: {describe_gap(gap)}"))
    print(f"continue with: {_command(config, chosen_mirror, settings)}")


def _question(count: int) -> str:
    return "Move the position?" if count == 1 else f"Move {count:,} positions?"


def _command(config: Path, mirror: MirrorSettings, settings: Settings) -> str:
    several = f" --mirror {mirror.name}" if len(settings.mirrors) > 1 else ""
    return f"causeway run {config}{several}"


def _target(to: str) -> TargetOffset:
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
