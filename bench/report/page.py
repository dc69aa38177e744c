"""docs/benchmarks.md and its pictures, made from samples. Text written into the page by hand is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.report.plots import draw
from bench.report.tables import Table, goal_table, markdown, tables
from bench.samples import Run

PAGE = "benchmarks.md"
PICTURES = "benchmarks"
BEGIN = "<!-- by hand: kept when this page is made again -->"
END = "<!-- end of what is by hand -->"
NOT_YET = "## Where the time goes\n\nNot written yet."
_SHOWN_UNDER = {
    "throughput.svg": "Throughput: 200 B",
    "arrivals.svg": "Throughput: 200 B",
    "factors.svg": "Throughput: records",
    "latency.svg": "Latency",
    "growth.svg": "Growth",
}
"""For each picture, the beginning of the title of the table that it follows."""

HOW = """\
```console
make bench              # everything below
make bench QUICK=1      # the headline rows, in under five minutes
make bench FULL=1       # all combinations of size, headers, compression and partitions
```

Two real Kafka clusters of one broker each, the same records for all, one system after another, in an order
that changes with each round. Content is compared after every run, record by record in each partition: a run
that differs is void, and listed as such. Figures are medians of the rounds. `make bench ARGS=--help` shows
what can be chosen; other programs take part through a file (`--contenders`, described in
`bench/contenders/others.py`)."""


def publish(run: Run, docs: Path) -> Path:
    """Write the page and its pictures; return its path."""
    docs.mkdir(parents=True, exist_ok=True)
    path = docs / PAGE
    hand = by_hand(path.read_text()) if path.exists() else NOT_YET
    path.write_text(page(run, draw(run, docs / PICTURES), hand))
    return path


def by_hand(text: str) -> str:
    """The text between the marks of an earlier page."""
    _, begun, rest = text.partition(BEGIN)
    inside, ended, _ = rest.partition(END)
    return inside.strip() if begun and ended else NOT_YET


def page(run: Run, pictures: Mapping[str, str], hand: str) -> str:
    parts = [
        "# Benchmarks",
        f"Measured {run.began[:10]} on {run.machine.get('cores', '?')} cores that all systems share with both"
        " clusters' brokers. This page is made by `make bench`.",
        "## Goals",
        markdown(goal_table(run)),
        *(part for table in tables(run) if table.title != "Goals" for part in _section(table, pictures)),
        *_void(run),
        f"{BEGIN}\n\n{hand}\n\n{END}",
        "## How it is measured",
        HOW,
        _facts(run),
        "## Settings",
        *(_settings(run, system) for system in run.settings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(table: Table, pictures: Mapping[str, str]) -> list[str]:
    shown = [
        f"![{title}]({PICTURES}/{name})"
        for name, title in pictures.items()
        if table.title.startswith(_SHOWN_UNDER[name])
    ]
    return [f"## {table.title}", markdown(table), *shown]


def _void(run: Run) -> list[str]:
    lines = [
        f"- {sample.measure}, {sample.case}, {run.title(sample.system)}, round {sample.round + 1}:"
        f" {sample.void}"
        for sample in run.void()
    ]
    missing = [f"- left out: {line}" for line in run.left_out]
    return ["## Void, or left out", "\n".join(lines + missing)] if lines or missing else []


def _facts(run: Run) -> str:
    facts = {
        **run.machine,
        **run.versions,
        "began, ended": f"{run.began}, {run.ended or 'not ended'}",
        "command": f"`{run.command}`",
        "rounds": str(run.scale.get("rounds", "?")),
        "records of a throughput run": f"at most {run.scale.get('records', 0):,} at the centre and"
        f" {run.scale.get('around_records', 0):,} elsewhere, at most {run.scale.get('megabytes', 0):,} MB",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {fact} |" for name, fact in facts.items())])


def _settings(run: Run, system: str) -> str:
    lines = "\n".join(f"{key} = {value}" for key, value in run.settings[system].items())
    return f"{run.title(system)}:\n\n```\n{lines}\n```"
