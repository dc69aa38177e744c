"""Output of `offsets show`: a row for each source partition, then stops, gaps and quarantined records."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from causeway.core.offsets import OffsetsReport, PartitionOffsets, describe_gap, when
from causeway.core.plural import counted
from causeway.core.route import BY_KEY
from causeway.printable import printable

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
    result.add_column("destination")
    result.add_column("state")
    stopped = {stop.source: stop.verdict for stop in report.stopped}
    for partition in report.partitions:
        position, tally = partition.position, partition.position.tally
        verdict = stopped.get(position.source)
        result.add_row(
            Text(printable(str(position.source))),
            Text(printable(report.alias(position.source))),
            *map(
                _number,
                (position.start, position.offset, partition.log_start, partition.log_end, partition.lag),
            ),
            *map(
                _number,
                (tally.delivered, tally.filtered, tally.quarantined, tally.holes, tally.skipped),
            ),
            Text(printable(_place(partition))),
            Text(printable(f"stopped: {verdict}") if verdict else "", "red"),
        )
    return result


def offsets_lines(report: OffsetsReport) -> Iterator[str]:
    """Stopped partitions, every gap ever recorded, and quarantined records."""
    for stop in report.stopped:
        yield f"{report.named(stop.source)}: stopped ({stop.verdict}) since {when(stop.at)}: {stop.what}"
        if stop.todo:
            yield f"  do: {stop.todo}"
    for gap in report.gaps:
        yield f"{report.named(gap.source)}: gap ({gap.verdict}): {describe_gap(gap)}"
    if report.quarantined:
        yield f"{counted(report.quarantined, 'record')} in quarantine:"
        for record in report.first_quarantined:
            yield f"  {report.named(record.source)} offset {record.offset}: {record.reason}"
        if report.quarantined > len(report.first_quarantined):
            yield f"  … and {report.quarantined - len(report.first_quarantined):,} more"
    yield from report.notes


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _place(partition: PartitionOffsets) -> str:
    topic, _, number = partition.position.place
    return f"{topic} by key" if number == BY_KEY else f"{topic}[{number}]"
