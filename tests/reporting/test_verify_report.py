"""What people read of a verdict."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from causeway.core.position import Place, SourcePartition
from causeway.core.verify_report import Coordinates, DifferenceKind, Findings, PartitionVerdict, VerifyReport
from causeway.reporting.verify_report import LINES_SHOWN, summary, verdict_lines, verdict_table


def verdict(partition: int, findings: Findings, topic: str = "orders", *notes: str) -> PartitionVerdict:
    return PartitionVerdict(
        SourcePartition("id", topic, partition), Place(topic, "there", partition), findings, {}, notes
    )


def report(*partitions: PartitionVerdict, notes: tuple[str, ...] = ()) -> VerifyReport:
    return VerifyReport("m", ("paris",), "tokyo", 0, 1.0, partitions, notes)


def one(kind: DifferenceKind, *places: Coordinates, count: int | None = None) -> Findings:
    return Findings(10, 9, {kind: count or len(places)}, {kind: places})


def printed(verdicts: VerifyReport) -> list[list[str]]:
    console = Console(file=StringIO(), width=200)
    console.print(verdict_table(verdicts))
    assert isinstance(console.file, StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()[1:]]


def test_the_table_has_a_line_for_each_topic_with_its_partitions_added_up() -> None:
    lost = one("missing", Coordinates(3, None))
    found = report(verdict(0, lost), verdict(1, Findings(5, 5)), verdict(0, Findings(7, 7), "payments"))

    assert printed(found) == [
        ["orders", "2", "15", "14", "1", "0", "0", "0", "0", "0", "different"],
        ["payments", "1", "7", "7", "0", "0", "0", "0", "0", "0", "equal"],
    ]
    assert summary(found) == "1 missing"


def test_each_kind_is_told_in_words_with_its_coordinates() -> None:
    found = report(
        verdict(0, one("missing", Coordinates(3, None), Coordinates(5, None), count=1_200)),
        verdict(1, one("unexpected", Coordinates(None, 4))),
        verdict(2, one("duplicated", Coordinates(2, 6))),
        verdict(3, one("changed", Coordinates(5, 7, ("value", "timestamp")))),
        verdict(4, one("out_of_order", Coordinates(1, 8))),
    )

    assert verdict_lines(found) == [
        "orders[0]: missing: source offsets 3, 5, … (1,200 in total)",
        "orders[1]: unexpected: destination offset 4",
        "orders[2]: duplicated: destination offset 6 repeats source offset 2",
        "orders[3]: changed: source offset 5 at destination offset 7 in value, timestamp",
        "orders[4]: out of order: source offset 1 at destination offset 8",
    ]


def test_notes_follow_and_nobody_has_to_read_a_thousand_lines() -> None:
    many = [verdict(n, Findings(1, 1), "orders", "never replicated") for n in range(LINES_SHOWN + 5)]

    lines = verdict_lines(report(*many, notes=("not caught up within 5 s",)))

    assert lines[0] == "orders[0]: never replicated"
    assert lines[-2:] == ["… and 5 more lines: -o json has them all", "not caught up within 5 s"]


def test_a_report_is_equal_only_when_every_partition_is() -> None:
    equal, different = verdict(0, Findings(1, 1)), verdict(1, one("lagging", Coordinates(1, None)))

    assert report(equal).equal
    assert not report(equal, different).equal
    assert report(equal, different).to_json()["counts"]["lagging"] == 1
