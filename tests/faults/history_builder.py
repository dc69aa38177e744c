"""Builds histories of a correct mirror, in every detail; tests then introduce one anomaly at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from faults.content import TOKEN_HEADER, Content, content, token
from faults.events import (
    Applied,
    Damage,
    DeliveryReport,
    Drained,
    Exited,
    Fault,
    Lag,
    LedgerPosition,
    Mapped,
    Route,
    Scanned,
    Seen,
    Sent,
    Terms,
    Topics,
    TransactionEnded,
    Translated,
    Usage,
    Verdict,
)  # fmt: skip
from faults.history import History

TOPIC, TO = "orders", "copy"
StepKind = Literal["plain", "committed", "aborted", "failed", "landed", "vanished"]
"""landed and vanished: unknown to the producer; the record is in the log, or it is not."""


@dataclass(frozen=True)
class WorkloadStep:
    kind: StepKind
    partition: int = 0
    records: int = 1
    shape: int = 0  # where the token is, and what is null or empty


@dataclass
class HistoryBuilder:
    """The history of a correct mirror over some steps of its producers."""

    steps: list[WorkloadStep]
    partitions: int = 2
    batch: int = 3  # records in a transaction on the destination
    extras: bool = True  # ledger, map and everything else but records
    removed: int = -1  # orders[0] was cut to this offset when `replicated` of its records had arrived
    replicated: int = 0
    action: Literal["stop", "continue"] = "stop"
    _events: list[object] = field(default_factory=list)
    _ends: dict[int, int] = field(default_factory=dict)
    _visible: dict[int, list[tuple[int, str, Content]]] = field(default_factory=dict)
    _at: int = 0

    def history(self, terms: Terms | None = None) -> History:
        self._events, self._at = [terms or Terms(recovery_ms=15_000), Route(TOPIC, TO)], 0
        self._ends = dict.fromkeys(range(self.partitions), 0)
        self._visible = {partition: [] for partition in range(self.partitions)}
        if self.extras:
            self._add(Topics(self.now, "source", (TOPIC, "__consumer_offsets")))
        for number, step in enumerate(self.steps):
            self._write(number, step)
        arrived = {partition: self._arrived(partition) for partition in self._visible}
        if self.extras:
            self._positions(arrived, part=2)
            self._add(Fault(self.now, "kill", until=self.now, crash=True), Lag(self.now, 7), Lag(self.now, 0))
        if self.removed >= 0:
            self._cut(arrived[0])
        if self.extras:
            self._positions(arrived)
        self._read(arrived)
        if self.extras:
            self._positions(arrived)
            self._the_rest(arrived)
        return History(self._events)

    @property
    def now(self) -> int:
        self._at += 1
        return self._at

    def _add(self, *events: object) -> None:
        self._events += events

    def _write(self, number: int, step: WorkloadStep) -> None:
        transaction = f"tx{number}" if step.kind in ("committed", "aborted") else ""
        for n in range(step.records):
            name = token("made", number * 1000 + n)
            record = raw(name, step.shape + n, number * 1000 + n)
            self._add(Sent(self.now, name, TOPIC, step.partition, record, transaction))
            offset = self._ends[step.partition]
            if step.kind in ("plain", "committed", "aborted"):
                self._add(DeliveryReport(self.now, name, "ok", offset))
            else:
                self._add(DeliveryReport(self.now, name, "failed" if step.kind == "failed" else "unknown"))
            if step.kind in ("plain", "committed", "landed"):
                self._visible[step.partition].append((offset, name, record))
            if step.kind not in ("failed", "vanished"):
                self._ends[step.partition] += 1
        if transaction:
            self._add(TransactionEnded(self.now, transaction, step.kind))  # type: ignore[arg-type]
            self._ends[step.partition] += 1  # the marker

    def _arrived(self, partition: int) -> list[tuple[int, int, str, Content]]:
        """Destination offset, source offset, token, content."""
        rows = self._visible[partition]
        if partition == 0 and self.removed >= 0:
            after = [row for row in rows if row[0] >= self.removed] if self.action == "continue" else []
            rows = rows[: self.replicated] + after
        return [(n + n // self.batch, *row) for n, row in enumerate(rows)]

    def _cut(self, arrived: list[tuple[int, int, str, Content]]) -> None:
        expected = self._visible[0][self.replicated - 1][0] + 1 if self.replicated else 0
        self._add(Damage(self.now, "removed", "source", TOPIC, 0, self.removed))
        self._add(Verdict(self.now, "gap", TOPIC, 0, expected, self.removed, self.action))
        if self.action == "stop":
            self._add(Exited(self.now, "run --stop-at-end", 6))

    def _position(self, partition: int, replicated: int) -> int:
        rows = self._visible[partition]
        if partition == 0 and self.removed >= 0 and self.action == "stop":
            replicated = min(replicated, self.replicated)
            return rows[replicated - 1][0] + 1 if replicated else 0
        return self._ends[partition] if replicated >= len(rows) else rows[replicated][0]

    def _positions(self, arrived: dict[int, list[tuple[int, int, str, Content]]], part: int = 1) -> None:
        for partition, row in arrived.items():
            if part > 1 and partition == 0 and self.removed >= 0:
                continue
            done = len(row) // part
            whole = part == 1
            position = self._position(partition, len(self._visible[partition]) if whole else done)
            end = row[done - 1][0] + 1 if done else -1
            self._add(
                LedgerPosition(
                    self.now, TOPIC, partition, 0, position, done, holes=position - done,
                    to=TO, to_partition=partition, to_end=end, writer=str(3 - part),
                )
            )  # fmt: skip

    def _read(self, arrived: dict[int, list[tuple[int, int, str, Content]]]) -> None:
        for partition, rows in self._visible.items():
            began, start = self.now, max(self.removed, 0) if partition == 0 else 0
            self._add(
                *(
                    Seen(self.now, "source", TOPIC, partition, offset, name, record)
                    for offset, name, record in rows
                    if offset >= start
                )
            )
            end = self._ends[partition]
            self._add(Drained(self.now, began, "source", TOPIC, partition, start, end))
        for partition, row in arrived.items():
            began = self.now
            self._add(
                *(
                    Seen(self.now, "destination", TO, partition, there, name, record)
                    for there, _, name, record in row
                )
            )
            end = row[-1][0] + 2 if row else 0
            self._add(Drained(self.now, began, "destination", TO, partition, 0, end))

    def _the_rest(self, arrived: dict[int, list[tuple[int, int, str, Content]]]) -> None:
        for partition, row in arrived.items():
            for there, source, _, _ in row:
                self._add(Mapped(self.now, TOPIC, partition, source, TO, partition, there, 1))
            for there, source, _, _ in row:
                self._add(Translated(self.now, "group", TOPIC, partition, source, TO, partition, there))
        self._add(Topics(self.now, "source", (TOPIC, "__consumer_offsets", "__transaction_state")))
        self._add(*(Usage(self.now, "driver", 10**9, 100, 50) for _ in range(20)))
        self._add(Scanned(self.now, "run.log"), Applied(self.now, "plan", 3), Applied(self.now, "plan", 0))
        self._add(Lag(self.now, 0), Exited(self.now, "verify --deep", 0))


def raw(name: str, shape: int, timestamp: int) -> Content:
    """A record with its token in one of three fields, and unusual values in the others."""
    token_bytes = name.encode()
    place, look = shape % 3, shape // 3 % 3
    empty: bytes | None = (None, b"", b"some")[look]
    headers: list[tuple[str, bytes | None]] = [("h", empty), ("h", b"\xff"), ("n", None)][: look + 1]
    if place == 0:
        return content(empty, None, [(TOKEN_HEADER, token_bytes), *headers], 10_000 + timestamp, "create")
    if place == 1:
        return content(token_bytes, empty, [], 10_000 + timestamp, "create")
    return content(None, token_bytes, headers, 10_000 + timestamp, "create")


ALL_STEPS = [
    WorkloadStep("plain", 0, 2, 0),
    WorkloadStep("committed", 0, 3, 2),
    WorkloadStep("aborted", 0, 2, 5),
    WorkloadStep("plain", 1, 4, 1),
    WorkloadStep("failed", 1, 1, 3),
    WorkloadStep("landed", 0, 1, 7),
    WorkloadStep("vanished", 0, 1, 4),
    WorkloadStep("aborted", 1, 1, 8),
    WorkloadStep("committed", 1, 4, 6),
    WorkloadStep("plain", 0, 3, 3),
]


def records_of(history: History, side: str) -> list[Seen]:
    return [event for event in history.of(Seen) if event.side == side]


def replaced(history: History, changes: Iterable[tuple[object, object | None]]) -> History:
    """The history with some events replaced; None removes one."""
    by_id = {id(old): new for old, new in changes}
    events = [by_id.get(id(event), event) for event in history.events]
    return History(event for event in events if event is not None)
