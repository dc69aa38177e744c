"""Goals, tables and the page, from samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.report.goals import goals
from bench.report.page import BEGIN, END, by_hand, page, publish
from bench.report.tables import factors, headline, latency, markdown, ranged, tables, tls
from bench.samples import Run, Sample
from bench.shapes import CENTRE

RATE = "1,000 records/s"
GOOD = {
    "causeway": {"records_per_second": 1_000_000.0, "cpu_per_million": 1.0, "first_seconds": 8.0,
                 "idle_cores": 0.03, "worker_megabytes": 300.0, "megabytes_per_second": 200.0},
    "mm2": {"records_per_second": 300_000.0, "cpu_per_million": 5.0, "megabytes_per_second": 60.0},
    "mm2-exactly-once": {"records_per_second": 200_000.0, "cpu_per_million": 6.0,
                         "megabytes_per_second": 40.0},
    "copy-loop": {"records_per_second": 1_100_000.0, "cpu_per_million": 1.0, "megabytes_per_second": 220.0},
}  # fmt: skip
QUICK_ONES = {"causeway": {"p50": 10.0, "p99": 40.0}, "mm2-exactly-once": {"p50": 30.0, "p99": 80.0}}


def run(**changes: dict[str, float]) -> Run:
    """A run that meets all goals, but for what is changed of a system."""
    systems = {name: {**figures, **changes.get(name.replace("-", "_"), {})} for name, figures in GOOD.items()}
    times = {
        name: {"p90": 35.0, "p99_9": 90.0, "longest": 95.0, **figures, **changes.get(f"{name}_latency", {})}
        for name, figures in QUICK_ONES.items()
    }
    pause = {
        "p50": 1.0,
        "p90": 1.0,
        "p99": 1.0,
        "p99_9": 1.0,
        "pause": 200.0,
        "longest": 240.0,
        **changes.get("boundary", {}),
    }
    looked_at = {
        "off_cores": 0.05, "alone_cores": 0.055, "watched_cores": 0.06, "cost_cores": 0.01,
        "scrape_ms": 7.0, **changes.get("page", {}),
    }  # fmt: skip
    course = [[0.0, 0.0], [1.0, 10.0]]
    return Run(
        "2030-01-02T00:00:00+00:00",
        "python -m bench",
        machine={"cores": "2"},
        settings={"mm2": {"tasks.max": "4"}},
        titles={name: name.upper() for name in GOOD},
        samples=[
            *(
                Sample("throughput", CENTRE.name, name, 0, row, course=course)
                for name, row in systems.items()
            ),
            *(Sample("latency", RATE, name, 0, row) for name, row in times.items()),
            Sample("boundary", "slices of 10 s", "causeway", 0, pause),
            Sample("page", "1,000 partitions", "causeway", 0, looked_at),
        ],
    )


def met(found: Run) -> dict[str, bool | None]:
    return {goal.figure: goal.met for goal in goals(found)}


def test_all_goals_can_be_met() -> None:
    answers = met(run())
    assert answers.pop("throughput against kaf-relay, where it is installed") is None
    assert set(answers.values()) == {True}


@pytest.mark.parametrize(
    ("changes", "figure"),
    [
        ({"mm2": {"records_per_second": 410_000.0}}, "throughput against MirrorMaker 2 at-least-once"),
        (
            {"mm2_exactly_once": {"records_per_second": 251_000.0}},
            "throughput against MirrorMaker 2 exactly-once",
        ),
        (
            {"mm2": {"cpu_per_million": 3.9}},
            "CPU per record against MirrorMaker 2 (either mode, steady state)",
        ),
        ({"copy_loop": {"records_per_second": 1_300_000.0}}, "share of the bare C-speed loop's throughput"),
        ({"causeway_latency": {"p99": 51.0}}, f"latency at {RATE}"),
        ({"causeway_latency": {"p50": 20.5}}, f"latency at {RATE}"),
        (
            {"mm2-exactly-once_latency": {"p99": 39.0}},
            f"latency at {RATE}, against MirrorMaker 2 exactly-once",
        ),
        ({"boundary": {"pause": 251.0}}, "slice boundary"),
        ({"causeway": {"first_seconds": 10.1}}, "cold start, command to first delivered record"),
        ({"causeway": {"idle_cores": 0.05}}, "idle mirror"),
        ({"page": {"cost_cores": 0.02}}, "page and metrics at 1,000 partitions"),
        ({"causeway": {"worker_megabytes": 401.0}}, "memory of each shard's Python worker"),
    ],
)
def test_each_goal_can_be_missed(changes: dict[str, dict[str, float]], figure: str) -> None:
    assert [name for name, answer in met(run(**changes)).items() if answer is False] == [figure]


def test_the_largest_worker_of_all_measures_counts() -> None:
    found = run()
    found.samples.append(Sample("catch-up", "3 GB", "causeway", 0, {"worker_megabytes": 500.0}))
    assert met(found)["memory of each shard's Python worker"] is False


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert set(met(Run("2030-01-02", "x")).values()) == {None}
    assert tables(Run("2030-01-02", "x")) == []


def test_a_void_run_meets_nothing() -> None:
    found = run()
    found.samples[0] = Sample("throughput", CENTRE.name, "causeway", 0, GOOD["causeway"], void="differs")
    assert met(found)["throughput against MirrorMaker 2 at-least-once"] is None
    assert "differs" in page(found, {}, "")
    assert [row[0] for row in headline(found).rows] == ["MM2", "MM2-EXACTLY-ONCE", "COPY-LOOP"]


def test_rounds_are_shown_with_their_spread() -> None:
    found = run()
    found.samples.append(Sample("throughput", CENTRE.name, "mm2", 1, {"records_per_second": 310_000.0}))
    spread = found.spread("throughput", CENTRE.name, "mm2", "records_per_second")
    assert ranged(spread) == "305,000 (300,000 – 310,000)"
    assert ranged(None) == "–"


def test_one_shape_needs_no_table_of_shapes() -> None:
    found = run()
    assert factors(found).rows == ()
    found.samples.append(Sample("throughput", "100 B", "mm2", 0, GOOD["mm2"]))
    assert factors(found).rows[1] == ("100 B", "–", "300,000 (60)", "–", "–")


def test_a_table_becomes_markdown() -> None:
    text = markdown(latency(run()))
    assert text.splitlines()[1].startswith("| --- | --- | ---: |")
    assert f"| {RATE} | CAUSEWAY | 10.0 | 35.0 | 40.0 | 90.0 | 95.0 |" in text
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_the_page_keeps_what_is_by_hand(tmp_path: Path) -> None:
    first = publish(run(), tmp_path)
    said = "## Where the time goes\n\nIn librdkafka | mostly."
    first.write_text(first.read_text().replace(by_hand(first.read_text()), said))
    again = publish(run(causeway={"first_seconds": 3.0}), tmp_path).read_text()
    assert by_hand(again) == said
    assert again.count(BEGIN) == again.count(END) == 1
    assert "3.0 s" in again
    assert publish(run(causeway={"first_seconds": 3.0}), tmp_path).read_text() == again


def test_the_pages_pictures_are_there_and_the_same_each_time(tmp_path: Path) -> None:
    text = publish(run(), tmp_path).read_text()
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "benchmarks").iterdir()}
    assert set(drawn) == {"throughput.svg", "arrivals.svg", "latency.svg"}
    assert all(f"benchmarks/{name}" in text for name in drawn)
    publish(run(), tmp_path)
    assert drawn == {path.name: path.read_bytes() for path in (tmp_path / "benchmarks").iterdir()}


def test_settings_and_machine_are_on_the_page() -> None:
    text = page(run(), {}, "by hand")
    assert "tasks.max = 4" in text
    assert "| cores | 2 |" in text
    assert "2030-01-02" in text


def test_tls_is_compared_with_the_rounds_without_it() -> None:
    def sample(case: str, number: int, pace: float) -> Sample:
        return Sample("tls", case, "causeway", number, {"records_per_second": pace, "cpu_per_million": 1.5})

    rounds = [sample("TLS on both sides", 0, 600.0), sample("without TLS", 0, 800.0)]
    table = tls(Run("2030", "bench", samples=rounds))
    assert table.rows == (
        ("without TLS", "800", "1.00", "1.50", "–"), ("TLS on both sides", "600", "0.75", "1.50", "–"),
    )  # fmt: skip
    assert tls(Run("2030", "bench")).rows == ()
