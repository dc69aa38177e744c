"""How a Runner lives and ends, with mirrors that only pretend to run: no cluster, no Spark."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import causeway
from api.test_arguments import TEXT
from causeway.api import runner as module
from causeway.api import spark_slots
from causeway.core.progress import MirrorProgress
from causeway.core.snapshot import EventView, MirrorView, PartitionView, Snapshot, State
from support.process import eventually


class PretendedRun:
    """The surface of `replication.run.Run`; a test sets what happens."""

    fails_to_prepare: Exception | None = None
    fails_to_start: Exception | None = None
    fails: Exception | None = None
    obeys = True  # requests to pause

    def __init__(self, settings: Any, names: list[str], stop_at_end: bool, say: Any) -> None:
        self.say = say
        self.calls: list[str] = []
        self.stopping = threading.Event()
        self.opened = False
        self.delivered = 40
        self.state: State = "starting"
        made.append(self)

    def prepare(self, cores: int) -> None:
        self.calls.append("prepare")
        if self.fails_to_prepare:
            raise self.fails_to_prepare

    def start(self, open_executor: Callable[..., Any]) -> None:
        self.calls.append("start")
        if self.fails_to_start:
            raise self.fails_to_start
        self.opened = True
        self.state = "running"

    def stop(self) -> None:
        self.stopping.set()

    def wait(self, seconds: float) -> bool:
        return self.stopping.wait(min(seconds, 0.05))

    def finish(self) -> None:
        self.calls.append("finish")
        self.state = "failed" if self.fails else "stopped"
        if self.fails:
            raise self.fails

    def release(self) -> None:
        self.calls.append("release")

    def request(self, mirror: str, *, paused: bool, by: str) -> None:
        self.calls.append(f"{'pause' if paused else 'resume'} {mirror} by {by}")
        if self.obeys:
            self.state = "paused" if paused else "running"

    def progress(self) -> list[MirrorProgress]:
        return []

    def snapshot(self) -> Snapshot:
        partition = PartitionView("p", "t", 0, "t", 0, 1, 0, 5, 0, 9, 5, 0, delivered=self.delivered, bytes=4)
        mirror = MirrorView("orders", self.state, 0, ("p",), "t", "", 1, 1, (partition,), (), (), ())
        return Snapshot(0, "", "", 0, 1, (mirror,), prepared=True)


made: list[PretendedRun] = []


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[PretendedRun]]:
    made.clear()
    run = type("Run", (PretendedRun,), {})
    monkeypatch.setattr(module, "Run", run)
    monkeypatch.setattr(module, "STATUS_SECONDS", 0.01)
    before = set(threading.enumerate())
    yield run
    assert set(threading.enumerate()) <= before, "a thread is left"
    assert spark_slots._own.acquire(blocking=False), "Spark is still claimed"
    spark_slots._own.release()


def test_a_block_starts_and_stops_and_leaves_nothing() -> None:
    with causeway.Runner(TEXT) as runner:
        assert runner.running
        assert runner.status().mirrors[0].state == "running"
        made[0].delivered += 60
    assert not runner.running
    assert made[0].calls == ["prepare", "start", "finish", "release"]
    result = runner.wait()
    assert (result.records, result["orders"].state, [one.name for one in result]) == (
        60,
        "stopped",
        ["orders"],
    )
    with pytest.raises(KeyError):
        result["payments"]


def test_when_the_body_raises_its_error_comes_out_and_nothing_is_left(pretended: type[PretendedRun]) -> None:
    pretended.fails = causeway.IntegrityError("a gap")
    with pytest.raises(ZeroDivisionError) as raised, causeway.Runner(TEXT):
        _ = 1 / 0
    assert made[0].calls[-2:] == ["finish", "release"]
    assert raised.value.__notes__ == ["the mirrors ended with an error, too: a gap"]


def test_the_error_of_a_mirror_comes_out_of_the_block_once(pretended: type[PretendedRun]) -> None:
    pretended.fails = causeway.Superseded("newer")
    with pytest.raises(causeway.Superseded), causeway.Runner(TEXT):
        pass
    with pytest.raises(causeway.Superseded), causeway.Runner(TEXT) as runner:
        runner.stop()
        runner.wait()


@pytest.mark.parametrize("step", ["prepare", "start"])
def test_a_run_that_cannot_start_raises_at_the_start(pretended: type[PretendedRun], step: str) -> None:
    error = causeway.Unreachable("paris does not respond")
    setattr(pretended, f"fails_to_{step}", error)
    runner = causeway.Runner(TEXT)
    with pytest.raises(causeway.Unreachable):
        runner.start()
    assert made[0].calls[-2:] == ["finish", "release"]
    assert runner.status().mirrors[0].name == "orders"


@pytest.mark.parametrize("callback", ["on_status", "on_event"])
def test_an_exception_in_a_callback_stops_the_mirrors_and_is_raised(callback: str) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), causeway.Runner(TEXT, **{callback: fail}) as runner:  # type: ignore[arg-type]
        made[0].say("orders", EventView(0, "info", "something"))
        runner.wait(60)
    assert made[0].calls == ["prepare", "start", "finish", "release"]


def test_the_error_of_a_mirror_is_raised_before_that_of_a_callback(pretended: type[PretendedRun]) -> None:
    pretended.fails = causeway.IntegrityError("a gap")

    def fail(_: Snapshot) -> None:
        raise ZeroDivisionError("in on_status")

    with pytest.raises(causeway.IntegrityError) as raised:
        causeway.run(TEXT, on_status=fail)
    assert raised.value.__notes__ == ["then: in on_status"]


def test_on_status_sees_the_run_and_its_end() -> None:
    seen: list[tuple[State, threading.Thread]] = []

    def status(snapshot: Snapshot) -> None:
        seen.append((snapshot.mirrors[0].state, threading.current_thread()))

    with causeway.Runner(TEXT, on_status=status):
        eventually(lambda: seen, "a status")
    assert seen[0][0] == "running"
    assert seen[-1][0] == "stopped"
    assert threading.current_thread() not in {thread for _, thread in seen}


def test_ctrl_c_stops_the_blocking_form_before_it_leaves() -> None:
    sent: list[int] = []

    def interrupt(_: Snapshot) -> None:
        if not sent:
            sent.append(threading.main_thread().ident or 0)
            signal.pthread_kill(sent[0], signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    try:
        with pytest.raises(KeyboardInterrupt):
            causeway.run(TEXT, on_status=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    assert made[0].calls == ["prepare", "start", "finish", "release"]


def test_the_blocking_form_runs_in_any_thread() -> None:
    results: list[causeway.RunResult] = []
    thread = threading.Thread(target=lambda: results.append(causeway.run(TEXT, stop_at_end=True)))
    thread.start()
    eventually(lambda: made and made[0].opened, "the start")
    made[0].stop()
    thread.join(60)
    assert results[0]["orders"].state == "stopped"


def test_a_second_run_with_a_spark_of_its_own_is_refused_before_it_begins() -> None:
    with (
        causeway.Runner(TEXT),
        pytest.raises(causeway.UsageError, match="in a Spark of Causeway's already"),
    ):
        causeway.run(TEXT)
    assert made[1].calls == []
    with causeway.Runner(TEXT):
        pass  # the first one has ended


def test_a_session_that_exists_must_be_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.spark.executor.in_use", lambda: True)
    with pytest.raises(causeway.UsageError, match="has a Spark session already") as raised:
        causeway.run(TEXT)
    assert raised.value.todo == "pass it: spark=session"
    assert made[0].calls == []


def test_a_runner_runs_once() -> None:
    with causeway.Runner(TEXT) as runner, pytest.raises(causeway.UsageError, match="started before"):
        runner.start()


def test_wait_has_a_timeout_and_does_not_wait_for_itself() -> None:
    said: list[str] = []

    def wait(_: Snapshot) -> None:
        try:
            runner.wait()
        except causeway.UsageError as error:
            said.append(error.what)

    runner = causeway.Runner(TEXT, on_status=wait)
    with runner:
        with pytest.raises(TimeoutError):
            runner.wait(0)
        eventually(lambda: said, "a status")
    assert "would wait for itself" in said[0]


def test_pause_and_resume_return_when_they_took_effect(pretended: type[PretendedRun]) -> None:
    with causeway.Runner(TEXT) as runner:
        runner.pause("orders", by="ann")
        assert runner.status().mirrors[0].state == "paused"
        runner.resume(by="ann")
        assert runner.status().mirrors[0].state == "running"
        assert made[0].calls[2:] == ["pause orders by ann", "resume orders by ann"]
        pretended.obeys = False
        runner.pause(timeout=0)
        with pytest.raises(causeway.Unreachable, match="requested to pause, and has not yet"):
            runner.pause(timeout=0.01)
    with pytest.raises(causeway.UsageError, match="the mirrors do not run"):
        runner.pause()


def test_events_go_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "causeway")
    with causeway.Runner(TEXT):
        made[0].say("orders", EventView(0, "warning", "waiting for paris", todo="look at it"))
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("WARNING", "orders: waiting for paris; look at it")
    ]


def test_a_result_counts_what_this_run_did() -> None:
    first = PretendedRun(None, [], False, None).snapshot()
    (mirror,) = first.mirrors
    (partition,) = mirror.partitions
    stopped = replace(partition, partition=1, delivered=7, skipped=2, verdict="gap", lag_records=3)
    moved = replace(partition, delivered=45, bytes=10, filtered=1, quarantined=2)
    last = replace(first, mirrors=(replace(mirror, partitions=(moved, stopped), state="done"),))
    from causeway.core.run_result import result_of

    result = result_of(first, last, 99)
    (done,) = result.mirrors
    assert (done.records, done.bytes, done.filtered, done.quarantined, done.skipped) == (12, 10, 1, 2, 2)
    assert (result.stopped, done.lag_records, result.ended_at) == ((stopped,), 3, 99)
