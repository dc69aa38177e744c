"""What was measured, as it is kept in JSON: a flat list of samples, and what was said about the run. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import Spread, spread

FORMAT = 1


@dataclass(frozen=True)
class Sample:
    """One run of one system in one round. A void one counts nowhere, and says why."""

    measure: str
    case: str  # a shape, a rate, a number of partitions
    system: str
    round: int
    figures: dict[str, float] = field(default_factory=dict)
    void: str = ""
    course: list[list[float]] = field(default_factory=list)  # seconds, records: for plots


@dataclass
class Run:
    """A run of the benchmark."""

    began: str  # UTC
    command: str
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    scale: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)  # by system
    titles: dict[str, str] = field(default_factory=dict)  # by system, in their order
    left_out: list[str] = field(default_factory=list)  # who could not take part, and why
    samples: list[Sample] = field(default_factory=list)
    ended: str = ""

    def spread(self, measure: str, case: str, system: str, figure: str) -> Spread | None:
        """Over the rounds that are not void; None where there is none."""
        values = [
            sample.figures[figure]
            for sample in self.samples
            if (sample.measure, sample.case, sample.system) == (measure, case, system)
            and not sample.void
            and figure in sample.figures
        ]
        return spread(values) if values else None

    def median(self, measure: str, case: str, system: str, figure: str) -> float | None:
        found = self.spread(measure, case, system, figure)
        return found.median if found else None

    def cases(self, measure: str) -> list[str]:
        """In the order in which they were measured."""
        return list(dict.fromkeys(sample.case for sample in self.samples if sample.measure == measure))

    def systems(self, measure: str) -> list[str]:
        """Those that were measured, in the order of the titles."""
        there = {sample.system for sample in self.samples if sample.measure == measure}
        return [*(name for name in self.titles if name in there), *sorted(there - self.titles.keys())]

    def void(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.void]

    def title(self, system: str) -> str:
        return self.titles.get(system, system)


def to_json(run: Run) -> str:
    return json.dumps({"format": FORMAT, **asdict(run)}, indent=1, ensure_ascii=False)


def from_json(text: str) -> Run:
    """Raises ValueError for what `to_json` has not written."""
    try:
        found = json.loads(text)
        if found.pop("format") != FORMAT:
            raise ValueError("written by another version of the benchmark")
        samples = [Sample(**sample) for sample in found.pop("samples")]
        return Run(**found, samples=samples)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a result of the benchmark: {error}") from None


def write(run: Run, path: Path) -> None:
    """Whole or not at all: it is written again after every sample of a run that lasts hours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(to_json(run))
    unfinished.replace(path)


def merged(runs: Sequence[Run]) -> Run:
    """Several runs as one page shows them: each case from the last run that measured it, all systems of it.

    So figures that are set against each other come from the same run.
    """
    last = runs[-1]
    samples = {key: found for run in runs for key, found in _by_case(run.samples).items()}
    return Run(
        began=last.began,
        command=" ; ".join(dict.fromkeys(run.command for run in runs)),
        machine=last.machine,
        versions=last.versions,
        scale=last.scale,
        settings={name: known for run in runs for name, known in run.settings.items()},
        titles={name: title for run in runs for name, title in run.titles.items()},
        left_out=list(dict.fromkeys(line for run in runs for line in run.left_out)),
        samples=[sample for found in samples.values() for sample in found],
        ended=last.ended,
    )


def _by_case(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault((sample.measure, sample.case), []).append(sample)
    return found
