"""A run on the terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from bench.report.tables import Table, tables
from bench.samples import Run

WIDTH = 180  # without a terminal


def show(run: Run) -> None:
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    for table in tables(run):
        console.print()
        console.print(_drawn(table))
        if table.note:
            console.print(f"[dim]{escape(table.note)}[/dim]")
    console.print()
    for line in run.left_out:
        console.print(f"left out: {line}", markup=False)
    for sample in run.void():
        console.print(
            f"VOID: {sample.measure}, {sample.case}, {run.title(sample.system)}, round {sample.round + 1}:"
            f" {sample.void}",
            markup=False,
        )


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(title=table.title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(table.header):
        drawn.add_column(heading, justify="left" if place < table.words else "right")
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn
