"""Holes are checked before records are produced: without transactions these are visible at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.choices import CarrierChoice, OnGap
from causeway.core.position import Place, Position
from causeway.core.task_order import Lane, Policies
from causeway.kafka.look_ahead import RecordRun, holes_ahead, runs_of
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.task_errors import Again
from causeway.replication.worker import source_checks
from causeway.replication.worker.source_checks import look_ahead
from causeway.replication.worker.task_state import TaskState
from causeway.rules.holes import Hole, LogBatch
from replication.worker.test_source_checks import MARKERS, SOURCE, Log, View
from support.carrier_run import CarrierRun
from support.process import eventually
from support.world import World

AT = ("t", 0)


def state_at(offset: int, fetch_from: tuple[int, int] | None = None) -> PartitionState:
    place = Place("t", "id", 0)
    position = Position(SOURCE, "id", 0, offset, 7, place, 0, -1, 1, 0, seen=offset)
    return PartitionState(Lane(SOURCE, "id", place, None), position, fetch_from=fetch_from)


def holes(state: PartitionState, *runs: tuple[int, int], ends: Sequence[int] = ()) -> list[Hole]:
    pairs = holes_ahead([RecordRun(AT, *run) for run in runs], [(state, end) for end in ends], {AT: state})
    return [hole for _, hole in pairs]


@pytest.mark.parametrize(
    ("runs", "ends", "expected"),
    [
        ([(10, 5), (15, 2)], [17], []),
        ([(12, 5), (20, 2)], [25], [(10, 12), (17, 20), (22, 25)]),
        ([(8, 5), (13, 2)], [], []),  # replicated records are fetched again
        ([(5, 2), (12, 1)], [], [(10, 12)]),
        ([], [14], [(10, 14)]),
        ([], [9], []),
    ],
)
def test_holes_before_the_next_records_and_ends(
    runs: list[tuple[int, int]], ends: list[int], expected: list[tuple[int, int]]
) -> None:
    assert holes(state_at(10), *runs, ends=ends) == expected


def test_a_hole_that_is_known_as_lost_is_not_read_again() -> None:
    """The partition stops before it, and records before it are replicated."""
    blocked = state_at(10)
    blocked.hole, blocked.hole_start = Any, 20  # type: ignore[assignment]
    assert holes(blocked, (10, 10), (30, 5)) == []
    assert holes(blocked, (10, 5), (30, 5)) == [(15, 20)]
    assert holes(blocked, (10, 10), (20, 5)) == []


def test_a_stopped_partition_has_no_holes_ahead() -> None:
    stopped = state_at(10)
    stopped.stop(10, Any)  # type: ignore[arg-type]
    assert holes(stopped, (12, 5)) == []
    assert holes(state_at(10, fetch_from=(9, 7)), (12, 5), ends=[20]) == [], "its last record does not come"
    assert holes(state_at(10, fetch_from=(9, 7)), (9, 1), (12, 5)) == [(10, 12)]


def order(on_gap: OnGap) -> Any:
    return SimpleNamespace(
        policies=Policies(on_gap=on_gap), limits=SimpleNamespace(transaction_timeout=math.inf)
    )


def test_an_unexplained_hole_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_checks, "batches_between", log := Log(*MARKERS[:4]))
    state, memory, view = state_at(10), TaskState(), View(0, "delete")
    with pytest.raises(Again, match="has no records at offsets 14 to 19"):
        look_ahead(order("stop"), view, [(state, Hole(10, 20))], memory)  # type: ignore[arg-type]
    assert memory.holes == {SOURCE: (14, 20)}
    look_ahead(order("continue"), view, [(state, Hole(10, 20))], memory)  # type: ignore[arg-type]
    assert len(log.asked) == 1, "a policy that continues needs no read"


def test_markers_are_ordinary_once_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    later = [LogBatch(offset, offset, True) for offset in range(30, 35)]
    monkeypatch.setattr(source_checks, "batches_between", log := Log(*MARKERS, *later))
    state, memory, view = state_at(10), TaskState(), View(0, "delete")
    holes_found = [(state, Hole(10, 20)), (state, Hole(30, 35))]
    look_ahead(order("stop"), view, holes_found, memory)  # type: ignore[arg-type]
    assert log.asked == [(10, 20)]


@pytest.mark.parametrize("kind", ["native", "object"])
def test_both_carriers_return_the_same_runs(world: World, kind: CarrierChoice) -> None:
    topic, to = world.topic("t", 2), world.topic("to", 2, on="destination")
    for number in range(3):
        world.produce(topic, world.numbers(10, 2, 10 * number), transaction="commit")
    with CarrierRun(world, kind, topic, to, partitions=2) as run:
        offsets_read: dict[int, set[int]] = {0: set(), 1: set()}

        def step() -> bool:
            taken = run.consumer.poll(1_000, 0.1)
            if taken.records:
                for (name, partition), first, length in run.consumer.runs(taken.records):
                    assert name == topic
                    offsets = range(first, first + length)
                    assert offsets_read[partition].isdisjoint(offsets)
                    offsets_read[partition].update(offsets)
                run.consumer.release(taken.records)
            return sum(map(len, offsets_read.values())) == 30

        eventually(step, "every record is in a run")
    expected = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16}
    assert offsets_read == {0: expected, 1: expected}


def test_runs_of_messages() -> None:
    def message(partition: int, offset: int) -> Any:
        return SimpleNamespace(topic=lambda: "t", partition=lambda: partition, offset=lambda: offset)

    messages = [message(*at) for at in ((0, 1), (0, 2), (1, 3), (0, 3), (0, 5))]
    assert [(run.at[1], *run[1:]) for run in runs_of(messages)] == [
        (0, 1, 2),
        (1, 3, 1),
        (0, 3, 1),
        (0, 5, 1),
    ]
