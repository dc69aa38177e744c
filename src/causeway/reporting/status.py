"""Renders `causeway status` from the API's response: findings first, then figures.

Pure: takes the object that `-o json` prints (docs/api.md), returns lines and tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill
from typing import Any

from rich.console import Console, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from causeway.core.offsets import when
from causeway.core.times import span
from causeway.printable import printable
from causeway.reporting.skipped_summary import left_out
from causeway.reporting.table import duration

StatusAnswer = Mapping[str, Any]

EVENTS_SHOWN = 5
SHARDS_SHOWN = 16
STANDING_SHOWN = 20

_LEVELS = {"error": "bold red", "warning": "yellow", "notice": "cyan", "well": "green", "info": "dim"}
_STATES = {"running": "green", "paused": "cyan", "waiting": "red", "failed": "bold red", "stopped": "yellow"}
_WIDTH = max(map(len, _LEVELS))
_FIGURES = ("records", "records/s", "MB/s", "lag", "waits", "p50", "p99", "catch-up", "shards", "standing")
_WORDS = ("catch-up", "shards")
_FOLDED = len("runs again")


def parts(status: StatusAnswer, width: int | None = None) -> list[RenderableType]:
    """All sections, from top to bottom; no table wider than `width`, if given."""
    found: list[RenderableType] = [*_findings(status)]
    if status["mirrors"]:
        found += [Text(), *_mirrors(status, width), Text(), *_rpo(status), *_left_out(status)]
    for section in (_standing(status), _shards(status), _events(status)):
        if lines := list(section):
            found += [Text(), *lines]
    return [*found, Text(), _process(status)]


def line(status: StatusAnswer) -> str:
    """The status on one line, for output without a terminal."""
    first, *others = status["findings"]
    more = f" (and {len(others)} more)" if others else ""
    said = f"{when(status['now'])} {first['level']}: {_named(status, first)}{first['what']}{more}"
    return printable(" | ".join([said, *(_figures_line(status, one) for one in status["mirrors"])]))


def _findings(status: StatusAnswer) -> Iterator[Text]:
    for one in status["findings"]:
        yield from _remark(one["level"], f"{_named(status, one)}{one['what']}", one["todo"])
    for name in status["elsewhere"]:
        yield from _remark("notice", f"{name} is in the configuration, and this process does not run it.")


def _remark(level: str, what: str, todo: str = "") -> Iterator[Text]:
    yield Text.assemble((printable(level).ljust(_WIDTH), _LEVELS.get(level, "")), "  ", printable(what))
    if todo:
        yield Text.assemble(" " * (_WIDTH + 2), ("do: ", "dim"), printable(todo))


def _mirrors(status: StatusAnswer, width: int | None) -> Iterator[Table]:
    """One table with a row for each mirror; if that is too wide, a list for each mirror."""
    for gap, folded in ((2, False), (1, False), (1, True)):
        table = _rows(status, gap, folded)
        if width is None or width_of(table) <= width:
            yield table
            return
    for one in status["mirrors"]:
        listed = Table(box=None, pad_edge=False, show_header=False)
        listed.add_row(Text(printable(one["name"]), style="bold"), _state(one))
        for figure, value in _figures(status, one).items():
            listed.add_row(f"  {figure}", value)
        yield listed


def _rows(status: StatusAnswer, gap: int, folded: bool) -> Table:
    figures = [_figures(status, one) for one in status["mirrors"]]
    shown = [name for name in _FIGURES if any(name in one for one in figures)]
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading in ("mirror", "state", *shown):
        side: JustifyMethod = "left" if heading in ("mirror", "state", *_WORDS) else "right"
        table.add_column(heading, justify=side, no_wrap=True)
    for one, known in zip(status["mirrors"], figures, strict=True):
        if folded:
            known["catch-up"] = Text(fill(known["catch-up"].plain, _FOLDED))
        table.add_row(
            Text(printable(one["name"])), _state(one), *(known.get(name, Text("–")) for name in shown)
        )
    return table


def width_of(table: Table) -> int:
    """The table's natural width."""
    return Console(width=10_000).measure(table).maximum


def _state(one: StatusAnswer) -> Text:
    return Text(printable(one["state"]), style=_STATES.get(one["state"], "dim"))


def _figures(status: StatusAnswer, one: StatusAnswer) -> dict[str, Text]:
    """Includes stopped partitions only if there are any."""
    carriers = _carriers(status["details"][one["name"]]["shards"])
    values = {
        "records": f"{one['delivered']:,}",
        "records/s": f"{one['records_per_second']:,.0f}",
        "MB/s": f"{one['bytes_per_second'] / 1e6:,.1f}",
        "lag": f"{one['lag_records']:,}",
        "waits": span(one["lag_seconds"]) if one["lag_records"] else "–",
        "p50": duration(one["p50_ms"] or 0),
        "p99": duration(one["p99_ms"] or 0),
        "catch-up": one["catch_up"]["words"],
        "shards": f"{one['shards']:,} {carriers}".strip(),
    }
    standing = {"standing": Text(f"{one['standing']:,}", style="bold red")} if one["standing"] else {}
    return {name: Text(printable(value)) for name, value in values.items()} | standing


