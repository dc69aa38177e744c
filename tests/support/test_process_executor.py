"""The tests' executor keeps to what Spark does, as far as replication and verification rely on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from causeway.config import SparkSettings
from causeway.core.executor import ArrowTask, Counter
from support.process import eventually, processes
from support.process_executor import NoSpark, ProcessExecutor
from support.worker_server import WorkerServer

DDL = "row int, text string"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[int], ProcessExecutor]]:
    """One after the other: a server has one executor at a time, as a process has one Spark."""
    started: list[ProcessExecutor] = []
    server = WorkerServer()

    def run(slots: int) -> ProcessExecutor:
        started.append(NoSpark(server)(SparkSettings(), slots, "test", tmp_path / "spark.log"))
        return started[-1]

    yield run
    for executor in started:
        executor.stop()
    server.close()


def rows(count: int) -> pa.Table:
    return pa.table({"row": pa.array(range(count), pa.int32())})


def task_of(text: Callable[[int], str]) -> ArrowTask:
    """A task that returns a text for its row; a closure, as verification's is."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([{"row": row["row"], "text": text(row["row"])}])

    return task


def meet(directory: Path, count: int) -> Callable[[int], str]:
    """Return once `count` tasks run at the same time."""

    def text(row: int) -> str:
        (directory / f"here-{row}").touch()
        deadline = time.monotonic() + 30
        while len(list(directory.glob("here-*"))) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return str(os.getpid())

    return text


def test_rows_come_back_in_order_and_a_worker_gets_one_task_after_the_other(
    start: Callable[[int], ProcessExecutor],
) -> None:
    job = start(1).submit(task_of(lambda row: str(os.getpid())), rows(20), DDL, "g", "d")

    assert job.wait(30)
    assert not job.failure
    assert [row["row"] for row in job.rows] == list(range(20))
    (worker,) = {row["text"] for row in job.rows}
    assert int(worker) != os.getpid()
    assert job.ended_tasks() == 20


def test_as_many_tasks_run_at_once_as_there_are_slots(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    executor = start(3)
    assert executor.slots() == 3

    job = executor.submit(task_of(meet(tmp_path, 3)), rows(3), DDL, "g", "d")

    assert job.wait(30)
    assert len({row["text"] for row in job.rows}) == 3


def test_a_task_waits_for_a_slot_also_after_another_job(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    def until_told(row: int) -> str:
        (tmp_path / f"began-{row}").touch()
        eventually((tmp_path / f"end-{row}").exists, "told to end", 30)
        return ""

    def mark(row: int) -> str:
        (tmp_path / "second").touch()
        return ""

    executor = start(1)
    first = executor.submit(task_of(until_told), rows(1), DDL, "a", "d")
    second = executor.submit(task_of(mark), rows(1), DDL, "b", "d")

    eventually((tmp_path / "began-0").exists, "the first task runs")
    assert not second.wait(0.1)
    assert not (tmp_path / "second").exists()
    (tmp_path / "end-0").touch()
    assert first.wait(30)
    assert second.wait(30)
    assert (tmp_path / "second").exists()


def test_a_task_whose_worker_is_killed_runs_again_in_another_one(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    def killed_once(row: int) -> str:
        if not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"

    job = start(1).submit(task_of(killed_once), rows(1), DDL, "g", "d")

    assert job.wait(30)
    assert (job.failure, [row["text"] for row in job.rows]) == ("", ["alive"])


def test_a_task_that_always_fails_fails_its_job_after_a_hundred_attempts(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    def failing(row: int) -> str:
        with (tmp_path / "attempts").open("a") as file:
            file.write("x")
        raise ValueError("no")

    job = start(1).submit(task_of(failing), rows(1), DDL, "g", "d")

    assert job.wait(30)
    assert job.failure == "task 0 failed: ValueError: no"
    assert (tmp_path / "attempts").stat().st_size == 100


def test_what_a_task_returns_must_fit_the_schema(start: Callable[[int], ProcessExecutor]) -> None:
    job = start(1).submit(task_of(str), rows(1), "row int, other string", "g", "d")

    assert job.wait(30)
    assert "columns ['row', 'text'] instead of ['row', 'other']" in job.failure


def test_cancel_kills_the_tasks_and_leaves_other_jobs_alone(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    def forever(row: int) -> str:
        (tmp_path / "pid.part").write_text(str(os.getpid()))
        (tmp_path / "pid.part").rename(tmp_path / "pid")
        threading.Event().wait()
        return ""

    executor = start(1)
    job = executor.submit(task_of(forever), rows(2), DDL, "a", "d")
    other = executor.submit(task_of(str), rows(1), DDL, "b", "d")
    eventually((tmp_path / "pid").exists, "the task runs")

    job.cancel("because")

    assert job.failure == "because"
    assert job.wait(30)
    assert not job.rows
    assert other.wait(30)
    assert not other.failure
    worker = int((tmp_path / "pid").read_text())
    eventually(lambda: worker not in processes(), "the worker has died")
    job.cancel("too late")
    other.cancel("too late")
    assert (job.failure, other.failure) == ("because", "")


def test_a_counter_shows_what_ended_tasks_have_added(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    executor = start(2)
    counter = executor.counter()

    def counting(row: int, done: Counter = counter) -> str:
        done.add(row + 1)
        if row == 1:
            eventually((tmp_path / "end").exists, "told to end", 30)
        return ""

    job = executor.submit(task_of(counting), rows(2), DDL, "g", "d")
    eventually(lambda: job.ended_tasks() == 1, "the first task has ended")
    assert counter.value == 1

    (tmp_path / "end").touch()
    assert job.wait(30)
    assert counter.value == 3


def test_a_stopped_executor_has_no_processes_and_no_slots(
    start: Callable[[int], ProcessExecutor], tmp_path: Path
) -> None:
    executor = start(2)
    stopping = threading.Event()
    assert executor.alive(stopping)
    job = executor.submit(task_of(meet(tmp_path, 2)), rows(2), DDL, "g", "d")
    assert job.wait(30)

    executor.stop()

    assert {int(row["text"]) for row in job.rows}.isdisjoint(processes())
    assert (executor.slots(), executor.alive(stopping)) == (0, False)
    lost = executor.submit(task_of(str), rows(1), DDL, "g", "d")
    assert not lost.wait(0)
    another = start(2).submit(task_of(str), rows(1), DDL, "g", "d")
    assert another.wait(30)


DRIVER = """
import os, pathlib, sys, time
import pyarrow as pa
from causeway.config import SparkSettings
from support.process_executor import NoSpark
from support.worker_server import WorkerServer
directory = pathlib.Path(sys.argv[1])
executor = NoSpark(WorkerServer())(SparkSettings(), 2, "test", directory / "log")
def task(batches):
    for batch in batches:
        (directory / f"pid-{os.getpid()}").touch()
        time.sleep(1000)
        yield batch
executor.submit(task, pa.table({"row": [1, 2]}), "row int", "g", "d").wait(1000)
"""


def test_workers_die_with_their_driver(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(tests)}
    )
    eventually(lambda: len(list(tmp_path.glob("pid-*"))) == 2, "both tasks run")
    workers = {int(path.name.removeprefix("pid-")) for path in tmp_path.glob("pid-*")}
    assert workers <= processes().keys()

    driver.kill()
    driver.wait()

    eventually(lambda: workers.isdisjoint(processes()), "the workers have died")
