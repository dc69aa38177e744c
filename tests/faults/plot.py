"""A plot of a run: lag, faults, and what the processes used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from faults.behaviour import recoveries
from faults.events import Fault, Lag, Usage
from faults.history import History

COLOURS = {
    "processes": "#d1495b", "brokers": "#edae49", "network": "#30638e", "topics": "#5b8c5a",
    "data": "#8e5aa8", "quotas": "#3aa6a0", "files": "#8c6d46",
}  # fmt: skip
_OTHER, _RECOVERY = "#777777", "#c9c9c9"
_STEPS_SECONDS = (5, 10, 30, 60, 120, 300, 600, 1800, 3600)


def draw(history: History, path: Path, title: str, families: Mapping[str, str]) -> None:
    """`families` gives a fault's colour by its name; kinds are shown in that order."""
    faults, lags, used = history.of(Fault), history.of(Lag), history.of(Usage)
    ends = [*(one.at for one in lags), *(one.at for one in used), *(one.until for one in faults)]
    last = max([1_000, *ends]) / 1000
    known = {name: place for place, name in enumerate(families)}
    names = sorted({one.name for one in faults}, key=lambda name: (known.get(name, len(known)), name))
    lanes = 0.9 + 0.19 * len(names)
    figure = Figure(figsize=(18, 8 + lanes), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Sequence[Axes] = figure.subplots(5, 1, sharex=True, height_ratios=[3.2, lanes, 1.8, 1.4, 1.4])
    lagging, done, memory, threads, files = axes
    _lag(lagging, lags, faults, families)
    _faults(done, history, names, families, last)
    _used(memory, used, lambda one: one.memory / 2**20, "memory (MiB)")
    _used(threads, used, lambda one: one.threads, "threads")
    _used(files, used, lambda one: one.files, "open files")
    files.set_xlim(0, last)
    files.set_xlabel("time since the start (min:s)")
    step = next((one for one in _STEPS_SECONDS if last / one <= 20), _STEPS_SECONDS[-1])
    files.xaxis.set_major_locator(MultipleLocator(step))
    files.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{int(at) // 60}:{int(at) % 60:02d}"))
    figure.suptitle(title, fontsize=13)
    figure.savefig(path, dpi=100)


def peaks(points: Iterable[tuple[int, int]], ms: int) -> list[tuple[float, int]]:
    """The highest value in each interval: a line of many points must not hide peaks."""
    found: dict[int, int] = {}
    for at, value in points:
        found[at // ms] = max(value, found.get(at // ms, 0))
    return [(place * ms / 1000, value) for place, value in sorted(found.items())]


def _lag(axes: Axes, lags: list[Lag], faults: list[Fault], families: Mapping[str, str]) -> None:
    end = max((one.at for one in lags), default=1)
    ms = max(200, end // 2_000)
    unseen = peaks(((one.at, one.unseen) for one in lags if one.unseen >= 0), ms)
    lag = peaks(((one.at, one.lag) for one in lags), ms)
    for fault in faults:
        colour = COLOURS.get(families.get(fault.name, ""), _OTHER)
        over = fault.until if fault.until >= 0 else end
        axes.axvspan(fault.at / 1000, over / 1000, color=colour, alpha=0.22, linewidth=0)
    if unseen:
        at, count = ([one[column] for one in unseen] for column in (0, 1))
        axes.fill_between(
            at, count, step="post", color="#555555", alpha=0.55, linewidth=0,
            label="unseen: acknowledged by the source, not yet read at the destination",
        )  # fmt: skip
    if lag:
        axes.step(
            *zip(*lag, strict=True), where="post", color="#c1121f", linewidth=0.8,
            label="lag: those of them that were there when the last fault was over",
        )  # fmt: skip
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("records")
    axes.grid(True, alpha=0.25)
    if lag or unseen:
        axes.legend(loc="lower right", fontsize=8, ncols=2, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _faults(axes: Axes, history: History, names: list[str], families: Mapping[str, str], last: float) -> None:
    """A row for each kind: how long it lasted, and after it how long until zero lag."""
    took = {id(fault): ms for fault, ms in recoveries(history)}
    least = last / 700  # shorter ones would be invisible
    counted: dict[str, int] = defaultdict(int)
    for fault in history.of(Fault):
        lane = names.index(fault.name)
        counted[fault.name] += 1
        over = (fault.until if fault.until >= 0 else last * 1000) / 1000
        colour = COLOURS.get(families.get(fault.name, ""), _OTHER)
        recovery = (took.get(id(fault)) or 0) / 1000
        axes.broken_barh([(over, recovery)], (lane - 0.3, 0.6), facecolors=_RECOVERY)
        axes.broken_barh(
            [(fault.at / 1000, max(over - fault.at / 1000, least))], (lane - 0.38, 0.76), facecolors=colour
        )
    axes.set_yticks(range(len(names)), [f"{name}  ×{counted[name]}" for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_ylabel("faults")
    axes.grid(True, axis="x", alpha=0.25)
    shown = dict.fromkeys(families.get(name, "") for name in names)
    for family in shown:
        axes.broken_barh([], (0, 0), facecolors=COLOURS.get(family, _OTHER), label=family or "other")
    if names:
        axes.broken_barh([], (0, 0), facecolors=_RECOVERY, label="until zero lag")
        axes.legend(loc="lower right", fontsize=8, ncols=5, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _used(axes: Axes, used: list[Usage], value: Callable[[Usage], float], label: str) -> None:
    rows: dict[str, list[Usage]] = defaultdict(list)
    for one in used:
        rows[one.process.partition(",")[0]].append(one)
    for process, samples in sorted(rows.items()):
        axes.plot(
            [one.at / 1000 for one in samples], [value(one) for one in samples], ".",
            markersize=2.5, label=process,
        )  # fmt: skip
    axes.set_ylabel(label)
    axes.set_ylim(0, 1.3 * max(map(value, used), default=1.0))
    axes.grid(True, alpha=0.25)
    if rows:
        axes.legend(loc="upper left", fontsize=8, ncols=3, markerscale=4)
