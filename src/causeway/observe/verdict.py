"""What `verify` found: a table with a line for each topic, and words for what is different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from causeway.model.verdict import KINDS, Coordinates, Kind, PartitionVerdict, VerifyReport

NAMES: dict[Kind, str] = {kind: kind.replace("_", " ") for kind in KINDS}
LINES_SHOWN = 40
OFFSETS_SHOWN = 5


def verdict_table(report: VerifyReport, kinds: Sequence[Kind] = KINDS) -> Table:
    """A column for each of the kinds: all of them, or those that a narrow terminal has room for."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("topic")
    for heading in ("partitions", "source", "destination", *(NAMES[kind] for kind in kinds)):
        result.add_column(heading, justify="right")
    result.add_column("verdict")
    for topic in report.topics():
        verdict = "[green]equal[/green]" if topic.equal else "[red]different[/red]"
        result.add_row(
            topic.topic,
            f"{topic.partitions:,}",
            f"{topic.source_records:,}",
            f"{topic.destination_records:,}",
            *(f"{topic.counts[kind]:,}" for kind in kinds),
            verdict,
        )
    return result


def verdict_lines(report: VerifyReport) -> list[str]:
    """The first coordinates of each kind, then what is worth knowing; not more than people read."""
    differences = [line for partition in report.partitions for line in _differences(partition)]
    notes = [line for partition in report.partitions for line in _notes(partition)]
    return [*_shortened(differences), *_shortened(notes), *report.notes]


def summary(report: VerifyReport) -> str:
    """In one line how many of each kind there are."""
    return ", ".join(f"{count:,} {NAMES[kind]}" for kind, count in report.counts().items() if count)


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= LINES_SHOWN:
        return lines
    return [*lines[:LINES_SHOWN], f"… and {len(lines) - LINES_SHOWN} lines more: -o json has them all"]


def _differences(partition: PartitionVerdict) -> Iterator[str]:
    findings = partition.findings
    for kind in KINDS:
        count = findings.counts.get(kind, 0)
        if not count:
            continue
        first = findings.first.get(kind, ())[:OFFSETS_SHOWN]
        more = f", … ({count:,} in all)" if count > len(first) else ""
        yield f"{partition.source}: {NAMES[kind]}: {_places(kind, first)}{more}"
    if findings.guessed:
        yield f"{partition.source}: more differences than can be remembered: some kinds are told by place"


def _places(kind: Kind, first: Sequence[Coordinates]) -> str:
    if all(one.destination is None for one in first):
        return f"source {_offsets(one.source for one in first)}"
    if all(one.source is None for one in first):
        return f"destination {_offsets(one.destination for one in first)}"
    return ", ".join(_place(kind, one) for one in first)


def _offsets(offsets: Iterable[int | None]) -> str:
    listed = [str(offset) for offset in offsets]
    return f"offset{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


def _place(kind: Kind, one: Coordinates) -> str:
    if kind == "duplicated":
        return f"destination offset {one.destination} repeats source offset {one.source}"
    fields = f" in {', '.join(one.fields)}" if one.fields else ""
    return f"source offset {one.source} at destination offset {one.destination}{fields}"


def _notes(partition: PartitionVerdict) -> Iterator[str]:
    findings = partition.findings
    for note in partition.notes:
        yield f"{partition.source}: {note}"
    if findings.expired:
        yield f"{partition.source}: {findings.expired:,} older records are on the destination alone"
    if findings.faded:
        yield f"{partition.source}: {findings.faded:,} older records are on the source alone"
    for what, count in partition.declared.items():
        yield f"{partition.source}: {count:,} records were {what} by declaration"
