"""Renders `causeway status`: findings first, then figures. Pure: a report becomes lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import fill

from rich.console import Console, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from causeway.cli.pool_output import pool_tables
from causeway.cli.skipped_summary import skipped_summary
from causeway.cli.status_report import StatusReport
from causeway.core.offsets import when
from causeway.core.times import span
from causeway.printable import printable
from causeway.reporting.table import duration
from causeway.web.api_schema import ApiMirror, ApiPartition, ApiShard

EVENTS_SHOWN = 5
SHARDS_SHOWN = 16
STOPPED_SHOWN = 20

_LEVELS = {"error": "bold red", "warning": "yellow", "notice": "cyan", "ok": "green", "info": "dim"}
_STATES = {"running": "green", "paused": "cyan", "waiting": "red", "failed": "bold red", "stopped": "yellow"}
_LEVEL_WIDTH = max(map(len, _LEVELS))
_FIGURES = (
    "records", "records/s", "MB/s", "lag", "lag time", "p50", "p99", "catch-up", "shards", "stopped",
)  # fmt: skip
_LEFT_ALIGNED = ("mirror", "state", "catch-up", "shards")
_FOLDED_WIDTH = len("runs again")
_NONE = "–"


def sections(report: StatusReport, width: int | None = None) -> list[RenderableType]:
    """All sections, from top to bottom; no table wider than `width`, if given."""
    shown: list[RenderableType] = [*_findings(report)]
    if report.mirrors:
        shown += [Text(), *_mirrors(report, width), Text(), Text(printable(report.rpo)), *_skipped(report)]
    for section in (_stopped(report), pool_tables(report), _shards(report), _events(report)):
        if lines := list(section):
            shown += [Text(), *lines]
    return [*shown, Text(), _process(report)]


def line(report: StatusReport) -> str:
    """The status on one line, for output without a terminal."""
    first, *others = report.findings
    more = f" (and {len(others)} more)" if others else ""
    headline = f"{when(report.now)} {first.level}: {_prefix(report, first.mirror)}{first.what}{more}"
    return printable(" | ".join([headline, *(_mirror_line(report, mirror) for mirror in report.mirrors)]))


def _findings(report: StatusReport) -> Iterator[Text]:
    for finding in report.findings:
        what = f"{_prefix(report, finding.mirror)}{finding.what}"
        yield from _finding(finding.level, what, finding.todo)
    for name in report.not_run_here:
        yield from _finding("notice", f"{name} is in the configuration, but this process does not run it.")


def _finding(level: str, what: str, todo: str = "") -> Iterator[Text]:
    yield Text.assemble((printable(level).ljust(_LEVEL_WIDTH), _LEVELS.get(level, "")), "  ", printable(what))
    if todo:
        yield Text.assemble(" " * (_LEVEL_WIDTH + 2), ("do: ", "dim"), printable(todo))


def _mirrors(report: StatusReport, width: int | None) -> Iterator[Table]:
    """One table with a row for each mirror; if that is too wide, a list for each mirror."""
    for padding, folded in ((2, False), (1, False), (1, True)):
        table = _mirror_table(report, padding, folded)
        if width is None or width_of(table) <= width:
            yield table
            return
    for mirror in report.mirrors:
        listed = Table(box=None, pad_edge=False, show_header=False)
        listed.add_row(Text(printable(mirror.name), style="bold"), _state(mirror))
        for figure, value in _figures(report, mirror).items():
            listed.add_row(f"  {figure}", value)
        yield listed


def _mirror_table(report: StatusReport, padding: int, folded: bool) -> Table:
    figures = [_figures(report, mirror) for mirror in report.mirrors]
    shown = [name for name in _FIGURES if any(name in known for known in figures)]
    table = Table(box=None, pad_edge=False, padding=(0, padding, 0, 0), header_style="bold")
    for heading in ("mirror", "state", *shown):
        side: JustifyMethod = "left" if heading in _LEFT_ALIGNED else "right"
        table.add_column(heading, justify=side, no_wrap=True)
    for mirror, known in zip(report.mirrors, figures, strict=True):
        if folded:
            known["catch-up"] = Text(fill(known["catch-up"].plain, _FOLDED_WIDTH))
        cells = (known.get(name, Text(_NONE)) for name in shown)
        table.add_row(Text(printable(mirror.name)), _state(mirror), *cells)
    return table


def width_of(table: Table) -> int:
    """The table's natural width."""
    return Console(width=10_000).measure(table).maximum


def _state(mirror: ApiMirror) -> Text:
    return Text(printable(mirror.state), style=_STATES.get(mirror.state, "dim"))


