"""When a slice is submitted to Spark, cut short, or withdrawn. Spark and Kafka are replaced by fakes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from causeway.core.executor import Executor
from causeway.core.receipt import Receipt, TaskError
from causeway.errors import PlanRefused, PoolExhausted
from causeway.replication import slice_loop
from causeway.replication.cut_reason import CutCause, CutReason
from causeway.replication.driver import Driver
from causeway.replication.liveness import Liveness
from causeway.replication.slice_job import Slice

NO_SPARK = cast(Executor, None)


class FakeSlice:
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


class FakeDriver:
    """A driver that checks nothing; `causes` is what its ticks return, one after the other."""

    def __init__(self, *causes: CutCause | None, length: float = 0.4, stop_at_end: bool = False) -> None:
        self.liveness = Liveness()
        self.mirror = type("Mirror", (), {"slice": length})()
        self.stop_at_end = stop_at_end
        self.cuts: list[CutReason] = []
        self.reported: list[str] = []
        self.ticks = 0
        self.leaving: list[bool] = []
        self._reasons = [cause and CutReason(cause, f"because {cause.name}") for cause in causes]

    def tick(self, seconds: float, *, leaving: bool = False) -> CutReason | None:
        self.ticks += 1
        self.leaving.append(leaving)
        threading.Event().wait(0.01)
        return self._reasons.pop(0) if self._reasons else None

    def cut(self, reason: CutReason) -> None:
        self.cuts.append(reason)

    def report(self, level: str, what: str) -> None:
        self.reported.append(what)

    @property
    def causes(self) -> list[CutCause]:
        return [reason.cause for reason in self.cuts]


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[FakeSlice]:
    """What was submitted early."""
    made: list[FakeSlice] = []

    def submit(driver: Driver, executor: Executor, after: int = 0) -> Slice:
        made.append(FakeSlice(after + 1))
        return cast(Slice, made[-1])

    monkeypatch.setattr(slice_loop, "_submit", submit)
    return made


def watched(driver: FakeDriver, piece: FakeSlice, stopping: threading.Event | None = None) -> Slice | None:
    for shard in piece.shards:
        driver.liveness.on_heartbeat(shard, piece.number, 0.0)
    return slice_loop.watch(cast(Driver, driver), cast(Slice, piece), NO_SPARK, stopping or threading.Event())


def test_the_next_slice_is_submitted_once_before_this_one_ends(submitted: list[FakeSlice]) -> None:
    ends_after = 20
    driver = FakeDriver()
    piece = FakeSlice(3, lambda: bool(submitted) and driver.ticks > ends_after)

    assert watched(driver, piece) is cast(Any, submitted[0])
    assert [each.number for each in submitted] == [4]
    assert not submitted[0].cancelled
    assert driver.cuts == []


def test_nothing_is_submitted_before_all_shards_have_begun(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver()
    driver.liveness.on_heartbeat(1, 3, 0.0)
    piece = FakeSlice(3, lambda: driver.ticks > 60)
    assert slice_loop.watch(cast(Driver, driver), cast(Slice, piece), NO_SPARK, threading.Event()) is None
    assert submitted == []


def test_a_bounded_run_submits_no_next_slice(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver(stop_at_end=True)
    assert watched(driver, FakeSlice(1, lambda: driver.ticks > 60)) is None
    assert submitted == []


def test_without_a_free_slot_nothing_is_submitted(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver()
    piece = FakeSlice(3, lambda: driver.ticks > 60)
    piece.there = 1
    assert watched(driver, piece) is None
    assert submitted == []


def test_the_submitted_slice_is_withdrawn_when_this_one_is_cut(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver(*[None] * 50, CutCause.PAUSED)
    piece = FakeSlice(3, lambda: bool(driver.cuts))

    assert watched(driver, piece) is None
    assert (driver.causes, [each.cancelled for each in submitted]) == ([CutCause.PAUSED], [True])


def test_the_submitted_slice_is_withdrawn_when_this_one_fails(submitted: list[FakeSlice]) -> None:
    piece = FakeSlice(3, lambda: bool(submitted))
    piece.failure = "a lost JVM"

    assert watched(FakeDriver(), piece) is None
    assert [each.cancelled for each in submitted] == [True]


def test_after_a_cut_nothing_is_submitted(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver(CutCause.TOPICS_CHANGED)
    assert watched(driver, FakeSlice(3, lambda: driver.ticks > 60)) is None
    assert submitted == []


def test_a_shard_that_does_not_end_with_its_slice_is_detected(
    submitted: list[FakeSlice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_loop, "OVERDUE_SECONDS", 0.1)
    driver = FakeDriver()

    def ends() -> bool:
        if submitted:
            driver.liveness.on_heartbeat(1, 4, 0.0)  # the other shard already serves the next slice
        return bool(driver.cuts)

    assert watched(driver, FakeSlice(3, ends)) is None
    assert driver.causes == [CutCause.SHARD_OVERDUE]


def test_a_stop_cuts_the_slice_and_withdraws_the_next_one(submitted: list[FakeSlice]) -> None:
    stopping = threading.Event()
    driver = FakeDriver()

    def ends() -> bool:
        if submitted:
            stopping.set()
        return bool(driver.cuts)

    assert watched(driver, FakeSlice(3, ends), stopping) is None
    assert (driver.causes, submitted[0].cancelled) == ([CutCause.STOPPED], True)


def test_no_source_is_checked_once_a_slice_is_cut_short(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver(None, CutCause.TOPICS_CHANGED, length=60.0)
    assert watched(driver, FakeSlice(3, lambda: driver.ticks > 4)) is None
    assert driver.leaving == [False, False, True, True, True]


def test_no_source_is_checked_by_a_mirror_that_is_stopping(submitted: list[FakeSlice]) -> None:
    stopping, driver = threading.Event(), FakeDriver(length=60.0)
    stopping.set()
    assert watched(driver, FakeSlice(3, lambda: driver.ticks > 1), stopping) is None
    assert driver.leaving == [True, True]


def test_an_exception_leaves_no_task_running(submitted: list[FakeSlice]) -> None:
    driver = FakeDriver()
    piece = FakeSlice(3)

    def tick(seconds: float, *, leaving: bool = False) -> CutReason | None:
        if submitted:
            raise RuntimeError("superseded, say")
        return FakeDriver.tick(driver, seconds)

    driver.tick = tick  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        watched(driver, piece)
    assert (piece.cancelled, submitted[0].cancelled) == (True, True)


@pytest.mark.parametrize("slots", [1, 2])
def test_a_shard_without_heartbeats_is_reported_with_the_slots_that_are_missing(
    submitted: list[FakeSlice], slots: int
) -> None:
    driver = FakeDriver(CutCause.NO_HEARTBEAT)
    piece = FakeSlice(3, lambda: bool(driver.cuts))
    piece.there = slots
    assert watched(driver, piece) is None
    missing = " (Spark has 1 slots for 2 shards)" if slots < 2 else ""
    assert driver.reported == [f"because NO_HEARTBEAT{missing}: ordering its work again"]


def test_other_reasons_are_not_reported(submitted: list[FakeSlice]) -> None:
    """Also if their text is the same: the cause decides."""
    driver = FakeDriver()
    driver._reasons = [CutReason(CutCause.TOPICS_CHANGED, "no heartbeat from shard 1")]
    assert watched(driver, FakeSlice(3, lambda: bool(driver.cuts))) is None
    assert (driver.causes, driver.reported) == ([CutCause.TOPICS_CHANGED], [])


class Outcomes:
    """A driver that gets receipts."""

    def __init__(self) -> None:
        self.fences: list[int] = []
        self.reported: list[str] = []
        self.status = SimpleNamespace(shards=SimpleNamespace(fenced=self.fences.append))

    def report(self, level: str, what: str) -> None:
        self.reported.append(what)


def test_shards_that_were_fenced_or_could_not_begin_are_reported() -> None:
    driver = Outcomes()
    receipts = [
        Receipt(1, "done"),
        Receipt(2, "fenced", why="a newer epoch"),
        Receipt(3, "unready", why="${env:SECRET} is not set"),
    ]
    slice_loop._check(receipts, cast(Driver, driver))
    assert driver.fences == [2]
    assert driver.reported == [
        "shard 2 was fenced: a newer epoch; ordering it again",
        "shard 3 cannot begin: ${env:SECRET} is not set; ordering it again",
    ]


def test_an_exhausted_pool_ends_the_run_with_exit_code_5_and_the_history() -> None:
    history = "a → b: a is dead (no response); b → None: max_failovers = 1 is reached without a record"
    error = PoolExhausted("the nodes of the pool p were left too often", why=history, todo="start again")
    receipt = Receipt.from_json(Receipt(2, "broken", error=TaskError.of(error)).to_json())
    with pytest.raises(PoolExhausted) as caught:
        slice_loop._check([Receipt(1, "cut"), receipt], cast(Driver, Outcomes()))
    assert caught.value.exit_code == 5
    assert caught.value.lines() == [
        "error: the nodes of the pool p were left too often", f"why: {history}", "do: start again",
    ]  # fmt: skip


def test_the_error_of_a_broken_shard_is_raised_unchanged() -> None:
    error = PlanRefused("two problems", problems=("a", "b"), where="here", todo="change it", cluster="tokyo")
    with pytest.raises(PlanRefused) as caught:
        slice_loop._check([Receipt(1, "broken", error=TaskError.of(error))], cast(Driver, Outcomes()))
    assert vars(caught.value) == vars(error)
