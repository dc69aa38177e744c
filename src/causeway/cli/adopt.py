"""`causeway adopt`: takes over from another tool. Prints a table of handoffs, asks, writes the positions."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from causeway.adoption.adopt import Adoption, AdoptionRow
from causeway.adoption.handoff_advice import window_to_try
from causeway.adoption.resume_hints import AdoptOptions
from causeway.adoption.rules.advice import LARGEST_WINDOW
from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.config import load
from causeway.core.handoff import CountRange
from causeway.errors import IntegrityError, PlanRefused, UsageError
from causeway.planning.clusters import chosen
from causeway.reporting.bars import Watch

SMALLEST_WINDOW = 10
NOT_KNOWN = (
    "What this cannot know: records that the old tool doubled or lost before what was compared.",
    "`causeway verify` compares what Causeway carries, from these offsets on.",
)


class FromOption(StrEnum):
    group = "group"
    destination_end = "destination-end"
    timestamp = "timestamp"


class AcceptOption(StrEnum):
    repeat = "repeat"
    lose = "lose"


class Compare(StrEnum):
    contents = "key-and-value"
    value = "value"


def adopt(
    config: ConfigFile,
    origin: Annotated[FromOption, typer.Option("--from", help="Where to look for the seam first.")],
    group: Annotated[
        str, typer.Option(metavar="NAME", help="The old tool's group, if it is not the mirror's.")
    ] = "",
    at: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="For --from timestamp, like 2026-01-31T08:00:00Z.")
    ] = "",
    window: Annotated[
        int, typer.Option(metavar="RECORDS", help="How far from there the seam may be, in records.")
    ] = 1_000,
    compare: Annotated[
        Compare, typer.Option(help="What makes records the same; `value` where the old tool changed keys.")
    ] = Compare.contents,
    accept: Annotated[
        AcceptOption | None, typer.Option(help="Where a seam is not clean: repeat records, or lose some.")
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Where no seam is found, begin where --from says.")
    ] = False,
    mirror: Mirrors = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the seams, and write nothing.")] = False,
    override: Overrides = None,
) -> None:
    """Take over a destination from another tool: find the handoff offsets and write the positions."""
    options = AdoptOptions(
        origin=origin.value,
        group=group,
        at=_milliseconds(origin, at),
        window=window,
        values_only=compare is Compare.value,
        accept=accept.value if accept else "",
        unchecked=unchecked,
    )
    _check(options, yes or dry_run)
    settings = load(config, override or [])
    adoptions = [Adoption(settings, one, options) for one in chosen(settings, mirror or [])]
    for adoption in adoptions:
        with Watch("looking at both sides") as watch:
            adoption.search(watch.say, watch.progress)
        _show(adoption)
    rows = [row for adoption in adoptions for row in adoption.rows]
    if not rows:
        raise PlanRefused(
            "there is nothing to adopt: no destination topic holds records", todo=f"causeway run {config}"
        )
    _refuse(adoptions)
    _say_costs(rows)
    for line in NOT_KNOWN:
        print(line)
    if dry_run:
        print("nothing was written (--dry-run)")
        return
    if not yes and not typer.confirm(f"Write the positions of {len(rows)} partitions?"):
        raise UsageError("nothing was written")
    for adoption in adoptions:
        if adoption.rows:
            adoption.write()
            print(f"{adoption.mirror.name}: adopted {len(adoption.rows)} partitions", flush=True)
    print(f"go on with: causeway run {config}")


def _check(options: AdoptOptions, decided: bool) -> None:
    if options.group and options.origin != "group":
        raise UsageError("--group belongs to --from group")
    if not SMALLEST_WINDOW <= options.window <= LARGEST_WINDOW:
        raise UsageError(
            f"--window {options.window}: must be between {SMALLEST_WINDOW} and {LARGEST_WINDOW} records"
        )
    if not decided and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "without a terminal nobody can be asked",
            todo="--dry-run shows the seams; --yes writes them down",
        )


def _milliseconds(origin: FromOption, at: str) -> int:
    if bool(at) != (origin is FromOption.timestamp):
        raise UsageError("--from timestamp needs --at, and nothing else does")
    if not at:
        return 0
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise UsageError(f"--at {at}: must be a timestamp such as 2026-01-31T08:00:00Z") from None
    # UTC unless the timestamp has an offset, as in the configuration.
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _refuse(adoptions: list[Adoption]) -> None:
    for adoption in adoptions:
        refused = [row for row in adoption.rows if row.offset is None]
        if refused:
            # An "unexpected" handoff may be due to another partition's records: name that partition first.
            named = min(refused, key=lambda row: row.result.handoff.verdict == "unexpected")
            handoff = named.result.handoff
            wider = window_to_try(row.result for row in refused)
            look_further = f"look further: --window {wider}; or " if wider else ""
            raise IntegrityError(
                f"{len(refused)} of {len(adoption.rows)} partitions cannot be taken over as they are;"
                f" {named.lane.source}: {handoff.what}",
                where=f'mirror "{adoption.mirror.name}"',
                why="nothing was written",
                todo=f"{look_further}{handoff.todo}",
            )


def _say_costs(rows: list[AdoptionRow]) -> None:
    """Print how many records the accepted handoffs repeat or lose."""
    for what, counts in (
        ("come twice", [row.twice for row in rows]),
        ("are lost", [row.lost for row in rows]),
    ):
        total = sum(counts, CountRange())
        if total.most:
            partitions = sum(bool(count.most) for count in counts)
            print(f"accepted: {total} records of {partitions} partition{'s' * (partitions != 1)} {what}")


def _show(adoption: Adoption) -> None:
    console = Console(highlight=False)
    mirror = adoption.mirror
    title = f"{mirror.name}: {', '.join(mirror.source)} → {mirror.destination}"
    if console.is_terminal:
        console.print(escape(title), style="bold", soft_wrap=True)
        if adoption.rows:
            table = _table(adoption.rows)
            Console(highlight=False, width=Console(width=10_000).measure(table).maximum).print(table)
    else:
        print(title)
        for row in adoption.rows:
            hint = f"{row.hint.origin_text} {row.hint.offset}"
            print(f"{row.lane.source}: {hint}; {_begins(row)}: {_verdict(row)}")
    for topic in adoption.empty_topics:
        print(f"{topic}: nothing to adopt, `causeway run` begins with it by itself")


def _table(rows: list[AdoptionRow]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("partition", "goes to", "hint"):
        table.add_column(heading)
    for heading in ("seam", "compared"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in rows:
        style = (
            "green"
            if row.result.handoff.verdict == "clean"
            else "yellow"
            if row.offset is not None
            else "red"
        )
        table.add_row(
            escape(str(row.lane.source)),
            escape(_place(row)),
            escape(f"{row.hint.offset} ({row.hint.origin_text})"),
            "–" if row.offset is None else str(row.offset),
            f"{sum(len(tail.digests) for tail in row.result.tails):,}",
            f"[{style}]{escape(_verdict(row))}[/{style}]",
        )
    return table


def _place(row: AdoptionRow) -> str:
    topic, _, partition = row.lane.place
    return f"{topic} by key" if partition < 0 else f"{topic}[{partition}]"


def _begins(row: AdoptionRow) -> str:
    return "refused" if row.offset is None else f"begins at {row.offset}"


def _verdict(row: AdoptionRow) -> str:
    handoff = row.result.handoff
    if handoff.verdict == "clean" or row.offset is None:
        return handoff.what
    costs = [f"{count} {what}" for count, what in ((row.twice, "come twice"), (row.lost, "are lost"))]
    return f"{handoff.what}; {'not checked' if row.unchecked else 'accepted'}: {', '.join(costs)}"
