"""Output of `verify`: a table with a row for each topic, and lines for the differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from causeway.core.plural import counted, is_are
from causeway.core.verify_report import (
    KINDS,
    Coordinates,
    DifferenceKind,
    PartitionVerdict,
    TopicVerdict,
    VerifyReport,
)
from causeway.printable import printable

NAMES: dict[DifferenceKind, str] = {kind: kind.replace("_", " ") for kind in KINDS}
LINES_SHOWN = 40
OFFSETS_SHOWN = 5


def verdict_table(report: VerifyReport, kinds: Sequence[DifferenceKind] | None = None) -> Table:
    """One column per kind: all kinds, or those that fit a narrow terminal."""
    if kinds is None:
        kinds = [kind for kind in KINDS if kind != "unreadable" or report.counts()[kind]]
    result = Table(box=None, pad_edge=False, header_style="bold")
    topics = report.topics()
    # These columns appear only if a topic has such records.
    extra = [
        name for name in ("skipped", "quarantined", "lost") if any(getattr(topic, name) for topic in topics)
    ]
    result.add_column("topic")
    for heading in ("partitions", "source", "destination", *(NAMES[kind] for kind in kinds), *extra):
        result.add_column(heading, justify="right")
    result.add_column("verdict")
    for topic in topics:
        verdict = "[green]equal[/green]" if topic.equal else f"[red]{_verdict(topic)}[/red]"
        result.add_row(
            _route(report, topic),
            f"{topic.partitions:,}",
            f"{topic.source_records:,}",
            f"{topic.destination_records:,}",
            *(f"{topic.counts[kind]:,}" for kind in kinds),
            *(f"{getattr(topic, name):,}" for name in extra),
            verdict,
        )
    return result


def _verdict(topic: TopicVerdict) -> str:
    known = any(count for kind, count in topic.counts.items() if kind != "unreadable")
    return "different" if known else "not compared"


def _route(report: VerifyReport, topic: TopicVerdict) -> str:
    """The source topic, and the destination topic if its name differs."""
    name = _named(report, topic.cluster, topic.topic)
    if topic.destination_topic in (None, topic.topic):
        return name
    return f"{name} → {topic.destination_topic}"


def _named(report: VerifyReport, cluster: str, what: object) -> str:
    """With its cluster's alias, if there are several sources."""
    return f"{report.aliases[cluster]}:{what}" if len(report.aliases) > 1 else str(what)


def verdict_lines(report: VerifyReport) -> list[str]:
    """The first coordinates of each kind, then notes; shortened to a readable length."""
    named = [
        (_named(report, partition.source.cluster, partition.source), partition)
        for partition in report.partitions
    ]
    differences = [f"{name}: {line}" for name, partition in named for line in _differences(partition)]
    notes = [f"{name}: {line}" for name, partition in named for line in _notes(partition)]
    return [printable(line) for line in (*_shortened(differences), *_shortened(notes), *report.notes)]


def summary(report: VerifyReport) -> str:
    """The number of each kind, on one line."""
    counts = [f"{count:,} {NAMES[kind]}" for kind, count in report.counts().items() if count]
    return ", ".join(counts + ([f"{report.lost:,} lost on the source"] if report.lost else []))


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= LINES_SHOWN:
        return lines
    return [
        *lines[:LINES_SHOWN],
        f"… and {counted(len(lines) - LINES_SHOWN, 'more line')}: -o json has them all",
    ]


def _differences(partition: PartitionVerdict) -> Iterator[str]:
    findings = partition.findings
    for kind in KINDS:
        count = findings.counts.get(kind, 0)
        if not count:
            continue
        first = findings.first.get(kind, ())[:OFFSETS_SHOWN]
        if not first:
            yield f"{NAMES[kind]}: {count:,}"
            continue
        more = f", … ({count:,} in total)" if count > len(first) else ""
        yield f"{NAMES[kind]}: {_places(kind, first)}{more}"
    if findings.approximate:
        yield "too many differences to hold in memory: some were classified by their place alone"


def _places(kind: DifferenceKind, first: Sequence[Coordinates]) -> str:
    if all(record.destination is None for record in first):
        return f"source {_offsets(record.source for record in first)}"
    if all(record.source is None and record.partition is None for record in first):
        return f"destination {_offsets(record.destination for record in first)}"
    return ", ".join(_place(kind, record) for record in first)


def _offsets(offsets: Iterable[int | None]) -> str:
    listed = [str(offset) for offset in offsets]
    return f"offset{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


def _place(kind: DifferenceKind, record: Coordinates) -> str:
    destination = f"destination offset {record.destination}"
    if record.partition is not None:
        destination = f"{destination} of partition {record.partition}"
    if record.source is None:
        return destination
    if record.destination is None:
        return f"source offset {record.source}"
    if kind == "duplicated":
        return f"{destination} repeats source offset {record.source}"
    fields = f" in {', '.join(record.fields)}" if record.fields else ""
    return f"source offset {record.source} at {destination}{fields}"


def _notes(partition: PartitionVerdict) -> Iterator[str]:
    findings = partition.findings
    yield from partition.notes
    if count := findings.expired_on_source:
        yield f"{counted(count, 'older record')} {is_are(count)} only on the destination"
    if count := findings.expired_on_destination:
        yield f"{counted(count, 'older record')} {is_are(count)} only on the source"
    if count := findings.skipped:
        yield f"{counted(count, 'skipped record')} {is_are(count)} still on the source"
    for what, count in partition.ledger_counts.items():
        yield f"the ledger counts {counted(count, f'{what} record')}"
