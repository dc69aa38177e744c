"""What records leave out is seen before they are produced: without transactions they are visible at once."""

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


def lane_at(offset: int, fetch_from: tuple[int, int] | None = None) -> PartitionState:
    place = Place("t", "id", 0)
    position = Position(SOURCE, "id", 0, offset, 7, place, 0, -1, 1, 0, seen=offset)
    return PartitionState(Lane(SOURCE, "id", place, None), position, fetch_from=fetch_from)


def holes(lane: PartitionState, *runs: tuple[int, int], ends: Sequence[int] = ()) -> list[Hole]:
    found = holes_ahead([RecordRun(AT, *run) for run in runs], [(lane, end) for end in ends], {AT: lane})
    return [hole for _, hole in found]


@pytest.mark.parametrize(
    ("runs", "ends", "expected"),
    [
        ([(10, 5), (15, 2)], [17], []),
        ([(12, 5), (20, 2)], [25], [(10, 12), (17, 20), (22, 25)]),
        ([(8, 5), (13, 2)], [], []),  # what was replicated before comes once more
        ([(5, 2), (12, 1)], [], [(10, 12)]),
        ([], [14], [(10, 14)]),
        ([], [9], []),
    ],
)
def test_what_a_lane_is_going_to_pass(
    runs: list[tuple[int, int]], ends: list[int], expected: list[tuple[int, int]]
) -> None:
    assert holes(lane_at(10), *runs, ends=ends) == expected


def test_a_hole_that_is_known_as_lost_is_not_looked_into_again() -> None:
    """The lane stops before it, and what lies before it is carried."""
    walled = lane_at(10)
    walled.hole, walled.hole_start = Any, 20  # type: ignore[assignment]
    assert holes(walled, (10, 10), (30, 5)) == []
    assert holes(walled, (10, 5), (30, 5)) == [(15, 20)]
    assert holes(walled, (10, 10), (20, 5)) == []


def test_a_lane_that_stops_passes_nothing() -> None:
    stopped = lane_at(10)
    stopped.stop(10, Any)  # type: ignore[arg-type]
    assert holes(stopped, (12, 5)) == []
    assert holes(lane_at(10, fetch_from=(9, 7)), (12, 5), ends=[20]) == [], "its last record does not come"
    assert holes(lane_at(10, fetch_from=(9, 7)), (9, 1), (12, 5)) == [(10, 12)]


def order(on_gap: OnGap) -> Any:
    return SimpleNamespace(
        policies=Policies(on_gap=on_gap), limits=SimpleNamespace(transaction_timeout=math.inf)
    )


def test_what_nothing_explains_is_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_checks, "batches_between", log := Log(*MARKERS[:4]))
    lane, memory, view = lane_at(10), TaskState(), View(0, "delete")
    with pytest.raises(Again, match="has no records at offsets 14 to 19"):
        look_ahead(order("stop"), view, [(lane, Hole(10, 20))], memory)  # type: ignore[arg-type]
    assert memory.holes == {SOURCE: (14, 20)}
    look_ahead(order("continue"), view, [(lane, Hole(10, 20))], memory)  # type: ignore[arg-type]
    assert len(log.asked) == 1, "a policy that goes on needs no look"


def test_markers_are_ordinary_once_they_were_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    later = [LogBatch(offset, offset, True) for offset in range(30, 35)]
    monkeypatch.setattr(source_checks, "batches_between", log := Log(*MARKERS, *later))
    lane, memory, view = lane_at(10), TaskState(), View(0, "delete")
    found = [(lane, Hole(10, 20)), (lane, Hole(30, 35))]
    look_ahead(order("stop"), view, found, memory)  # type: ignore[arg-type]
    assert log.asked == [(10, 20)]


@pytest.mark.parametrize("kind", ["native", "object"])
def test_both_carriers_see_the_same_runs(world: World, kind: CarrierChoice) -> None:
    topic, to = world.topic("t", 2), world.topic("to", 2, on="destination")
    for number in range(3):
        world.produce(topic, world.numbers(10, 2, 10 * number), transaction="commit")
    with CarrierRun(world, kind, topic, to, partitions=2) as run:
        found: dict[int, set[int]] = {0: set(), 1: set()}

        def step() -> bool:
            taken = run.consumer.poll(1_000, 0.1)
            if taken.records:
                for (name, partition), first, length in run.consumer.runs(taken.records):
                    assert name == topic
                    offsets = range(first, first + length)
                    assert found[partition].isdisjoint(offsets)
                    found[partition].update(offsets)
                run.consumer.release(taken.records)
            return sum(map(len, found.values())) == 30

        eventually(step, "every record is in a run")
    expected = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16}
    assert found == {0: expected, 1: expected}


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
