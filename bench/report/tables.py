"""The tables of a run, as rows of text for a terminal and for the page. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bench.figures import PERCENTILES, Spread
from bench.report.goals import goals
from bench.samples import Run
from bench.shapes import CENTRE

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1  # number of text columns on the left; the others hold figures
    note: str = ""


def tables(run: Run) -> list[Table]:
    """The tables that have data."""
    every = [
        headline(run), factors(run), processor(run), latency(run), catch_up(run), growth(run),
        page_cost(run), shards(run), tls(run), goal_table(run),
    ]  # fmt: skip
    return [table for table in every if table.rows]


def headline(run: Run) -> Table:
    """All systems with the centre shape."""

    def row(system: str) -> tuple[str, ...]:
        def cell(figure: str, pattern: str, factor: float = 1.0) -> str:
            return shown(run.spread("throughput", CENTRE.name, system, figure), pattern, factor)

        return (
            run.title(system),
            ranged(run.spread("throughput", CENTRE.name, system, "records_per_second")),
            cell("megabytes_per_second", "{:,.0f}"),
            cell("cpu_per_million", "{:.2f}"),
            cell("memory_megabytes", "{:,.0f}"),
            cell("first_seconds", "{:.1f}"),
            cell("steady_seconds", "{:.1f}"),
            cell("idle_cores", "{:.1f}", 100),
        )

    systems = [name for name in run.systems("throughput") if run.median(*_place(name)) is not None]
    header = (
        "", "records/s (lowest – highest)", "MB/s", "CPU s per million", "memory MB", "first record s",
        "steady s", "idle, % of a core",
    )  # fmt: skip
    note = (
        "Records/s from the first arrival until all are there; CPU of all processes of the mirror, in the"
        " second half; memory: the highest sum of all its processes; first record and steady state: since the"
        " command."
    )
    return Table(f"Throughput: {CENTRE.name}", header, tuple(map(row, systems)), note=note)


def factors(run: Run) -> Table:
    """Records/s and MB/s of every shape."""

    def cell(case: str, system: str) -> str:
        pace = run.median("throughput", case, system, "records_per_second")
        size = run.median("throughput", case, system, "megabytes_per_second")
        return NOTHING if pace is None or size is None else f"{pace:,.0f} ({size:,.0f})"

    return _by_case(run, "Throughput: records/s (MB/s)", cell)


def processor(run: Run) -> Table:
    def cell(case: str, system: str) -> str:
        return shown(run.spread("throughput", case, system, "cpu_per_million"), "{:.2f}")

    return _by_case(run, "CPU seconds per million records, steady state", cell, only="cpu_per_million")


def latency(run: Run) -> Table:
    names = (*PERCENTILES, "longest")
    rows = [
        (
            case,
            run.title(system),
            *(shown(run.spread(measure, case, system, name), "{:,.1f}") for name in names),
        )
        for measure in ("latency", "boundary")
        for case in run.cases(measure)
        for system in run.systems(measure)
        if run.median(measure, case, system, "p50") is not None
    ]
    header = ("", "", *(f"{name.replace('_', '.')} ms" for name in names))
    return Table("Latency, sender's clock to a read_committed reader", header, tuple(rows), words=2)


def catch_up(run: Run) -> Table:
    figures = (
        ("carrying_seconds", "{:,.0f}"), ("records_per_second", "{:,.0f}"),
        ("megabytes_per_second", "{:,.0f}"), ("new_p50", "{:,.0f}"), ("new_p99", "{:,.0f}"),
        ("memory_megabytes", "{:,.0f}"), ("worker_megabytes", "{:,.0f}"),
    )  # fmt: skip
    header = (
        "", "", "seconds", "records/s", "MB/s", "new records p50 ms", "p99 ms", "memory MB", "worker MB",
    )  # fmt: skip
    return Table("Catch-up", header, _rows(run, "catch-up", figures), words=2)


def growth(run: Run) -> Table:
    figures = (
        ("check_seconds", "{:.1f}"), ("first_seconds", "{:.1f}"), ("memory_megabytes", "{:,.0f}"),
        ("worker_megabytes", "{:,.0f}"), ("cores", "{:.2f}"), ("p50", "{:,.1f}"), ("p99", "{:,.1f}"),
    )  # fmt: skip
    header = (
        "", "", "`causeway check` s", "first record s", "memory MB", "worker MB", "cores", "p50 ms", "p99 ms",
    )  # fmt: skip
    note = "Four partitions get 1,000 records/s together; all others are idle."
    return Table("Growth", header, _rows(run, "growth", figures), words=2, note=note)


def page_cost(run: Run) -> Table:
    figures = (
        ("off_cores", "{:.1%}"), ("alone_cores", "{:.1%}"), ("watched_cores", "{:.1%}"),
        ("cost_cores", "{:.1%}"), ("scrape_ms", "{:.0f}"),
    )  # fmt: skip
    header = ("", "", "not served", "served, unused", "page open, scraped", "cost", "a scrape, ms")
    note = "CPU of the driver's process, in % of a core: a page that stays open, and a scrape every 5 s."
    return Table("Page and metrics", header, _rows(run, "page", figures), words=2, note=note)


def shards(run: Run) -> Table:
    figures = (
        ("records_per_second", "{:,.0f}"), ("cpu_per_million", "{:.2f}"), ("memory_megabytes", "{:,.0f}"),
        ("first_seconds", "{:.1f}"),
    )  # fmt: skip
    rows = [
        (f"{case} shard{'s' if case != '1' else ''}", *row[2:])
        for case in run.cases("shards")
        for row in _rows(run, "shards", figures, [case])
    ] + [(f"Spark standalone, {row[0]}", *row[2:]) for row in _rows(run, "spark-cluster", figures)]
    header = ("Causeway", "records/s", "CPU s per million", "memory MB", "first record s")
    note = "On few cores this shows that it works, not that it scales."
    return Table("Shards, and a Spark cluster", header, tuple(rows), note=note)


def tls(run: Run) -> Table:
    """Causeway with TLS on both sides beside itself without, in the same rounds."""

    def row(case: str, system: str) -> tuple[str, ...]:
        pace, plain = (run.median("tls", each, system, "records_per_second") for each in (case, cases[0]))
        return (
            case,
            ranged(run.spread("tls", case, system, "records_per_second")),
            f"{pace / plain:.2f}" if pace and plain else NOTHING,
            shown(run.spread("tls", case, system, "cpu_per_million"), "{:.2f}"),
            shown(run.spread("tls", case, system, "memory_megabytes"), "{:,.0f}"),
        )

    cases = sorted(run.cases("tls"), key=lambda case: "without" not in case)
    rows = tuple(row(case, system) for case in cases for system in run.systems("tls"))
    header = ("Causeway", "records/s (lowest – highest)", "of that without", "CPU s per million", "memory MB")
    note = "The brokers, on the same cores, encrypt too: what they spend is not in the CPU of this table."
    return Table("TLS on both sides", header, rows, note=note)


def goal_table(run: Run) -> Table:
    rows = tuple((goal.figure, goal.goal, goal.measured, goal.verdict) for goal in goals(run))
    return Table("Goals", ("figure", "goal", "measured", ""), rows if run.samples else (), words=4)


def shown(spread: Spread | None, pattern: str, factor: float = 1.0) -> str:
    return NOTHING if spread is None else pattern.format(spread.median * factor)


def ranged(spread: Spread | None) -> str:
    if spread is None:
        return NOTHING
    if spread.rounds == 1:
        return f"{spread.median:,.0f}"
    return f"{spread.median:,.0f} ({spread.low:,.0f} – {spread.high:,.0f})"


def markdown(table: Table) -> str:
    aligned = ["---"] * table.words + ["---:"] * (len(table.header) - table.words)
    lines = [table.header, aligned, *table.rows]
    text = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    return f"{text}\n\n{table.note}" if table.note else text


def _place(system: str) -> tuple[str, str, str, str]:
    return "throughput", CENTRE.name, system, "records_per_second"


def _rows(
    run: Run, measure: str, figures: tuple[tuple[str, str], ...], cases: list[str] | None = None
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            case,
            run.title(system),
            *(shown(run.spread(measure, case, system, name), how) for name, how in figures),
        )
        for case in (run.cases(measure) if cases is None else cases)
        for system in run.systems(measure)
        if any(run.median(measure, case, system, name) is not None for name, _ in figures)
    )


def _by_case(run: Run, title: str, cell: object, only: str = "records_per_second") -> Table:
    """A row for each shape, a column for each system."""
    assert callable(cell)
    cases = run.cases("throughput")
    systems = [
        name
        for name in run.systems("throughput")
        if any(run.median("throughput", case, name, only) is not None for case in cases)
    ]
    rows = tuple((case, *(cell(case, system) for system in systems)) for case in cases)
    # A single shape is in the headline table.
    return Table(title, ("", *map(run.title, systems)), rows if len(cases) > 1 else ())
