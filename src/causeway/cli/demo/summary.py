"""The demo's numbers, as text and as JSON. Pure.

They are the results of `causeway verify`, checked against the demo's own count: a verification that reads
too little must not look like success. The larger number is shown.

lost          verify's `missing` and `lagging`, or by how many fewer records arrived than were written
duplicated    verify's `duplicated`, or by how many more records arrived than were written
changed       verify's `changed` and `unexpected`: no such record was written
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from causeway.cli.demo.ledger_watch import Speed
from causeway.errors import VerifyMismatch


@dataclass(frozen=True, slots=True)
class DemoVerdict:
    lost: int
    duplicated: int
    out_of_order: int
    changed: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.out_of_order or self.changed)

    def to_json(self) -> dict[str, int]:
        return {
            "lost": self.lost,
            "duplicated": self.duplicated,
            "out_of_order": self.out_of_order,
            "changed": self.changed,
        }

    def rows(self) -> list[tuple[str, str, str]]:
        return [
            ("lost", f"{self.lost:,}", ""),
            ("duplicated", f"{self.duplicated:,}", ""),
            ("out of order", f"{self.out_of_order:,}", ""),
            ("changed", f"{self.changed:,}", "in key, value, headers, timestamp or partition"),
        ]

    def mismatch(self, records: int) -> VerifyMismatch | None:
        """The error to raise if one of the numbers is not 0."""
        if self.clean:
            return None
        return VerifyMismatch(
            f"of {records:,} records {self.lost:,} were lost, {self.duplicated:,} duplicated,"
            f" {self.out_of_order:,} out of order and {self.changed:,} changed"
        )


def aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    """Name, number and remark in columns."""
    names = max(len(name) for name, _, _ in rows)
    numbers = max(len(number) for _, number, _ in rows)
    return "\n".join(
        f"{name:<{names}}  {number:>{numbers}}  {remark}".rstrip() for name, number, remark in rows
    )


def verdict_of(
    report: Mapping[str, Any], written: Mapping[str, int], arrived: Mapping[str, int]
) -> DemoVerdict:
    """From the output of `causeway verify -o json` and each topic's expected and counted records."""
    found = {topic["topic"]: topic["counts"] for mirror in report["mirrors"] for topic in mirror["topics"]}
    lost = duplicated = out_of_order = changed = 0
    for topic, expected in written.items():
        counts: Mapping[str, int] = found.get(topic, {})
        surplus = counts.get("duplicated", 0) + counts.get("unexpected", 0)
        there = arrived.get(topic, 0)
        lost += max(counts.get("missing", 0) + counts.get("lagging", 0), expected - (there - surplus))
        duplicated += max(counts.get("duplicated", 0), there - counts.get("unexpected", 0) - expected)
        out_of_order += counts.get("out_of_order", 0)
        changed += counts.get("changed", 0) + counts.get("unexpected", 0)
    return DemoVerdict(lost, duplicated, out_of_order, changed)


@dataclass(frozen=True, slots=True)
class Summary:
    records: int  # committed on the source
    bytes: int
    aborted: int
    topics: int
    partitions: int
    kills: int
    killed_processes: int
    speed: Speed
    latency_p50_ms: float
    latency_p99_ms: float
    warm_up_seconds: float
    trickle_per_second: int
    verdict: DemoVerdict

    def to_json(self) -> dict[str, int | float]:
        return {
            "records": self.records,
            **self.verdict.to_json(),
            "kills": self.kills,
            "records_per_second": round(self.speed.records_per_second),
            "latency_p50_ms": round(self.latency_p50_ms, 1),
            "latency_p99_ms": round(self.latency_p99_ms, 1),
        }

    def __str__(self) -> str:
        speed = self.speed
        rows = [
            ("records", f"{self.records:,}",
             f"{self.bytes / 1e6:,.1f} MB in {self.topics} topics with {self.partitions} partitions"),
            ("", "", f"and {self.aborted:,} in aborted transactions, which must not arrive"),
            ("killed", f"{self.kills:,}",
             f"time: SIGKILL to all {self.killed_processes} processes of the mirror at once"),
            ("records/s", f"{speed.records_per_second:,.0f}",
             f"while catching up after the restart: {speed.records:,} records in {speed.seconds:.1f} s"),
            ("MB/s", f"{speed.bytes_per_second / 1e6:,.1f}", "of keys and values, meanwhile"),
            ("latency p50", f"{self.latency_p50_ms:,.0f} ms",
             f"at {self.trickle_per_second:,} records/s, from the producer's timestamp"),
            ("latency p99", f"{self.latency_p99_ms:,.0f} ms",
             "to a read_committed consumer at the destination"),
            ("", "", f"after {self.warm_up_seconds:.0f} s of warm-up: new brokers compile their code first"),
            *self.verdict.rows(),
        ]  # fmt: skip
        return aligned(rows)

    def mismatch(self) -> VerifyMismatch | None:
        return self.verdict.mismatch(self.records)

    def next_commands(self, program: str) -> str:
        return next_commands(program)


def next_commands(program: str) -> str:
    """What to try after the demo."""
    return try_next(
        (f"{program} demo --keep", "the same, but left running: look at the page, write to it, stop it"),
        (f"{program} init", "writes causeway.toml, a commented configuration for your own clusters"),
        (f"{program} check causeway.toml", "what a run would do; writes nothing"),
    )


def try_next(*rows: tuple[str, str]) -> str:
    width = max(len(command) for command, _ in rows)
    return "\n".join(["Try next:", *(f"  {command:<{width}}  {what}" for command, what in rows)])
