"""Causeway's performance goals, and whether a run meets them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.samples import Run
from bench.shapes import CENTRE

OURS, AT_LEAST_ONCE, EXACTLY_ONCE = "causeway", "mm2", "mm2-exactly-once"
KAF_RELAY, LOOP = "kaf-relay", "copy-loop"
RATE = "1,000 records/s"
SLICE_SECONDS = 300.0  # Causeway's default
PAUSE_MS = 250.0


@dataclass(frozen=True)
class Goal:
    figure: str
    goal: str
    measured: str
    met: bool | None  # None if it was not measured

    @property
    def verdict(self) -> str:
        return {True: "met", False: "not met", None: "–"}[self.met]


def goals(run: Run) -> list[Goal]:
    return [
        _against(run, AT_LEAST_ONCE, "MirrorMaker 2 at-least-once", 2.5),
        _against(run, EXACTLY_ONCE, "MirrorMaker 2 exactly-once", 4.0),
        _against(run, KAF_RELAY, "kaf-relay, where it is installed", 2.0),
        _processor(run),
        _loop(run),
        *_latency(run),
        _boundary(run),
        _start(run),
        _idle(run),
        _memory(run),
        _page_cost(run),
    ]


def _centre(run: Run, system: str, figure: str) -> float | None:
    return run.median("throughput", CENTRE.name, system, figure)


def _against(run: Run, rival: str, title: str, least: float) -> Goal:
    figure, goal = f"throughput against {title}", f"≥ {least:.1f} ×"
    ours, theirs = (_centre(run, name, "records_per_second") for name in (OURS, rival))
    if ours is None or theirs is None:
        return _unknown(figure, goal)
    return Goal(figure, goal, f"{ours / theirs:.2f} ×", ours / theirs >= least)


def _processor(run: Run) -> Goal:
    figure, goal = "CPU per record against MirrorMaker 2 (either mode, steady state)", "≤ 1/4"
    ours = _centre(run, OURS, "cpu_per_million")
    theirs = [_centre(run, name, "cpu_per_million") for name in (AT_LEAST_ONCE, EXACTLY_ONCE)]
    known = [value for value in theirs if value]
    if ours is None or not known:
        return _unknown(figure, goal)
    # Compared with the cheaper of the two: the goal holds for both.
    shares = sorted((ours / value for value in known), reverse=True)
    return Goal(figure, goal, ", ".join(f"{share:.2f}" for share in shares), shares[0] <= 0.25)


def _loop(run: Run) -> Goal:
    figure, goal = "share of the bare C-speed loop's throughput", "≥ 0.8"
    ours, theirs = (_centre(run, name, "records_per_second") for name in (OURS, LOOP))
    if ours is None or theirs is None:
        return _unknown(figure, goal)
    return Goal(figure, goal, f"{ours / theirs:.2f}", ours / theirs >= 0.8)


def _latency(run: Run) -> Iterator[Goal]:
    figure, goal = f"latency at {RATE}", "p50 ≤ 20 ms, p99 ≤ 50 ms"
    ours = [run.median("latency", RATE, OURS, name) for name in ("p50", "p99")]
    theirs = [run.median("latency", RATE, EXACTLY_ONCE, name) for name in ("p50", "p99")]
    if ours[0] is None or ours[1] is None:
        yield _unknown(figure, goal)
    else:
        result = f"p50 {ours[0]:.1f} ms, p99 {ours[1]:.1f} ms"
        yield Goal(figure, goal, result, ours[0] <= 20 and ours[1] <= 50)
    figure, goal = f"{figure}, against MirrorMaker 2 exactly-once", "below it"
    pairs = [
        (own, other) for own, other in zip(ours, theirs, strict=True) if own is not None and other is not None
    ]
    if len(pairs) < 2:
        yield _unknown(figure, goal)
    else:
        result = ", ".join(f"{own:.1f} to {other:.1f} ms" for own, other in pairs)
        yield Goal(figure, goal, result, all(own < other for own, other in pairs))


def _boundary(run: Run) -> Goal:
    figure, goal = "slice boundary", f"≤ {PAUSE_MS:.0f} ms pause, not seen by p99.9"
    case = next(iter(run.cases("boundary")), "")
    pause, longest = (run.median("boundary", case, OURS, name) for name in ("pause", "longest"))
    if pause is None or longest is None:
        return _unknown(figure, goal)
    touched = pause / 1000 / SLICE_SECONDS  # the share of records that come within a pause
    result = (
        f"{pause:.0f} ms (longest {longest:.0f} ms),"
        f" {touched:.2%} of the records with slices of {SLICE_SECONDS / 60:.0f} min"
    )
    return Goal(figure, goal, result, pause <= PAUSE_MS and touched < 0.001)


def _start(run: Run) -> Goal:
    figure, goal = "cold start, command to first delivered record", "≤ 10 s"
    seconds = _centre(run, OURS, "first_seconds")
    return (
        _unknown(figure, goal) if seconds is None else Goal(figure, goal, f"{seconds:.1f} s", seconds <= 10)
    )


def _idle(run: Run) -> Goal:
    figure, goal = "idle mirror", "< 5 % of a core with two shards"
    cores = _centre(run, OURS, "idle_cores")
    return _unknown(figure, goal) if cores is None else Goal(figure, goal, f"{cores:.1%}", cores < 0.05)


def _memory(run: Run) -> Goal:
    figure, goal = "memory of each shard's Python worker", "≤ 400 MB, whatever the backlog"
    most = [
        sample.figures["worker_megabytes"]
        for sample in run.samples
        if sample.system == OURS and not sample.void and "worker_megabytes" in sample.figures
    ]
    return Goal(figure, goal, f"{max(most):.0f} MB", max(most) <= 400) if most else _unknown(figure, goal)


def _page_cost(run: Run) -> Goal:
    figure, goal = "page and metrics at 1,000 partitions", "< 2 % of a core"
    cores = run.median("page", "1,000 partitions", OURS, "cost_cores")
    return _unknown(figure, goal) if cores is None else Goal(figure, goal, f"{cores:.1%}", cores < 0.02)


def _unknown(figure: str, goal: str) -> Goal:
    return Goal(figure, goal, "not measured", None)