def _figures(report: StatusReport, mirror: ApiMirror) -> dict[str, Text]:
    """Includes stopped partitions only if there are any."""
    carriers = _carriers(report.details[mirror.name].shards)
    lag, lag_time = mirror.lag_records, mirror.lag_seconds
    values = {
        "records": f"{mirror.delivered:,}",
        "records/s": f"{mirror.records_per_second:,.0f}",
        "MB/s": f"{mirror.bytes_per_second / 1e6:,.1f}",
        "lag": _NONE if lag is None else f"{lag:,}",
        "lag time": span(lag_time) if lag and lag_time is not None else _NONE,
        "p50": duration(mirror.p50_ms or 0),
        "p99": duration(mirror.p99_ms or 0),
        "catch-up": mirror.catch_up.text,
        "shards": f"{mirror.shards:,} {carriers}".strip(),
    }
    stopped = {"stopped": Text(f"{mirror.stopped:,}", style="bold red")} if mirror.stopped else {}
    return {name: Text(printable(value)) for name, value in values.items()} | stopped


def _mirror_line(report: StatusReport, mirror: ApiMirror) -> str:
    figures = {figure: text.plain for figure, text in _figures(report, mirror).items()}
    return (
        f"{mirror.name}: {mirror.state}, {figures['records']} records, {figures['records/s']} records/s,"
        f" {figures['MB/s']} MB/s, lag {figures['lag']} / {figures['lag time']}, p50 {figures['p50']},"
        f" p99 {figures['p99']}, catch-up: {figures['catch-up']}"
        + (f", stopped: {figures['stopped']}" if mirror.stopped else "")
        + (f", gaps: {mirror.gaps:,}" if mirror.gaps else "")
        + (f", quarantined: {mirror.quarantined:,}" if mirror.quarantined else "")
    )


def _carriers(shards: Iterable[ApiShard]) -> str:
    """Carrier names without the reasons, which the list of shards has."""
    return ", ".join(sorted({shard.carrier.partition(" (")[0] for shard in shards} - {""}))


def _skipped(report: StatusReport) -> Iterator[Text]:
    for mirror in report.mirrors:
        details = report.details[mirror.name]
        if summary := skipped_summary(mirror, details.gaps):
            prefix = _prefix(report, mirror.name)
            yield Text(printable(f"{prefix}{summary}: {details.ledger_command}"))


def _stopped(report: StatusReport) -> Iterator[Text]:
    """All stopped partitions, unless the findings already name each: they name only the first of a kind."""
    stopped = [
        (name, partition)
        for name, details in report.details.items()
        for partition in details.stopped_partitions
    ]
    errors = [finding.what for finding in report.findings if finding.level == "error"]
    if all(any(_names(what, partition) for what in errors) for _, partition in stopped):
        return
    yield Text("stopped partitions", style="bold")
    for name, partition in stopped[:STOPPED_SHOWN]:
        where = printable(f"{_prefix(report, name)}{partition.name}")
        yield Text.assemble((where, "red"), printable(f" ({partition.verdict}): {partition.what}"))
        if partition.todo:
            yield Text.assemble(("  do: ", "dim"), printable(partition.todo))
    yield from _more(len(stopped) - STOPPED_SHOWN)


def _names(what: str, partition: ApiPartition) -> bool:
    return what.startswith(f"{partition.name} is ") and what.endswith(partition.what)


def _more(count: int) -> Iterator[Text]:
    if count > 0:
        yield Text(f"… and {count:,} more: -o json has all of them", style="dim")


def _shards(report: StatusReport) -> Iterator[RenderableType]:
    shards = [(name, shard) for name, details in report.details.items() for shard in details.shards]
    if not shards:
        return
    several = len(report.mirrors) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    numbers = ("shard", "partitions", "pid", "last heartbeat")
    for heading in ("mirror", "shard", "partitions", "host", "pid", "carrier", "last heartbeat"):
        if several or heading != "mirror":
            table.add_column(heading, justify="right" if heading in numbers else "left")
    for name, shard in shards[:SHARDS_SHOWN]:
        age = shard.heartbeat_age_seconds
        cells = (
            *((name,) if several else ()),
            str(shard.number),
            f"{shard.partitions:,}",
            shard.host or _NONE,
            str(shard.pid or _NONE),
            shard.carrier or _NONE,
            _NONE if age is None else f"{span(age)} ago",
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    yield table
    yield from _more(len(shards) - SHARDS_SHOWN)


def _events(report: StatusReport) -> Iterator[Text]:
    events = [(name, event) for name, details in report.details.items() for event in details.events]
    events.sort(key=lambda named: -named[1].at)
    if events:
        yield Text("latest events", style="bold")
    for name, event in events[:EVENTS_SHOWN]:
        age = f"{span(max(0, report.now - event.at) / 1000)} ago"
        shard = f"shard {event.shard}: " if event.shard else ""
        yield Text.assemble(
            (f"{age:>14}  ", "dim"),
            (event.level.ljust(_LEVEL_WIDTH), _LEVELS[event.level]),
            "  ",
            printable(f"{_prefix(report, name)}{shard}{event.what}"),
        )


def _process(report: StatusReport) -> Text:
    up = span(max(0, report.now - report.started_at) / 1000)
    process = f"process {report.pid} on {report.host}, up {up}, causeway {report.version}"
    return Text(printable(f"{report.url}: {process}"), style="dim")


def _prefix(report: StatusReport, mirror: str) -> str:
    """The mirror's name, if several are shown."""
    return f"{mirror}: " if mirror and len(report.mirrors) > 1 else ""
