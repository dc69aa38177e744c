"""What `verify` found: a table with a line for each topic, and words for what is different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from causeway.model.verdict import KINDS, Coordinates, Kind, PartitionVerdict, TopicVerdict, VerifyReport
from causeway.printable import printable

NAMES: dict[Kind, str] = {kind: kind.replace("_", " ") for kind in KINDS}
LINES_SHOWN = 40
OFFSETS_SHOWN = 5


def verdict_table(report: VerifyReport, kinds: Sequence[Kind] | None = None) -> Table:
    """A column for each of the kinds: all of them, or those that a narrow terminal has room for."""
    if kinds is None:
        kinds = [kind for kind in KINDS if kind != "unreadable" or report.counts()[kind]]
    result = Table(box=None, pad_edge=False, header_style="bold")
    topics = report.topics()
    # Told beside the differences, by those few that have any.
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
    """The source topic, and the destination's where that has another name."""
    name = _named(report, topic.cluster, topic.topic)
    if topic.destination_topic in (None, topic.topic):
        return name
    return f"{name} → {topic.destination_topic}"


def _named(report: VerifyReport, cluster: str, what: object) -> str:
    """With the cluster it belongs to, where there are several."""
    return f"{report.aliases[cluster]}:{what}" if len(report.aliases) > 1 else str(what)


def verdict_lines(report: VerifyReport) -> list[str]:
    """The first coordinates of each kind, then what is worth knowing; not more than people read."""
    named = [(_named(report, one.source.cluster, one.source), one) for one in report.partitions]
    differences = [f"{name}: {line}" for name, one in named for line in _differences(one)]
    notes = [f"{name}: {line}" for name, one in named for line in _notes(one)]
    return [printable(line) for line in (*_shortened(differences), *_shortened(notes), *report.notes)]


def summary(report: VerifyReport) -> str:
    """In one line how many of each kind there are."""
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


def _places(kind: Kind, first: Sequence[Coordinates]) -> str:
    if all(one.destination is None for one in first):
        return f"source {_offsets(one.source for one in first)}"
    if all(one.source is None and one.partition is None for one in first):
        return f"destination {_offsets(one.destination for one in first)}"
    return ", ".join(_place(kind, one) for one in first)


def _offsets(offsets: Iterable[int | None]) -> str:
    listed = [str(offset) for offset in offsets]
    return f"offset{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


def _place(kind: Kind, one: Coordinates) -> str:
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
