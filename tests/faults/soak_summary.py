"""A soak in figures: anomalies, recovery times, and what the processes used."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from faults.behaviour import recoveries
from faults.checker import RECORDS
from faults.events import Damage, Fault, Seen, Sent, Usage
from faults.history import History
from faults.invariant_result import Anomaly, Report

NAMED = {"lost": "I1", "duplicated": "I4", "out of order": "I3", "phantom": "I2"}
LONG_MS = 600_000
_MIB = 2**20


def counted(history: History) -> Counter[str]:
    """Injected faults by kind, the most frequent first."""
    return Counter(dict(Counter(fault.name for fault in history.of(Fault)).most_common()))


def slow(history: History, limits: Mapping[str, int]) -> list[Anomaly]:
    """Recoveries that took longer than promised.

    Faults that were injected together end together, and have the longest of their limits.
    """
    faults = history.of(Fault)
    broken = []
    for fault, took in recoveries(history):
        together = [one for one in faults if one.at <= fault.until and fault.at <= one.until]
        limit = max(limits.get(one.name, 0) for one in together)
        if took is not None and limit and took > limit:
            what = f"zero lag came {took} ms after its end at {fault.until} ms, {limit} were promised"
            broken.append(Anomaly("I11", "slow-recovery", fault.name, what))
    return broken


def wrong(
    history: History, report: Report, limits: Mapping[str, int], *, restarted: bool = True
) -> list[str]:
    """Every anomaly, and every required invariant that is unknown.

    Only a mirror that was `restarted` had two writers, and a run without faults shows no recovery. The use of
    memory means nothing in a short run, most of which is warm-up.
    """
    after_faults = ["I11", "I12", *(["I13"] if restarted else [])] if history.of(Fault) else []
    required = [*RECORDS, "I7", "I8", "I9", *after_faults, *(["I10"] if history.of(Damage) else [])]
    unknown = [report.results[name] for name in required if report.results[name].status == "unknown"]
    used = [one.at for one in history.of(Usage)]
    short = not used or used[-1] - used[0] < LONG_MS
    return [
        *(str(one) for one in report.anomalies if not (short and one.invariant == "I15")),
        *map(str, slow(history, limits)),
        *(f"{one.invariant} is not shown to hold: {'; '.join(one.doubts[:3])}" for one in unknown),
    ]


def headline(history: History, report: Report, seed: int, wrong: Sequence[str]) -> str:
    """A run in one line."""
    kinds = counted(history)
    found = ", ".join(f"{len(report.results[key].anomalies)} {name}" for name, key in NAMED.items())
    every = [ms for row in _times(history).values() for ms in row]
    outcome = f"{len(wrong)} ANOMALIES" if wrong else "no anomaly"
    return (
        f"seed {seed} · {sum(kinds.values())} faults of {len(kinds)} kinds · {found} · "
        f"zero lag after {_spread(every)} · {outcome}"
    )


def summary(
    history: History, report: Report, seed: int, limits: Mapping[str, int], wrong: Sequence[str]
) -> list[str]:
    """The summary for people: faults, recoveries, anomalies."""
    kinds, times = counted(history), _times(history)
    # Each once: data that will be deleted is read before, and what is left is read again at the end.
    read = {(one.side, one.topic, one.topic_id, one.partition, one.offset) for one in history.of(Seen)}
    seen = Counter(side for side, *_ in read)
    last = max((event.at for event in history.of(Usage) + history.of(Fault)), default=0)
    lines = [
        headline(history, report, seed, wrong),
        f"{last / 1000:.0f} s; records: {len(history.of(Sent))} sent, {seen['source']} on the source, "
        f"{seen['destination']} on the destination; slower than promised: {len(slow(history, limits))}",
        *(
            f"  {kinds[name]:3} × {name}: {_spread(times.get(name, []))}"
            for name in sorted(kinds, key=lambda name: -max(times.get(name, [0])))
        ),
        *_use(history),
        "  ".join(f"{name} {result.status}" for name, result in report.results.items()),
    ]
    lines += [f"ANOMALY {one}" for one in wrong[:50]]
    return [*lines, f"… and {len(wrong) - 50} more"] if len(wrong) > 50 else lines


def trend(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the best-fitting line."""
    n = len(points)
    x, y = (sum(column) / n for column in zip(*points, strict=True))
    spread = sum((at - x) ** 2 for at, _ in points)
    return sum((at - x) * (value - y) for at, value in points) / spread if spread else 0.0


def _times(history: History) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for fault, took in recoveries(history):
        if took is not None:
            found[fault.name].append(took)
    return found


def _spread(times: Sequence[int]) -> str:
    if not times:
        return "never"
    return f"max {max(times) / 1000:.1f} s, median {median(times) / 1000:.1f} s"


def _use(history: History) -> list[str]:
    """First and last quarter of what each kind of process used, and the slope over the whole run."""
    rows: dict[str, list[Usage]] = defaultdict(list)
    for one in history.of(Usage):
        rows[one.process].append(one)
    lines = []
    for process, samples in sorted(rows.items()):
        quarter = max(1, len(samples) // 4)
        first, last = samples[:quarter], samples[-quarter:]
        slope = trend([(one.at / 60_000, one.memory / _MIB) for one in samples])
        lines.append(
            f"  {process}: memory {_mid(first, 'memory') / _MIB:.0f} → {_mid(last, 'memory') / _MIB:.0f} MiB"
            f" ({slope:+.2f} MiB/min), threads {_mid(first, 'threads'):.0f} → {_mid(last, 'threads'):.0f},"
            f" files {_mid(first, 'files'):.0f} → {_mid(last, 'files'):.0f}, {len(samples)} samples"
        )
    return lines


def _mid(samples: Sequence[Usage], name: str) -> float:
    return float(median(getattr(one, name) for one in samples))