def _figures_line(status: StatusAnswer, one: StatusAnswer) -> str:
    told = {figure: text.plain for figure, text in _figures(status, one).items()}
    return (
        f"{one['name']}: {one['state']}, {told['records']} records, {told['records/s']} records/s,"
        f" {told['MB/s']} MB/s, lag {told['lag']} / {told['waits']}, p50 {told['p50']}, p99 {told['p99']},"
        f" {told['catch-up']}"
        + (f", standing still: {told['standing']}" if one["standing"] else "")
        + (f", gaps: {one['gaps']:,}" if one["gaps"] else "")
        + (f", quarantined: {one['quarantined']:,}" if one["quarantined"] else "")
    )


def _carriers(shards: Iterable[StatusAnswer]) -> str:
    """Carrier names without the reasons, which the list of shards has."""
    return ", ".join(sorted({one["carrier"].partition(" (")[0] for one in shards} - {""}))


def _rpo(status: StatusAnswer) -> Iterator[Text]:
    yield Text(printable(status["rpo"]))


def _left_out(status: StatusAnswer) -> Iterator[Text]:
    for one in status["mirrors"]:
        details = status["details"][one["name"]]
        if told := left_out(one, details["gaps"]):
            yield Text(printable(f"{_named(status, {'mirror': one['name']})}{told}: {details['ledger']}"))


def _standing(status: StatusAnswer) -> Iterator[Text]:
    """All stopped partitions, unless the findings already name each: they name only the first of a kind."""
    every = [(name, one) for name, details in status["details"].items() for one in details["standing"]]
    told = [one["what"] for one in status["findings"] if one["level"] == "error"]
    if all(any(_tells(what, one) for what in told) for _, one in every):
        return
    yield Text("partitions that stand still", style="bold")
    for name, one in every[:STANDING_SHOWN]:
        where = _named(status, {"mirror": name})
        yield Text.assemble(
            (printable(f"{where}{one['name']}"), "red"), printable(f" ({one['verdict']}): {one['what']}")
        )
        if one["todo"]:
            yield Text.assemble(("  do: ", "dim"), printable(one["todo"]))
    if len(every) > STANDING_SHOWN:
        yield Text(f"… and {len(every) - STANDING_SHOWN:,} more: -o json has all of them", style="dim")


def _tells(what: str, one: StatusAnswer) -> bool:
    return what.startswith(f"{one['name']} ") and what.endswith(one["what"])


def _shards(status: StatusAnswer) -> Iterator[RenderableType]:
    every = [(name, one) for name, details in status["details"].items() for one in details["shards"]]
    if not every:
        return
    several = len(status["mirrors"]) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (
        *(("mirror",) if several else ()),
        "shard",
        "partitions",
        "host",
        "process",
        "carried by",
    ):
        table.add_column(
            heading, justify="right" if heading in ("shard", "partitions", "process") else "left"
        )
    table.add_column("last heard", justify="right")
    for name, one in every[:SHARDS_SHOWN]:
        age = one["heartbeat_age"]
        known = (str(one["number"]), f"{one['partitions']:,}", one["host"] or "–", str(one["pid"] or "–"))
        heard = "–" if age is None else f"{span(max(0.0, age))} ago"
        cells = (*((name,) if several else ()), *known, one["carrier"] or "–", heard)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    yield table
    if len(every) > SHARDS_SHOWN:
        yield Text(f"… and {len(every) - SHARDS_SHOWN:,} more: -o json has all of them", style="dim")


def _events(status: StatusAnswer) -> Iterator[Text]:
    every = [(name, one) for name, details in status["details"].items() for one in details["events"]]
    every.sort(key=lambda pair: -pair[1]["at"])
    if every:
        yield Text("latest events", style="bold")
    for name, one in every[:EVENTS_SHOWN]:
        ago = span(max(0, status["now"] - one["at"]) / 1000)
        where = f"shard {one['shard']}: " if one["shard"] else ""
        said = f"{_named(status, {'mirror': name})}{where}{one['what']}"
        level = one["level"]
        style = _LEVELS.get(level, "")
        yield Text.assemble(
            (f"{ago + ' ago':>14}  ", "dim"), (printable(level).ljust(_WIDTH), style), "  ", printable(said)
        )


def _process(status: StatusAnswer) -> Text:
    up = span(max(0, status["now"] - status["started_at"]) / 1000)
    said = (
        f"{status['url']}: process {status['pid']} on {status['host']} for {up}, causeway {status['version']}"
    )
    return Text(printable(said), style="dim")


def _named(status: StatusAnswer, about: StatusAnswer) -> str:
    """The mirror's name as a prefix, if several are shown."""
    return f"{about['mirror']}: " if about["mirror"] and len(status["mirrors"]) > 1 else ""
