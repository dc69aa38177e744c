"""The live table: one row for each topic, and a bar for each lagging mirror."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from causeway.core.plural import counted
from causeway.core.progress import MirrorProgress, TopicProgress
from causeway.printable import printable
from causeway.reporting.bars import bars
from causeway.reporting.pace import bar_of


def table(mirrors: Sequence[MirrorProgress]) -> Group:
    """The current state of mirrors and their topics."""
    lagging = [bar for mirror in mirrors if (bar := bar_of(mirror)) is not None]
    topics = _topics(mirrors)
    return Group(topics, "", bars(lagging)) if lagging else Group(topics)


def _topics(mirrors: Sequence[MirrorProgress]) -> Table:
    result = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("mirror", "topic"):
        result.add_column(heading)
    for heading in ("records", "records/s", "MB/s", "lag", "p50", "p99"):
        result.add_column(heading, justify="right")
    result.add_column("state")
    for mirror in mirrors:
        for topic in mirror.topics:
            state = Text(mirror.state)
            if topic.stopped:
                state = Text(f"{counted(topic.stopped, 'partition')} stopped", "red")
            for what, count in not_delivered([topic]):
                state = Text.assemble(state, ", ", (f"{count:,} {what}", "red"))
            result.add_row(
                mirror.mirror,
                Text(printable(topic.topic)),
                f"{topic.records:,}",
                f"{topic.records_per_second:,.0f}",
                f"{topic.bytes_per_second / 1e6:,.1f}",
                f"{topic.lag:,}",
                duration(topic.latency_p50_ms),
                duration(topic.latency_p99_ms),
                state,
            )
        if not mirror.topics:
            result.add_row(mirror.mirror, "–", "0", "0", "0.0", "0", "–", "–", mirror.state)
    return result


def line(mirror: MirrorProgress) -> str:
    """One plain line per mirror, for output without a terminal."""
    bar = bar_of(mirror)
    size = sum(topic.bytes_per_second for topic in mirror.topics)
    stopped = sum(topic.stopped for topic in mirror.topics)
    slowest = max((topic.latency_p99_ms for topic in mirror.topics), default=0.0)
    return (
        f"{mirror.mirror}: {mirror.state}, {counted(len(mirror.topics), 'topic')},"
        f" {counted(mirror.records, 'record')}, {mirror.records_per_second:,.0f} records/s,"
        f" {size / 1e6:,.1f} MB/s, lag {mirror.lag:,}, p99 {duration(slowest)}"
        + (f", {bar.left}" if bar and bar.left else "")
        + (f", {counted(stopped, 'partition')} stopped" if stopped else "")
        + "".join(f", {count:,} {what}" for what, count in not_delivered(mirror.topics))
    )


def not_delivered(topics: Sequence[TopicProgress]) -> list[tuple[str, int]]:
    """Quarantined records and skipped offsets: never delivered without an operator."""
    counts = {
        "quarantined": sum(topic.quarantined for topic in topics),
        "skipped": sum(topic.skipped for topic in topics),
    }
    return [(what, count) for what, count in counts.items() if count]


def duration(milliseconds: float) -> str:
    """A latency for display; the ledger's buckets end at one minute."""
    if milliseconds <= 0:
        return "–"
    if milliseconds >= 60_000:
        return "> 1 min"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
