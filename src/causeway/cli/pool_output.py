"""Renders source pools for `causeway status`: their nodes, and the latest moves. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from causeway.cli.status_report import StatusReport
from causeway.core.times import span
from causeway.printable import printable
from causeway.web.api_schema import ApiNode, ApiNodeMove

MOVES_SHOWN = 5
_STATES = {"fit": "green", "lagging": "yellow", "unknown": "dim"}
_NONE = "–"


def pool_tables(report: StatusReport) -> Iterator[RenderableType]:
    pools = [(mirror.name, pool) for mirror in report.mirrors for pool in mirror.pools]
    if not pools:
        return
    several = len(report.mirrors) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("mirror", "pool", "node", "state", "lag", "shards", "why"):
        if several or heading != "mirror":
            table.add_column(heading, justify="right" if heading == "lag" else "left")
    for mirror, pool in pools:
        for node in pool.nodes:
            table.add_row(
                *([Text(printable(mirror))] if several else []),
                Text(printable(pool.name)),
                Text(printable(node.name)),
                Text(node.state, style=_STATES.get(node.state, "red")),
                *(Text(printable(cell)) for cell in (_lag(node), _shards_of(node), node.why)),
            )
    yield table
    moves = [(mirror, move) for mirror, pool in pools for move in pool.moves]
    moves.sort(key=lambda named: -named[1].at)
    for mirror, move in moves[:MOVES_SHOWN]:
        prefix = f"{mirror}: " if several else ""
        age = f"{span(max(0, report.now - move.at) / 1000)} ago"
        yield Text.assemble((f"{age:>14}  ", "dim"), printable(f"{prefix}{described(move)}"))


def described(move: ApiNodeMove) -> str:
    """A move as one line."""
    pause = "" if move.pause_seconds is None else f", {move.pause_seconds:.1f} s between records"
    return (
        f"shard {move.shard}: {move.left or 'no node'} → {move.to or 'no node'} ({move.reason}{pause}):"
        f" {move.what}"
    )


def _lag(node: ApiNode) -> str:
    return _NONE if node.lag_records is None else f"{node.lag_records:,}"


def _shards_of(node: ApiNode) -> str:
    return ", ".join(map(str, node.shards)) or _NONE
