"""Judges the nodes of a source pool by their log starts and ends, each partition by itself, never in sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from causeway.core.plural import counted
from causeway.core.pool_health import NodeReport, NodeState, NodeVerdict
from causeway.core.source_pool import SourcePool
from causeway.core.topic import Spot

READABLE: frozenset[NodeState] = frozenset({"fit", "lagging"})

UNREADABLE: frozenset[NodeState] = frozenset({"dead", "rejected", "short", "trimmed"})
"""A node in one of these states is never read from: records would be lost or repeated, or none would come."""

ENOUGH_FAILURES = 2
"""One slow response under load is not the death of a node."""


def judge_nodes(
    pool: SourcePool, reports: Mapping[str, NodeReport], positions: Mapping[Spot, int], now: float
) -> dict[str, NodeVerdict]:
    """A verdict for each node.

    `positions` are those from before the newest checks began. Later ones may be after the log ends that the
    checks returned, and a node would count as short without being so.
    """
    mine = {node.name: reports.get(node.name, NodeReport()) for node in pool.nodes}
    present = {spot: 0 for report in mine.values() if not report.rejected for spot in report.bounds}
    readable = [
        report
        for report in mine.values()
        if judge_node(report, positions, present, pool, now).state in READABLE
    ]
    freshest = dict(present)
    for report in readable:
        for spot, (_, end) in report.bounds.items():
            freshest[spot] = max(freshest[spot], end)
    return {name: judge_node(report, positions, freshest, pool, now) for name, report in mine.items()}


def judge_node(
    report: NodeReport,
    positions: Mapping[Spot, int],
    freshest: Mapping[Spot, int],
    pool: SourcePool,
    now: float,
) -> NodeVerdict:
    """`freshest` has each partition that any node has, and its furthest log end on readable nodes."""
    if why := _dead(report, pool, now):
        return NodeVerdict("dead", why)
    if report.rejected:
        return NodeVerdict("rejected", report.rejected)
    if report.checked_at is None:
        return NodeVerdict("unknown", _failing(report) or "not checked yet")
    short = _short(report, positions, freshest)
    if short and not report.failures:
        return NodeVerdict("short", short)
    if why := _trimmed(report, positions):
        return NodeVerdict("trimmed", why)
    if short:  # by log ends of an earlier check, and the positions have moved on since
        return NodeVerdict("unknown", _failing(report))
    lag = {spot: end - _end(report, spot) for spot, end in freshest.items() if end > _end(report, spot)}
    over = [spot for spot in sorted(lag) if lag[spot] > pool.lag_threshold]
    if over and not report.failures:
        worst = max(over, key=lag.__getitem__)
        why = f"{_name(worst)}: its log end is {counted(lag[worst], 'record')} before another node's"
        return NodeVerdict("lagging", why, lag)
    return NodeVerdict("fit", "", lag)


def is_before(report: NodeReport, other: NodeReport, threshold: int) -> bool:
    """Whether the log of any partition ends more than `threshold` records before the other node's."""
    return any(end - _end(report, spot) > threshold for spot, (_, end) in other.bounds.items())


def ends_to_reach(
    pool: SourcePool, reports: Mapping[str, NodeReport], positions: Mapping[Spot, int]
) -> dict[Spot, int]:
    """What a run with an end has to replicate: the furthest log end of each partition on fit nodes.

    If no node is fit, on those that lag. Without either, and for partitions that they lack, there is no end.
    """
    verdicts = judge_nodes(pool, reports, positions, 0.0)
    readable = {name for name, verdict in verdicts.items() if verdict.state in READABLE}
    fit = {name for name in readable if verdicts[name].state == "fit"}
    ends: dict[Spot, int] = {}
    for name in fit or readable:
        for spot, (_, end) in reports[name].bounds.items():
            ends[spot] = max(end, ends.get(spot, end))
    return ends


def up_to(
    reports: Mapping[str, NodeReport], ends: Mapping[Spot, int], positions: Mapping[Spot, int]
) -> dict[str, NodeReport]:
    """The reports as a run with these ends sees them: what comes later makes no node lag."""

    def seen(spot: Spot, bounds: tuple[int, int]) -> tuple[int, int]:
        return bounds[0], min(bounds[1], max(ends.get(spot, 0), positions.get(spot, 0)))

    return {
        name: replace(report, bounds={spot: seen(spot, bounds) for spot, bounds in report.bounds.items()})
        for name, report in reports.items()
    }


def _dead(report: NodeReport, pool: SourcePool, now: float) -> str:
    if report.disconnected:
        return report.error or "every broker refused or closed the connection"
    if report.failures < ENOUGH_FAILURES or report.failing_since is None:
        return ""
    if now - report.failing_since < pool.healthcheck_interval:
        return ""
    return f"{_failing(report)}, for {now - report.failing_since:.1f} s"


def _failing(report: NodeReport) -> str:
    if not report.failures:
        return ""
    error = f" ({report.error})" if report.error else ""
    return f"{counted(report.failures, 'failed check')} in a row{error}"


def _short(report: NodeReport, positions: Mapping[Spot, int], present: Mapping[Spot, int]) -> str:
    for spot, position in sorted(positions.items()):
        bounds = report.bounds.get(spot)
        if bounds is None and position > 0 and spot in present:
            return f"{_name(spot)}: the node has no such partition, and the position is {position}"
        if bounds is not None and bounds[1] < position:
            return f"{_name(spot)}: the log end {bounds[1]} is before the position {position}"
    return ""


def _trimmed(report: NodeReport, positions: Mapping[Spot, int]) -> str:
    for spot, position in sorted(positions.items()):
        start = report.bounds.get(spot, (0, 0))[0]
        if start > position:
            return f"{_name(spot)}: the log start {start} is after the position {position}"
    return ""


def _end(report: NodeReport, spot: Spot) -> int:
    return report.bounds.get(spot, (0, 0))[1]


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
