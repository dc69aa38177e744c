"""The outcome of a fault for the table: the checker's anomalies, counted."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from faults.events import Verdict
from faults.history import History
from faults.invariant_result import Report

WORDS = {
    "lost": "lost", "unseen": "not arrived", "lost-in-source": "lost by the source",
    "repeated": "repeated", "out-of-order": "out of order", "broken-replay": "out of order",
    "phantom": "phantom", "inconsistent-offsets": "phantom", "aborted-delivered": "aborted, yet delivered",
    "silent-gap": "skipped silently", "silent-truncation": "skipped silently",
    "no-recovery": "lag stays", "source-topics-changed": "topics made on the source",
}  # fmt: skip
"""Anomaly → its words in a cell; others keep their names."""
RESULT = "result.json"
Names = Sequence[tuple[str, str]]
"""Name on the command line, and title."""
SUMMARIES = ("not-converged", "lag-left")
"""Anomalies of partitions whose records I1 has already named."""


@dataclass(frozen=True)
class FaultOutcome:
    fault: str
    mirror: str
    seed: int
    acknowledged: int  # records on the source
    anomalies: dict[str, int]  # as the checker names them
    examples: list[str]
    said: list[str]  # what the mirror reported about partitions
    failures: list[str]  # what it reported about itself
    recovery_ms: int | None  # until zero lag; None: never
    trouble: str = ""  # why the scenario could not be completed
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    next_ms: int | None = None  # from the fault to the first record that was written after it
    notes: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def read(path: Path) -> FaultOutcome:
        return FaultOutcome(**json.loads(path.read_text()))

    @property
    def clean(self) -> bool:
        return not self.anomalies and not self.trouble


def examples(report: Report, most: int = 3) -> list[str]:
    """Some anomalies of each name."""
    seen: Counter[str] = Counter()
    found = []
    for one in report.anomalies:
        seen[one.name] += 1
        if seen[one.name] <= most:
            found.append(str(one))
    return found


def said(history: History) -> list[str]:
    """Each partition's last verdict."""
    last = {(one.topic, one.partition): one for one in history.of(Verdict)}
    return [
        f"{one.action} {topic.rpartition('.')[2]}[{partition}]: {one.verdict}"
        + (f", {one.expected} expected, {one.found} found" if one.found >= 0 else "")
        for (topic, partition), one in sorted(last.items())
    ]


def cell(outcome: FaultOutcome) -> list[str]:
    """The lines of a cell."""
    counts: Counter[str] = Counter()
    told = {"lost", "unseen"} & outcome.anomalies.keys()
    for name, count in outcome.anomalies.items():
        if not (told and name in SUMMARIES):
            word = WORDS.get(name, "replaced silently" if name.startswith("silent-") else name)
            counts[word] += count
    lines = [f"{count} {word}" for word, count in counts.items()]
    if outcome.clean:
        lines.append("no anomaly")
    lines += [f"says: {one}" for one in outcome.said]
    lines += [f"task failed: {_reason(one)}" for one in outcome.failures]
    if outcome.trouble:
        lines.append(f"not brought to its end: {outcome.trouble}")
    if outcome.recovery_ms is not None:
        lines.append(f"zero lag after {outcome.recovery_ms / 1000:.1f} s")
    if outcome.next_ms is not None:
        lines.append(f"next record after {outcome.next_ms / 1000:.1f} s")
    return [*lines, *outcome.notes]


def exit_code(outcomes: Iterable[FaultOutcome], ours: str) -> int:
    """1 if Causeway shows an anomaly or could not be checked; other mirrors do not count."""
    return int(any(not outcome.clean for outcome in outcomes if outcome.mirror == ours))


def show(directory: Path, faults: Names, mirrors: Names, title: str) -> None:
    """Print the table of everything that was run into a directory; write results.json and summary.txt."""
    outcomes = [FaultOutcome.read(path) for path in sorted(directory.glob(f"*/*/{RESULT}"))]
    (directory / "results.json").write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    shown = table(outcomes, faults, mirrors, title)
    with (directory / "summary.txt").open("w") as summary:
        Console(file=summary, width=160).print(shown)
    Console(width=None if sys.stdout.isatty() else 160).print(shown)
    print(f"histories, verdicts and logs: {directory}")


def table(
    outcomes: Iterable[FaultOutcome], faults: Names, mirrors: Names,
    title: str = "The same faults, the same checker",
) -> Table:  # fmt: skip
    """Faults down, mirrors across; (name, title) of each, omits those that were never run."""
    found = {(one.fault, one.mirror): one for one in outcomes}
    columns = [(name, title) for name, title in mirrors if any(mirror == name for _, mirror in found)]
    shown = Table(title=title, show_lines=True)
    shown.add_column("fault", max_width=24)
    for _, title in columns:
        shown.add_column(title, overflow="fold")
    for fault, title in faults:
        cells = ["\n".join(cell(found[fault, name])) if (fault, name) in found else "" for name, _ in columns]
        if any(cells):
            shown.add_row(title, *cells)
    return shown


def _reason(trace: str) -> str:
    """The innermost cause of a Java stack trace, on one line."""
    causes = [line.removeprefix("Caused by: ") for line in trace.splitlines() if "Caused by: " in line]
    line = causes[-1] if causes else trace.splitlines()[0]
    name, _, what = line.partition(": ")
    return f"{name.rpartition('.')[2]}{': ' if what else ''}{what}"[:120]
