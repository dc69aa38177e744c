"""Plots of a run, as SVG: each is drawn if it has data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bench.figures import PERCENTILES
from bench.report.goals import AT_LEAST_ONCE, EXACTLY_ONCE, LOOP, OURS
from bench.samples import Run, Sample
from bench.shapes import CENTRE

COLOURS = {OURS: "#30638e", AT_LEAST_ONCE: "#edae49", EXACTLY_ONCE: "#d1495b", LOOP: "#777777"}
_OTHERS = ("#5b8c5a", "#8d6a9f", "#3c3c3c", "#a3a3a3", "#c97b3d")
_WIDTH = 9.0


def draw(run: Run, directory: Path) -> dict[str, str]:
    """Draw the plots; return their titles by file name."""
    made: dict[str, str] = {}
    for name, (title, has, paint) in _PICTURES.items():
        if not has(run):
            continue
        directory.mkdir(parents=True, exist_ok=True)
        # The same samples make the same file: random ids would look like changes.
        with matplotlib.rc_context({"svg.hashsalt": "causeway", "svg.fonttype": "none"}):
            figure = Figure(layout="constrained")
            FigureCanvasSVG(figure)
            paint(run, figure)
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None})
        made[f"{name}.svg"] = title
    return made


def _throughput(run: Run, figure: Figure) -> None:
    systems = _measured(run, "throughput", CENTRE.name, "records_per_second")[::-1]
    figure.set_size_inches(_WIDTH, 0.9 + 0.42 * len(systems))
    axes = figure.subplots()
    for place, system in enumerate(systems):
        result = run.spread("throughput", CENTRE.name, system, "records_per_second")
        if result is None:
            continue
        reach = [[result.median - result.low], [result.high - result.median]]
        axes.barh(place, result.median, color=_colour(run, system), xerr=reach, capsize=3)
        axes.text(result.high, place, f"  {result.median:,.0f}", va="center", fontsize=9)
    axes.set_yticks(range(len(systems)), [run.title(system) for system in systems])
    axes.set_xlabel("records/s")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.margins(x=0.15)
    _plain(axes)


def _factors(run: Run, figure: Figure) -> None:
    cases = run.cases("throughput")
    systems = [name for name in run.systems("throughput") if name in COLOURS or name not in _limits(run)]
    figure.set_size_inches(_WIDTH, 1.0 + 0.16 * len(cases) * (len(systems) + 1))
    axes = figure.subplots()
    height = 0.8 / len(systems)
    for number, system in enumerate(systems):
        values = [run.median("throughput", case, system, "megabytes_per_second") or 0 for case in cases]
        places = [place + number * height - 0.4 + height / 2 for place in range(len(cases))]
        axes.barh(places, values, height, color=_colour(run, system), label=run.title(system))
    axes.set_yticks(range(len(cases)), cases)
    axes.invert_yaxis()
    axes.set_xlabel("MB/s")
    axes.legend(fontsize=8)
    _plain(axes)


def _arrivals(run: Run, figure: Figure) -> None:
    figure.set_size_inches(_WIDTH, 4)
    axes = figure.subplots()
    for system in run.systems("throughput"):
        chosen = _typical(run, "throughput", CENTRE.name, system)
        if chosen:
            at, arrived = zip(*chosen.course, strict=True)
            axes.plot(
                at, [value / 1e6 for value in arrived], color=_colour(run, system), label=run.title(system)
            )
    axes.set_xlabel("seconds since the command")
    axes.set_ylabel("million records at the destination")
    axes.legend(fontsize=8)
    _plain(axes)


def _latency(run: Run, figure: Figure) -> None:
    cases = run.cases("latency")
    figure.set_size_inches(_WIDTH, 3.6)
    every = figure.subplots(1, len(cases), sharey=True, squeeze=False)[0]
    names = list(PERCENTILES)
    for axes, case in zip(every, cases, strict=True):
        for system in run.systems("latency"):
            values = [run.median("latency", case, system, name) for name in names]
            if all(value is not None for value in values):
                axes.plot(
                    names, values, "o-", color=_colour(run, system), label=run.title(system), markersize=4
                )
        axes.set_yscale("log")
        axes.set_title(case, fontsize=10)
        axes.set_xticks(range(len(names)), [name.replace("_", ".") for name in names])
        _plain(axes)
    every[0].set_ylabel("milliseconds")
    every[-1].legend(fontsize=7)


def _growth(run: Run, figure: Figure) -> None:
    cases = run.cases("growth")
    numbers = [int(case.split()[0].replace(",", "")) for case in cases]
    figure.set_size_inches(_WIDTH, 3.2)
    panels = (("first_seconds", "first record, s"), ("memory_megabytes", "memory, MB"), ("p99", "p99, ms"))
    for axes, (name, label) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        for system in run.systems("growth"):
            points = [
                (number, value)
                for number, case in zip(numbers, cases, strict=True)
                if (value := run.median("growth", case, system, name)) is not None
            ]
            if points:
                axes.plot(
                    *zip(*points, strict=True), "o-", color=_colour(run, system), label=run.title(system)
                )
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("partitions")
        axes.set_title(label, fontsize=10)
        _plain(axes)
    figure.axes[0].legend(fontsize=7)


_PICTURES: dict[str, tuple[str, Callable[[Run], bool], Callable[[Run, Figure], None]]] = {
    "throughput": (
        f"Throughput, {CENTRE.name}: median, lowest and highest round",
        lambda run: CENTRE.name in run.cases("throughput") and not _all_void(run, "throughput"),
        _throughput,
    ),
    "arrivals": (
        "From the command on: records at the destination, each system's median round",
        lambda run: any(sample.course for sample in run.samples if sample.measure == "throughput"),
        _arrivals,
    ),
    "factors": ("Throughput of every shape", lambda run: len(run.cases("throughput")) > 1, _factors),
    "latency": ("Latency at three paces", lambda run: not _all_void(run, "latency"), _latency),
    "growth": ("Many partitions, mostly idle", lambda run: not _all_void(run, "growth"), _growth),
}


def _all_void(run: Run, measure: str) -> bool:
    return all(sample.void for sample in run.samples if sample.measure == measure)


def _measured(run: Run, measure: str, case: str, figure: str) -> list[str]:
    return [name for name in run.systems(measure) if run.median(measure, case, name, figure) is not None]


def _limits(run: Run) -> list[str]:
    """Limits replicate nothing, so they have no course."""
    mirrors = {sample.system for sample in run.samples if sample.course}
    return [name for name in run.systems("throughput") if name not in mirrors]


def _typical(run: Run, measure: str, case: str, system: str) -> Sample | None:
    """The round whose rate is nearest to the median."""
    rounds = [
        sample
        for sample in run.samples
        if (sample.measure, sample.case, sample.system) == (measure, case, system)
        and sample.course
        and not sample.void
    ]
    if not rounds:
        return None
    middle = median(sample.figures["records_per_second"] for sample in rounds)
    return min(rounds, key=lambda sample: abs(sample.figures["records_per_second"] - middle))


def _colour(run: Run, system: str) -> str:
    others = [name for name in run.titles if name not in COLOURS]
    return COLOURS.get(system) or _OTHERS[others.index(system) % len(_OTHERS) if system in others else 0]


def _plain(axes: Axes) -> None:
    axes.grid(True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
