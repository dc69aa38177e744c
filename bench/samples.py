"""The results as stored in JSON: a flat list of samples, and facts about the run. Pure."""

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
    """One run of one system in one round. A void sample is not counted; `void` is the reason."""

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
    left_out: list[str] = field(default_factory=list)  # systems that could not take part, and why
    samples: list[Sample] = field(default_factory=list)
    ended: str = ""

    def spread(self, measure: str, case: str, system: str, figure: str) -> Spread | None:
        """Over the rounds that are not void; None if there are none."""
        values = [
            sample.figures[figure]
            for sample in self.samples
            if (sample.measure, sample.case, sample.system) == (measure, case, system)
            and not sample.void
            and figure in sample.figures
        ]
        return spread(values) if values else None

    def median(self, measure: str, case: str, system: str, figure: str) -> float | None:
        result = self.spread(measure, case, system, figure)
        return result.median if result else None

    def cases(self, measure: str) -> list[str]:
        """Cases in the order in which they were measured."""
        return list(dict.fromkeys(sample.case for sample in self.samples if sample.measure == measure))

    def systems(self, measure: str) -> list[str]:
        """Systems that were measured, in the order of the titles."""
        there = {sample.system for sample in self.samples if sample.measure == measure}
        return [*(name for name in self.titles if name in there), *sorted(there - self.titles.keys())]

    def void(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.void]

    def title(self, system: str) -> str:
        return self.titles.get(system, system)


def to_json(run: Run) -> str:
    return json.dumps({"format": FORMAT, **asdict(run)}, indent=1, ensure_ascii=False)


def from_json(text: str) -> Run:
    """Raises ValueError if `to_json` did not write it."""
    try:
        content = json.loads(text)
        if content.pop("format") != FORMAT:
            raise ValueError("written by another version of the benchmark")
        samples = [Sample(**sample) for sample in content.pop("samples")]
        return Run(**content, samples=samples)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a result of the benchmark: {error}") from None


def write(run: Run, path: Path) -> None:
    """Write atomically: the file is replaced after every sample of a run that lasts hours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(to_json(run))
    unfinished.replace(path)


def merged(runs: Sequence[Run]) -> Run:
    """Merge several runs for one page: each case, with all its systems, from the last run that measured it.

    So figures that are compared with each other come from the same run.
    """
    last = runs[-1]
    samples = {key: group for run in runs for key, group in _by_case(run.samples).items()}
    return Run(
        began=last.began,
        command=" ; ".join(dict.fromkeys(run.command for run in runs)),
        machine=last.machine,
        versions=last.versions,
        scale=last.scale,
        settings={name: known for run in runs for name, known in run.settings.items()},
        titles={name: title for run in runs for name, title in run.titles.items()},
        left_out=list(dict.fromkeys(line for run in runs for line in run.left_out)),
        samples=[sample for group in samples.values() for sample in group],
        ended=last.ended,
    )


def _by_case(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Sample]]:
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.measure, sample.case), []).append(sample)
    return groups
