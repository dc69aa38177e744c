"""When a slice is handed to Spark, cut short, or taken back. Spark and Kafka are stood in for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from causeway.core.executor import Executor
from causeway.replication import slice_loop
from causeway.replication.driver import Driver
from causeway.replication.liveness import Liveness
from causeway.replication.slice_job import Slice

NO_SPARK = cast(Executor, None)


class Piece:
    """A slice whose end the test decides."""

    def __init__(self, number: int, ends: Callable[[], bool] = lambda: False) -> None:
        self.number = number
        self.shards = (1, 2)
        self.receipts: list[Any] = []
        self.failure = ""
        self.cancelled = False
        self.there = 2
        self._ends = ends

    def wait(self, seconds: float) -> bool:
        return self.cancelled or self._ends()

    def ended_tasks(self) -> int:
        return 0

    def slots(self) -> int:
        return self.there

    def cancel(self, why: str = "it was cancelled") -> None:
        self.cancelled = True
        self.failure = why


class Told:
    """A driver that looks at nothing; `reasons` is what its ticks answer, one after the other."""

    def __init__(self, *reasons: str, length: float = 0.4, stop_at_end: bool = False) -> None:
        self.pulse = Liveness()
        self.mirror = type("Mirror", (), {"slice": length})()
        self.stop_at_end = stop_at_end
        self.cuts: list[str] = []
        self.said: list[str] = []
        self.ticks = 0
        self.leaving: list[bool] = []
        self._reasons = list(reasons)

    def tick(self, seconds: float, *, leaving: bool = False) -> str:
        self.ticks += 1
        self.leaving.append(leaving)
        threading.Event().wait(0.01)
        return self._reasons.pop(0) if self._reasons else ""

    def cut(self, reason: str) -> None:
        self.cuts.append(reason)

    def tell(self, level: str, what: str) -> None:
        self.said.append(what)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Piece]:
    """What was handed over early."""
    made: list[Piece] = []

    def hand_over(driver: Driver, executor: Executor, after: int = 0) -> Slice:
        made.append(Piece(after + 1))
        return cast(Slice, made[-1])

    monkeypatch.setattr(slice_loop, "_hand_over", hand_over)
    return made


def watched(driver: Told, piece: Piece, stopping: threading.Event | None = None) -> Slice | None:
    for shard in piece.shards:
        driver.pulse.heard(shard, piece.number, 0.0)
    return slice_loop.watch(cast(Driver, driver), cast(Slice, piece), NO_SPARK, stopping or threading.Event())


def test_the_next_slice_is_handed_over_once_before_this_one_ends(handed: list[Piece]) -> None:
    ends_after = 20
    driver = Told()
    piece = Piece(3, lambda: bool(handed) and driver.ticks > ends_after)

    assert watched(driver, piece) is cast(Any, handed[0])
    assert [one.number for one in handed] == [4]
    assert not handed[0].cancelled
    assert driver.cuts == []


def test_nothing_is_handed_over_before_all_shards_have_begun(handed: list[Piece]) -> None:
    driver = Told()
    driver.pulse.heard(1, 3, 0.0)
    piece = Piece(3, lambda: driver.ticks > 60)
    assert slice_loop.watch(cast(Driver, driver), cast(Slice, piece), NO_SPARK, threading.Event()) is None
    assert handed == []


def test_a_run_with_an_end_hands_over_nothing(handed: list[Piece]) -> None:
    driver = Told(stop_at_end=True)
    assert watched(driver, Piece(1, lambda: driver.ticks > 60)) is None
    assert handed == []


def test_where_a_slot_is_missing_nothing_is_handed_over(handed: list[Piece]) -> None:
    driver = Told()
    piece = Piece(3, lambda: driver.ticks > 60)
    piece.there = 1
    assert watched(driver, piece) is None
    assert handed == []


def test_what_was_handed_over_is_taken_back_when_the_slice_is_cut(handed: list[Piece]) -> None:
    driver = Told(*[""] * 50, "paused")
    piece = Piece(3, lambda: bool(driver.cuts))

    assert watched(driver, piece) is None
    assert (driver.cuts, [one.cancelled for one in handed]) == (["paused"], [True])


def test_what_was_handed_over_is_taken_back_when_the_slice_fails(handed: list[Piece]) -> None:
    piece = Piece(3, lambda: bool(handed))
    piece.failure = "a lost JVM"

    assert watched(Told(), piece) is None
    assert [one.cancelled for one in handed] == [True]


def test_after_a_cut_nothing_is_handed_over(handed: list[Piece]) -> None:
    driver = Told("topics or partitions changed")
    assert watched(driver, Piece(3, lambda: driver.ticks > 60)) is None
    assert handed == []


def test_a_shard_that_does_not_end_with_its_slice_is_noticed(
    handed: list[Piece], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_loop, "OVERDUE_SECONDS", 0.1)
    driver = Told()

    def ends() -> bool:
        if handed:
            driver.pulse.heard(1, 4, 0.0)  # the other shard is at work on the next slice already
        return bool(driver.cuts)

    assert watched(driver, Piece(3, ends)) is None
    assert driver.cuts == ["a shard did not end with its slice"]


def test_a_stop_cuts_the_slice_and_takes_the_next_one_back(handed: list[Piece]) -> None:
    stopping = threading.Event()
    driver = Told()

    def ends() -> bool:
        if handed:
            stopping.set()
        return bool(driver.cuts)

    assert watched(driver, Piece(3, ends), stopping) is None
    assert (driver.cuts, handed[0].cancelled) == (["stopped"], True)


def test_no_source_is_asked_any_more_once_a_slice_is_cut_short(handed: list[Piece]) -> None:
    driver = Told("", "topics or partitions changed", length=60.0)
    assert watched(driver, Piece(3, lambda: driver.ticks > 4)) is None
    assert driver.leaving == [False, False, True, True, True]


def test_nor_by_a_mirror_that_is_told_to_stop(handed: list[Piece]) -> None:
    stopping, driver = threading.Event(), Told(length=60.0)
    stopping.set()
    assert watched(driver, Piece(3, lambda: driver.ticks > 1), stopping) is None
    assert driver.leaving == [True, True]


def test_whatever_is_raised_leaves_no_task_behind(handed: list[Piece]) -> None:
    driver = Told()
    piece = Piece(3)

    def tick(seconds: float, *, leaving: bool = False) -> str:
        if handed:
            raise RuntimeError("superseded, say")
        return Told.tick(driver, seconds)

    driver.tick = tick  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        watched(driver, piece)
    assert (piece.cancelled, handed[0].cancelled) == (True, True)
