"""Progress of `verify`: what there is to read, what was read, how far a mirror lags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Stopped
from causeway.core.pair import Pair
from causeway.core.pool import Pool, PoolFindings, PoolPlace
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.verify_report import Findings
from causeway.errors import IntegrityError
from causeway.rules.ledger_state import LedgerState
from causeway.verification import catch_up, comparison_job
from causeway.verification.comparison_job import PAIRS, _task

PAIR = Pair(
    source=SourcePartition("id", "orders", 0), source_from=10, position=50, end=60, source_to=70,
    place=Place("orders", "", 0), place_from=5, place_to=45, compacted=False, timestamps=True,
)  # fmt: skip
POOL = Pool("all", (PAIR, replace(PAIR, source_to=11)), (PoolPlace(0, 0, 100), PoolPlace(1, 7, 7)))
DESTINATION = Cluster("dst", {"bootstrap.servers": "127.0.0.1:1"})


def test_the_offsets_of_both_sides_are_counted() -> None:
    assert PAIR.offsets == 60 + 40
    assert replace(PAIR, place=None).offsets == 60
    assert replace(PAIR, source_to=3).offsets == 40  # truncated since
    assert POOL.offsets == 60 + 1 + 100


@dataclass
class Added:
    """The part of Spark's accumulator that a task uses."""

    value: int = 0

    def add(self, more: int) -> None:
        self.value += more


def test_a_task_adds_what_it_has_read_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def compared(pair: Pair, *_: object) -> Findings:
        if pair.source.partition == 9:
            raise IntegrityError("gone")
        return Findings()

    monkeypatch.setattr(comparison_job, "compare_pair", compared)
    monkeypatch.setattr(comparison_job, "compare_pool", lambda *_: PoolFindings(()))
    broken = replace(PAIR, source=SourcePartition("id", "orders", 9))
    rows = [{"pair": PAIR.to_json()}, {"pair": broken.to_json()}, {"pool": POOL.to_json()}]
    done: Any = Added()
    task = _task({"id": DESTINATION}, DESTINATION, done=done)
    batches = [pa.RecordBatch.from_pylist([{"row": 0, **row}], schema=PAIRS) for row in rows]
    seen = [(done.value, batch.to_pylist()[0]["findings"] is not None) for batch in task(batches)]
    assert seen == [(100, True), (100, False), (261, True)]


def test_waiting_for_a_mirror_reports_its_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    first, other, stopped = (SourcePartition("id", "orders", number) for number in range(3))

    def state(*offsets: int) -> LedgerState:
        made = LedgerState()
        for source, offset in zip((first, other), offsets, strict=False):
            made.apply(1, position(source, offset))
        made.apply(1, Stopped(*stopped, verdict="gap", what="", todo="", at=1, lease=1))
        return made

    progress: list[tuple[int, int]] = []
    lines: list[str] = []
    states = iter([state(), state(30), state(100, 20), state(100, 50)])
    monkeypatch.setattr(catch_up, "read_image", lambda *_: next(states))

    _, note = catch_up.wait_until_caught_up(
        DESTINATION,
        "m",
        {first: 100, other: 50, stopped: 1_000},
        timeout=None,
        pause=lambda seconds: None,
        say=lines.append,
        progress=lambda done, total: progress.append((done, total)),
    )

    assert progress == [(0, 150), (30, 150), (120, 150)]
    assert lines == ['waiting for mirror "m": 2 partitions are lagging by 150 offsets']
    assert note == ""


def position(source: SourcePartition, offset: int) -> Position:
    return Position(
        source=source, topic_id="t", start=0, offset=offset, epoch=0, place=Place("orders", "u", 0),
        place_start=0, place_end=offset, generation=1, at=1,
    )  # fmt: skip
