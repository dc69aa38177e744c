"""Output of `offsets show`: a row for each source partition, then stops, gaps and quarantined records."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from causeway.core.offsets import OffsetsReport, PartitionOffsets, told, when
from causeway.core.route import BY_KEY

NUMBERS = (
    "start", "position", "log start", "log end", "lag",
    "delivered", "filtered", "quarantined", "holes", "skipped",
)  # fmt: skip


def offsets_table(report: OffsetsReport) -> Table:
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("partition")
    result.add_column("source")
    for heading in NUMBERS:
        result.add_column(heading, justify="right")
    result.add_column("goes to")
    result.add_column("state")
    stopped = {one.source: one.verdict for one in report.stopped}
    for one in report.partitions:
        position, tally = one.position, one.position.tally
        verdict = stopped.get(position.source)
        result.add_row(
            str(position.source),
            report.alias(position.source),
            *map(_number, (position.start, position.offset, one.log_start, one.log_end, one.lag)),
            *map(
                _number,
                (tally.delivered, tally.filtered, tally.quarantined, tally.holes, tally.skipped),
            ),
            _place(one),
            f"[red]stopped: {verdict}[/red]" if verdict else "",
        )
    return result


def offsets_lines(report: OffsetsReport) -> Iterator[str]:
    """Stopped partitions, every gap ever recorded, and quarantined records."""
    for stop in report.stopped:
        yield f"{report.named(stop.source)}: stopped ({stop.verdict}) since {when(stop.at)}: {stop.what}"
        if stop.todo:
            yield f"  do: {stop.todo}"
    for gap in report.gaps:
        yield f"{report.named(gap.source)}: gap ({gap.verdict}): {told(gap)}"
    if report.quarantined:
        yield f"{report.quarantined:,} records are in quarantine:"
        for one in report.refused:
            yield f"  {report.named(one.source)} offset {one.offset}: {one.reason}"
        if report.quarantined > len(report.refused):
            yield f"  … and {report.quarantined - len(report.refused):,} more"
    yield from report.notes


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _place(one: PartitionOffsets) -> str:
    topic, _, partition = one.position.place
    return f"{topic} by key" if partition == BY_KEY else f"{topic}[{partition}]"
