"""What people read of a verdict where topics have other names, share places, or come from many clusters."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from causeway.core.position import Place, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.verify_report import Coordinates, Findings, PartitionVerdict, VerifyReport
from causeway.reporting.verify_report import verdict_lines, verdict_table

TWO_CLUSTERS = {"id1": "paris", "id2": "lyon"}


def verdict(cluster: str, findings: Findings, to: str = "all", place: int = BY_KEY) -> PartitionVerdict:
    return PartitionVerdict(SourcePartition(cluster, "orders", 0), Place(to, "there", place), findings)


def report(*partitions: PartitionVerdict, aliases: dict[str, str] | None = None) -> VerifyReport:
    return VerifyReport("m", ("paris",), "tokyo", 0, 1.0, partitions, aliases=aliases or {"id1": "paris"})


def names(verdicts: VerifyReport) -> list[str]:
    console = Console(file=StringIO(), width=200)
    console.print(verdict_table(verdicts))
    assert isinstance(console.file, StringIO)
    return [line.partition("  ")[0] for line in console.file.getvalue().splitlines()[1:]]


def test_another_name_at_the_destination_is_shown_and_clusters_are_told_apart() -> None:
    equal = Findings(1, 1)

    assert names(report(verdict("id1", equal))) == ["orders → all"]
    assert names(report(verdict("id1", equal, "orders", 0))) == ["orders"]
    both = report(verdict("id1", equal), verdict("id2", equal), aliases=TWO_CLUSTERS)
    assert names(both) == ["paris:orders → all", "lyon:orders → all"]


def test_coordinates_in_a_pool_name_the_partition() -> None:
    findings = Findings(
        counts={"missing": 1, "duplicated": 1, "changed": 1, "unexpected": 2},
        first={
            "missing": (Coordinates(3, None),),
            "duplicated": (Coordinates(2, 6, partition=1),),
            "changed": (Coordinates(5, 7, ("value",), partition=0),),
            "unexpected": (Coordinates(None, 4, partition=1), Coordinates(None, 9, partition=2)),
        },
    )

    assert verdict_lines(report(verdict("id1", findings), aliases=TWO_CLUSTERS)) == [
        "paris:orders[0]: missing: source offset 3",
        "paris:orders[0]: duplicated: destination offset 6 of partition 1 repeats source offset 2",
        "paris:orders[0]: changed: source offset 5 at destination offset 7 of partition 0 in value",
        "paris:orders[0]: unexpected: destination offset 4 of partition 1,"
        " destination offset 9 of partition 2",
    ]


def test_a_partition_that_the_key_chose_has_no_number_for_machines() -> None:
    by_key, fixed = verdict("id1", Findings()).to_json(), verdict("id1", Findings(), place=2).to_json()

    assert (by_key["destination_topic"], by_key["destination_partition"]) == ("all", None)
    assert fixed["destination_partition"] == 2
