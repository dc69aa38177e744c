"""`causeway adopt`: takes over from another tool. Prints a table of handoffs, asks, writes the positions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from causeway.adoption.rules.advice import LARGEST_WINDOW
from causeway.api import adopt as api
from causeway.api.arguments import load
from causeway.cli.adopt_pools import pool_question, show_pool
from causeway.cli.options import ConfigFile, Mirrors, Overrides
from causeway.core.adopt_report import AdoptReport, MirrorHandoffs, PartitionHandoff, PoolAdoptionReport
from causeway.core.plural import counted
from causeway.errors import UsageError
from causeway.printable import printable
from causeway.reporting.bars import Watch

NOT_KNOWN = (
    "Not checked: whether the old tool duplicated or lost records before the compared range.",
    "`causeway verify` compares what Causeway replicates, from these offsets on.",
)


class FromOption(StrEnum):
    group = "group"
    destination_end = "destination-end"
    timestamp = "timestamp"
    pool = "pool"


class AcceptOption(StrEnum):
    repeat = "repeat"
    lose = "lose"


class Compare(StrEnum):
    contents = "key-and-value"
    value = "value"


def adopt(
    config: ConfigFile,
    origin: Annotated[
        FromOption,
        typer.Option(
            "--from", help="Where to search for the handoff first; or `pool`: this mirror's own positions."
        ),
    ],
    group: Annotated[
        str, typer.Option(metavar="NAME", help="The old tool's group, if it is not the mirror's.")
    ] = "",
    at: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="For --from timestamp, like 2026-01-31T08:00:00Z.")
    ] = "",
    window: Annotated[
        int, typer.Option(metavar="RECORDS", help="How far from there the handoff may be, in records.")
    ] = 1_000,
    compare: Annotated[
        Compare, typer.Option(help="What makes records the same; `value` if the old tool changed keys.")
    ] = Compare.contents,
    accept: Annotated[
        AcceptOption | None, typer.Option(help="If a handoff is not clean: duplicate records, or lose some.")
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="If no handoff is found, start at the hint of --from.")
    ] = False,
    mirror: Mirrors = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the handoffs, and write nothing.")] = False,
    override: Overrides = None,
) -> None:
    """Take over a destination from another tool: find the handoff offsets and write the positions.

    With --from pool: continue a mirror of one cluster with a source pool that has this cluster as a node.
    """
    moment = _moment(origin, at)
    _check(origin, group, window, decided=yes or dry_run)
    if origin is FromOption.pool and (accept or unchecked or window != 1_000 or compare != Compare.contents):
        raise UsageError("--from pool takes no --window, --compare, --accept or --unchecked")
    settings = load(config, override or [])
    with Watch("reading both sides") as watch:

        def found(handoffs: MirrorHandoffs) -> None:
            with _bar_hidden(watch):
                _show(handoffs)

        def compared(pool: PoolAdoptionReport) -> None:
            with _bar_hidden(watch):
                show_pool(pool)

        def confirmed(report: AdoptReport) -> bool:
            with _bar_hidden(watch):
                if report.pools:
                    return yes or typer.confirm(pool_question(report))
                _say_costs(report)
                return yes or typer.confirm(f"Write the positions of {_partitions(report.partitions)}?")

        report = api.adopt(
            settings,
            origin=origin.value,
            group=group,
            at=moment,
            window=window,
            compare=compare.value,
            accept=accept.value if accept else None,
            unchecked=unchecked,
            mirrors=mirror or None,
            dry_run=dry_run,
            on_found=found,
            on_compared=compared,
            confirm=confirmed,
            on_step=watch.say,
            on_progress=watch.progress,
        )
    _tell(report, config, dry_run)


@contextlib.contextmanager
def _bar_hidden(watch: Watch) -> Iterator[None]:
    """Print without the progress bar below it."""
    watch.__exit__()
    try:
        yield
    finally:
        watch.__enter__()


def _check(origin: FromOption, group: str, window: int, *, decided: bool) -> None:
    """The options by their names; `causeway.adopt` checks the same by its parameters'."""
    if group and origin is not FromOption.group:
        raise UsageError("--group belongs to --from group")
    if not api.SMALLEST_WINDOW <= window <= LARGEST_WINDOW:
        raise UsageError(
            f"--window {window}: must be between {api.SMALLEST_WINDOW} and {LARGEST_WINDOW} records"
        )
    if not decided and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "cannot ask for confirmation without a terminal",
            todo="--dry-run shows the handoffs; --yes writes them",
        )


