"""Output of `verify`: a table with a row for each topic, and lines for the differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

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
    aside = [
        name for name in ("skipped", "quarantined", "lost") if any(getattr(topic, name) for topic in topics)
    ]
    result.add_column("topic")
    for heading in ("partitions", "source", "destination", *(NAMES[kind] for kind in kinds), *aside):
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
            *(f"{getattr(topic, name):,}" for name in aside),
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
    named = [(_named(report, one.source.cluster, one.source), one) for one in report.partitions]
    differences = [f"{name}: {line}" for name, one in named for line in _differences(one)]
    notes = [f"{name}: {line}" for name, one in named for line in _notes(one)]
    return [printable(line) for line in (*_shortened(differences), *_shortened(notes), *report.notes)]


def summary(report: VerifyReport) -> str:
    """The number of each kind, on one line."""
    told = [f"{count:,} {NAMES[kind]}" for kind, count in report.counts().items() if count]
    return ", ".join(told + ([f"{report.lost:,} lost on the source"] if report.lost else []))


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
        if not first:
            yield f"{NAMES[kind]}: {count:,}"
            continue
        more = f", … ({count:,} in all)" if count > len(first) else ""
        yield f"{NAMES[kind]}: {_places(kind, first)}{more}"
    if findings.guessed:
        yield "more differences than can be remembered: some kinds are told by place"


def _places(kind: DifferenceKind, first: Sequence[Coordinates]) -> str:
    if all(one.destination is None for one in first):
        return f"source {_offsets(one.source for one in first)}"
    if all(one.source is None and one.partition is None for one in first):
        return f"destination {_offsets(one.destination for one in first)}"
    return ", ".join(_place(kind, one) for one in first)


def _offsets(offsets: Iterable[int | None]) -> str:
    listed = [str(offset) for offset in offsets]
    return f"offset{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


def _place(kind: DifferenceKind, one: Coordinates) -> str:
    there = f"destination offset {one.destination}"
    if one.partition is not None:
        there = f"{there} of partition {one.partition}"
    if one.source is None:
        return there
    if one.destination is None:
        return f"source offset {one.source}"
    if kind == "duplicated":
        return f"{there} repeats source offset {one.source}"
    fields = f" in {', '.join(one.fields)}" if one.fields else ""
    return f"source offset {one.source} at {there}{fields}"


def _notes(partition: PartitionVerdict) -> Iterator[str]:
    findings = partition.findings
    yield from partition.notes
    if findings.expired:
        yield f"{findings.expired:,} older records are on the destination alone"
    if findings.faded:
        yield f"{findings.faded:,} older records are on the source alone"
    if findings.skipped:
        yield f"{findings.skipped:,} records are still on the source, and were passed over"
    for what, count in partition.declared.items():
        yield f"{count:,} records were {what} by declaration"
