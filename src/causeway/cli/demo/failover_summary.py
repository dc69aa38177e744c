"""The numbers of `causeway demo --failover`, as text and as JSON. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from causeway.cli.demo.summary import DemoVerdict, aligned, try_next
from causeway.errors import VerifyMismatch


@dataclass(frozen=True, slots=True)
class NodeFault:
    """What was done to the node that was read. Times are milliseconds."""

    what: str  # killed, suspended
    sent: str  # the signal
    node: str
    next_node: str  # that was read then
    first_ms: float  # until the first record arrived that was written afterwards
    all_ms: float  # until one had arrived in every partition
    longest_gap_ms: float  # without a record in any one partition

    def to_json(self) -> dict[str, Any]:
        return {
            "fault": self.what,
            "node": self.node,
            "next_node": self.next_node,
            "next_record_ms": round(self.first_ms, 1),
            "every_partition_ms": round(self.all_ms, 1),
            "longest_gap_ms": round(self.longest_gap_ms, 1),
        }

    def rows(self, partitions: int) -> list[tuple[str, str, str]]:
        return [
            (self.what, self.node, f"{self.sent} to its broker while it was read; then {self.next_node} was"),
            ("  next record", f"{self.first_ms:,.0f} ms",
             "from the signal until a record arrived that was written after it"),
            ("  every partition", f"{self.all_ms:,.0f} ms", "until each partition had such a record"),
            ("  longest gap", f"{self.longest_gap_ms:,.0f} ms",
             f"without a record, in any one of {partitions} partitions"),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class FailoverSummary:
    records: int  # written to each node that was not killed
    bytes: int
    topics: int
    partitions: int
    paced_partitions: int  # those that were written to all the time
    per_second: int
    faults: tuple[NodeFault, ...]
    verdict: DemoVerdict

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            **self.verdict.to_json(),
            "faults": [fault.to_json() for fault in self.faults],
        }

    def __str__(self) -> str:
        size = f"{self.bytes / 1e6:,.1f} MB in {self.topics} topics with {self.partitions} partitions"
        rows = [
            ("records", f"{self.records:,}", f"{size}, the same on each node"),
            ("", "", f"{self.per_second:,} records/s while nodes failed"),
        ]
        for fault in self.faults:
            rows += fault.rows(self.paced_partitions)
        return aligned([*rows, *self.verdict.rows()])

    def mismatch(self) -> VerifyMismatch | None:
        return self.verdict.mismatch(self.records)

    def next_commands(self, program: str) -> str:
        return try_next(
            (f"{program} demo --failover --keep", "the same, but left running: look at the page"),
            (f"{program} init", "writes causeway.toml, with a commented pool in it"),
            (f"{program} failover --help", "reads a pool of your own from another node"),
        )