def _moment(origin: FromOption, at: str) -> datetime | None:
    if bool(at) != (origin is FromOption.timestamp):
        raise UsageError("--from timestamp needs --at, and nothing else does")
    try:
        return datetime.fromisoformat(at) if at else None
    except ValueError:
        raise UsageError(f"--at {at}: must be a timestamp such as 2026-01-31T08:00:00Z") from None


def _say_costs(report: AdoptReport) -> None:
    """Print how many records the accepted handoffs repeat or lose, and what is not known."""
    for what, total, counts in (
        ("duplicates", report.twice, [partition.twice for partition in report.partitions]),
        ("loses", report.lost, [partition.lost for partition in report.partitions]),
    ):
        if total.most:
            affected = counted(sum(bool(count.most) for count in counts), "partition")
            print(f"accepted: {what} {total.records} of {affected}")
    for line in NOT_KNOWN:
        print(line)


def _tell(report: AdoptReport, config: Path, dry_run: bool) -> None:
    if dry_run:
        api.raise_if_refused(report)
        if not report.pools:
            _say_costs(report)
        print("nothing was written (--dry-run)")
        return
    if not report.written:
        raise UsageError("nothing was written")
    for mirror in report.mirrors:
        if mirror.partitions:
            print(f"{mirror.mirror}: adopted {_partitions(mirror.partitions)}", flush=True)
    for pool in report.pools:
        print(f"{pool.mirror}: reads from the pool {pool.pool} now", flush=True)
    print(f"continue with: causeway run {config}")


def _partitions(partitions: Sequence[PartitionHandoff]) -> str:
    return counted(len(partitions), "partition")


def _show(handoffs: MirrorHandoffs) -> None:
    console = Console(highlight=False)
    title = f"{handoffs.mirror}: {', '.join(handoffs.sources)} → {handoffs.destination}"
    if console.is_terminal:
        console.print(escape(title), style="bold", soft_wrap=True)
        if handoffs.partitions:
            table = _table(handoffs.partitions)
            Console(highlight=False, width=Console(width=10_000).measure(table).maximum).print(table)
    else:
        print(title)
        for partition in handoffs.partitions:
            hint = f"{partition.hint} {partition.hint_offset}"
            print(printable(f"{partition.source}: {hint}; {_start(partition)}: {_verdict(partition)}"))
    for topic in handoffs.empty_topics:
        print(printable(f"{topic}: nothing to adopt, `causeway run` starts it"))


def _table(partitions: Sequence[PartitionHandoff]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("partition", "destination", "hint"):
        table.add_column(heading)
    for heading in ("handoff", "compared"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for partition in partitions:
        style = (
            "green" if partition.verdict == "clean" else "yellow" if partition.offset is not None else "red"
        )
        table.add_row(
            Text(printable(partition.source)),
            Text(printable(partition.place)),
            Text(printable(f"{partition.hint_offset} ({partition.hint})")),
            "–" if partition.offset is None else str(partition.offset),
            f"{partition.compared:,}",
            Text(printable(_verdict(partition)), style),
        )
    return table


def _start(partition: PartitionHandoff) -> str:
    return "refused" if partition.offset is None else f"starts at {partition.offset}"


def _verdict(partition: PartitionHandoff) -> str:
    if partition.verdict == "clean" or partition.offset is None:
        return partition.what
    accepted = "not checked" if partition.unchecked else "accepted"
    return f"{partition.what}; {accepted}: duplicates {partition.twice}, loses {partition.lost}"
