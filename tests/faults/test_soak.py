"""The soak's own decisions: its schedule, its figures, its picture. The soak itself is `make soak`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest

from faults import soak_summary
from faults.checker import check
from faults.events import Fault, Lag, Side, Terms, Usage
from faults.history import History
from faults.history_builder import HistoryBuilder, WorkloadStep
from faults.invariant_result import Report
from faults.nemesis import FAMILIES, RECOVERY_MS, RESTART_MS, ScheduledFault, kinds, schedule
from faults.plot import draw, peaks

KILL, CUT = "mirror: kill -9", "source: cut"
LIMITS = {kind.name: kind.limit_ms for kind in kinds("destination")}
PNG = b"\x89PNG\r\n\x1a\n"

sides = pytest.mark.parametrize("three", get_args(Side))


def steps(seed: int, count: int = 300, three: Side = "destination") -> list[ScheduledFault]:
    return list(islice(schedule(seed, kinds(three)), count))


def scenario(*events: object) -> History:
    """An honest scenario with these events instead of its own faults."""
    honest = HistoryBuilder(
        [WorkloadStep("plain", records=5), WorkloadStep("committed", 1, 4), WorkloadStep("aborted", 0, 3)]
    ).history(Terms())
    kept = [event for event in honest.events if not isinstance(event, Fault | Lag | Usage)]
    return History([*kept, *events, Lag(900_000, 0, 0)])


def judged(history: History, **more: bool) -> tuple[Report, list[str]]:
    report = check(history)
    return report, soak_summary.wrong(history, report, LIMITS, **more)


@sides
def test_a_seed_gives_the_same_schedule_and_another_one_another(three: Side) -> None:
    def told(seed: int) -> list[tuple[str, float, int]]:
        return [(str(step), step.seconds, step.seed) for step in steps(seed, three=three)]

    assert told(7) == told(7)
    assert told(7) != told(8)
    assert len({name for name, _, _ in told(7)}) > len(kinds(three)), "victims and pairs vary"


@sides
def test_every_kind_comes_before_any_comes_again_and_again(three: Side) -> None:
    known = kinds(three)
    whole = sum(kind.weight for kind in known)
    for seed in range(5):
        dealt = [kind.name for step in steps(seed, whole, three) for kind in step.kinds][:whole]
        assert Counter(dealt) == {kind.name: kind.weight for kind in known}


@sides
def test_only_faults_that_touch_different_things_come_together(three: Side) -> None:
    together = [step.kinds for step in steps(3, three=three) if len(step.kinds) > 1]
    assert 20 < len(together) < 100
    for first, second in together:
        assert not first.touches & second.touches, (first.name, second.name)
    assert any(
        "mirror" in a.touches and b.family == "brokers" for pair in together for a, b in [pair, pair[::-1]]
    )


@sides
@pytest.mark.parametrize("waits_for", ["commit response lost", "commit late", "torn frame", "files gone"])
def test_what_waits_for_the_mirror_does_not_come_with_what_holds_it_up(three: Side, waits_for: str) -> None:
    """Neither of them would ever begin."""
    for kind in kinds(three):
        if waits_for in kind.name:
            assert "mirror" in kind.touches, kind.name


def test_a_fault_lasts_as_long_as_its_kind_may() -> None:
    for step in steps(5):
        assert max(kind.seconds[0] for kind in step.kinds) <= step.seconds + 0.05
        assert step.seconds - 0.05 <= max(kind.seconds[1] for kind in step.kinds)


@sides
def test_kinds_have_names_of_their_own_and_families_can_be_chosen(three: Side) -> None:
    names = [kind.name for kind in kinds(three)]
    assert len(names) == len(set(names))
    assert {kind.family for kind in kinds(three)} == set(FAMILIES)
    assert {kind.family for kind in kinds(three, ["network"])} == {"network"}
    assert not any(kind.restarts for kind in kinds(three, ["network", "brokers", "topics"]))


def test_a_scenario_without_anomalies_has_nothing_wrong() -> None:
    history = scenario(Fault(1_000, KILL, 2_000, crash=True), Lag(26_900, 0, 0))

    report, wrong = judged(history)

    assert wrong == []
    assert soak_summary.headline(history, report, 7, wrong).endswith("· no anomaly")


@pytest.mark.parametrize(("name", "limit"), [(KILL, RESTART_MS), (CUT, RECOVERY_MS)])
def test_a_recovery_has_the_time_that_was_promised_for_its_kind(name: str, limit: int) -> None:
    def at(ms: int) -> list[str]:
        return judged(scenario(Fault(1_000, name, 2_000), Lag(2_000 + ms - 1, 3, 3), Lag(2_000 + ms, 0, 0)))[
            1
        ]

    assert at(limit) == []
    (slow,) = at(limit + 1)
    assert "I11 slow-recovery" in slow
    assert name in slow


def test_faults_that_came_together_have_the_time_of_the_slower_one() -> None:
    apart = Fault(50_000, CUT, 51_000)
    both = [Fault(1_000, KILL, 3_000), Fault(1_000, CUT, 3_000)]
    late = [Lag(3_000 + RESTART_MS, 0, 0), Lag(51_000 + RESTART_MS, 0, 0)]

    _, wrong = judged(scenario(*both, apart, *late))

    (slow,) = wrong
    assert "51000" in slow


def test_what_was_not_shown_is_wrong_too() -> None:
    honest = scenario(Fault(1_000, CUT, 2_000), Lag(3_000, 0, 0))
    report = check(honest)
    report.results["I13"] = replace(report.results["I13"], status="unknown", doubts=("not read",))

    assert soak_summary.wrong(honest, report, LIMITS) == ["I13 is not shown to hold: not read"]
    assert soak_summary.wrong(honest, report, LIMITS, restarted=False) == []


def test_a_lost_record_and_a_fault_without_recovery_are_told() -> None:
    history = scenario(Fault(1_000, CUT, 890_000), Lag(895_000, 4, 4))
    seen = [
        event
        for event in history.events
        if getattr(event, "side", "") == "destination" and hasattr(event, "token")
    ]
    history = History(
        [event for event in history.events if event is not seen[0] and event != Lag(900_000, 0, 0)]
    )

    report, wrong = judged(history)
    lines = soak_summary.summary(history, report, 7, LIMITS, wrong)

    assert "1 lost, 0 duplicated, 0 out of order, 0 phantom" in lines[0]
    assert any("I1 lost" in line for line in lines)
    assert any("no-recovery" in line for line in lines)
    assert lines[0].endswith(f"{len(wrong)} ANOMALIES")


def test_a_summary_tells_faults_recoveries_and_use() -> None:
    usage = [Usage(at * 1_000, "jvm, 2 shards", (300 + at) * 2**20, 50, 40) for at in range(0, 600, 10)]
    faults = [Fault(at, KILL, at + 500) for at in (10_000, 30_000)] + [Fault(50_000, CUT, 50_100)]
    lags = [Lag(11_500, 0), Lag(33_500, 0), Lag(50_300, 0)]
    history = scenario(*faults, *lags, *usage)

    text = "\n".join(soak_summary.summary(history, check(history), 7, LIMITS, []))

    assert "seed 7 · 3 faults of 2 kinds" in text
    assert "zero lag after max 3.0 s, median 1.0 s" in text
    assert "590 s; records: 12 sent, 9 on the source, 9 on the destination; slower" in text
    assert f"2 × {KILL}: max 3.0 s, median 2.0 s" in text
    assert "jvm, 2 shards: memory 370 → 820 MiB (+60.00 MiB/min), threads 40 → 40, files 50 → 50" in text


@pytest.mark.parametrize(("minutes", "told"), [(2, 0), (12, 1)])
def test_what_processes_use_is_judged_in_long_runs_alone(minutes: int, told: int) -> None:
    usage = [Usage(at * 1_000, "jvm", (300 + 5 * at) * 2**20, 50, 40) for at in range(minutes * 60)]

    report, wrong = judged(scenario(Fault(1_000, CUT, 2_000), Lag(3_000, 0), *usage))

    assert report.results["I15"].status == "broken"
    assert sum("I15 memory-grow" in one for one in wrong) == len(wrong) == told


def test_a_trend_is_the_slope_of_what_was_measured() -> None:
    assert soak_summary.trend([(0, 5), (1, 7), (2, 9)]) == pytest.approx(2)
    assert soak_summary.trend([(0, 5), (0, 7)]) == 0


def test_a_line_of_many_points_keeps_its_peaks() -> None:
    assert peaks([(0, 1), (150, 9), (199, 2), (200, 0), (450, 3)], 200) == [(0.0, 9), (0.2, 0), (0.4, 3)]


def test_a_plot_is_written_from_any_history(tmp_path: Path) -> None:
    families = {kind.name: kind.family for kind in kinds("destination")}
    faults = [Fault(at * 5_000, name, at * 5_000 + 800) for at, name in enumerate(families)]
    usage = [Usage(at * 1_000, "driver, 2 shards", 100 * 2**20, 20, 10) for at in range(60)]
    lags = [Lag(at * 500, at % 7, at % 9) for at in range(400)]
    full = scenario(*faults, Fault(280_000, "one without an end"), *usage, *lags)

    for number, history in enumerate((full, History([]), History(full.of(Lag)))):
        path = tmp_path / f"{number}.png"
        draw(history, path, "seed 7: no anomaly", families)
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 10_000
