"""How positions and gaps are displayed."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from causeway.core.ledger_record import Gap, Stopped
from causeway.core.offsets import OffsetsReport, PartitionOffsets, QuarantinedRecord, describe_gap
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.route import BY_KEY
from causeway.core.verify_report import Findings, PartitionVerdict, VerifyReport
from causeway.reporting.offsets import offsets_lines, offsets_table
from causeway.reporting.verify_report import verdict_lines, verdict_table

SOURCE = SourcePartition("id-of-paris", "orders", 1)
POSITION = Position(
    source=SOURCE,
    topic_id="here",
    start=0,
    offset=1_070,
    epoch=3,
    place=Place("eu.orders", "there", 1),
    place_start=0,
    place_end=1_000,
    generation=1,
    at=0,
    tally=Tally(delivered=1_000, filtered=30, quarantined=3, holes=17, skipped=20),
)
GAP = Gap(
    *SOURCE, topic_id="here", begin=50, to_topic_id="here", end=70, verdict="gap", by="operator@tokyo-1",
    why="retention", at=1_767_225_600_000,
)  # fmt: skip
REPORT = OffsetsReport(
    "m",
    ("paris",),
    "tokyo",
    (PartitionOffsets(POSITION, 70, 1_100),),
    stopped=(Stopped(*SOURCE, verdict="poison", what="it is too large", todo="make room", at=0),),
    gaps=(GAP,),
    first_quarantined=(QuarantinedRecord(SOURCE, 7, "too large"),),
    notes=("a note",),
    aliases={"id-of-paris": "paris"},
)


def rows(report: OffsetsReport) -> list[list[str]]:
    console = Console(file=StringIO(), width=250)
    console.print(offsets_table(report))
    assert isinstance(console.file, StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()[1:]]


def test_the_table_has_a_line_for_each_partition() -> None:
    [row] = rows(REPORT)
    assert " ".join(row) == (
        "orders[1] paris 0 1,070 70 1,100 30 1,000 30 3 17 20 eu.orders[1] stopped: poison"
    )


def test_without_the_source_its_log_bounds_are_not_shown() -> None:
    keyed = replace(POSITION, place=POSITION.place._replace(partition=BY_KEY))
    report = OffsetsReport("m", ("paris",), "tokyo", (PartitionOffsets(keyed),))

    [row] = rows(report)
    assert " ".join(row) == "orders[1] id-of-paris 0 1,070 – – – 1,000 30 3 17 20 eu.orders by key"
    assert report.to_json()["partitions"][0]["lag"] is None
    assert report.to_json()["partitions"][0]["destination_partition"] is None


def test_stops_gaps_and_quarantined_records_are_shown() -> None:
    assert list(offsets_lines(REPORT)) == [
        "orders[1]: stopped (poison) since 1970-01-01 00:00:00 UTC: it is too large",
        "  do: make room",
        "orders[1]: gap (gap): skipped offsets 50 to 69 (20), 2026-01-01 00:00:00 UTC,"
        " by operator@tokyo-1: retention",
        "3 records in quarantine:",
        "  orders[1] offset 7: too large",
        "  … and 2 more",
        "a note",
    ]


def test_several_sources_are_shown_with_their_names() -> None:
    other = replace(POSITION, source=SOURCE._replace(cluster="id-of-lyon"))
    report = replace(REPORT, partitions=(*REPORT.partitions, PartitionOffsets(other)))

    assert next(offsets_lines(report)).startswith("paris:orders[1]: stopped")


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"end": 51}, "skipped offset 50, "),
        ({"end": 40}, "moved back from offset 50 to 40, 10 offsets to replicate again, "),
        (
            {"to_topic_id": "another", "end": 3},
            "started with another topic of this name at offset 3; the one before was replicated up to offset",
        ),
    ],
)
def test_each_kind_of_move_is_described(changed: dict[str, int | str], text: str) -> None:
    assert describe_gap(replace(GAP, **changed)).startswith(text)  # type: ignore[arg-type]


def test_verify_shows_skipped_records_beside_the_differences() -> None:
    """There are columns for them only if there are any; a count may come without offsets."""
    findings = Findings(10, 10, {"missing": 1}, skipped=20, quarantined=3)
    partition = PartitionVerdict(SOURCE, POSITION.place, findings)
    report = VerifyReport("m", ("paris",), "tokyo", 0, 1.0, (partition,))
    console = Console(file=StringIO(), width=200)
    console.print(verdict_table(report))
    assert isinstance(console.file, StringIO)
    heading, line = console.file.getvalue().splitlines()

    assert heading.split()[-3:] == ["skipped", "quarantined", "verdict"]
    assert line.split()[-3:] == ["20", "3", "different"]
    assert verdict_lines(report) == [
        "orders[1]: missing: 1",
        "orders[1]: 20 skipped records are still on the source",
    ]
    assert report.to_json()["topics"][0]["skipped"] == 20
