"""The tests' executor: what `causeway.spark.executor` does with Spark, in processes without a JVM.

One task for each row, `slots` of them at once; the others wait for a slot in the order of their submission.
A task that fails, or whose worker dies, is tried again, up to a hundred times, as Spark does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import signal
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from causeway.config import SparkSettings
from causeway.core.executor import ArrowTask
from support.worker_server import Ended, WorkerCounter, WorkerServer, send_task

TASK_FAILURES = 100
_numbers = itertools.count()


class ProcessCounter:
    """A counter in the driver; a task gets a `WorkerCounter` of the same number."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.value = 0

    def add(self, term: int) -> None:
        self.value += term

    def __reduce__(self) -> tuple[type[WorkerCounter], tuple[int]]:
        return WorkerCounter, (self.number,)


class Worker(NamedTuple):
    pid: int
    connection: Connection


class RowTask(NamedTuple):
    job: ProcessJob
    row: int


class ProcessExecutor:
    def __init__(self, server: WorkerServer, slots: int) -> None:
        self._server = server
        self._slots = slots
        self._stopped = False
        self._starting = threading.Lock()  # a worker is started, or the executor stops
        self._waiting: queue.SimpleQueue[RowTask | None] = queue.SimpleQueue()
        self._counters: dict[int, ProcessCounter] = {}
        self._threads = [threading.Thread(target=self._serve_slot, daemon=True) for _ in range(slots)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: ArrowTask, table: pa.Table, ddl: str, group: str, description: str) -> ProcessJob:
        job = ProcessJob(task, table, ddl)
        for index in range(table.num_rows):
            self._waiting.put(RowTask(job, index))
        return job

    def counter(self) -> ProcessCounter:
        counter = ProcessCounter()
        self._counters[counter.number] = counter
        return counter

    def slots(self) -> int:
        return self._slots if not self._stopped and self._server.alive() else 0

    def alive(self, stopping: threading.Event) -> bool:
        return not self._stopped and self._server.alive()

    def stop(self) -> None:
        with self._starting:  # every worker has started by now, or never will
            self._stopped = True
        for _ in self._threads:
            self._waiting.put(None)
        self._server.end_workers()  # so every slot's thread returns
        for thread in self._threads:
            thread.join()

    def _serve_slot(self) -> None:
        """Run one task at a time, in a worker that lives until it dies or its task is cancelled."""
        worker: Worker | None = None
        while (task := self._waiting.get()) is not None:
            ended = Ended(failure="no attempt")
            for _ in range(TASK_FAILURES):
                if task.job.over:
                    break
                try:
                    worker = worker or self._start_worker()
                except OSError as error:
                    ended = Ended(failure=str(error))
                    break
                ended, worker = task.job.attempt(task.row, worker)
                if not ended.failure:
                    break
            for number, term in ended.counted.items():
                self._counters[number].add(term)
            task.job.task_ended(task.row, ended)
        if worker is not None:
            worker.connection.close()

    def _start_worker(self) -> Worker:
        with self._starting:
            if self._stopped:
                raise OSError("the executor has stopped")
            return Worker(*self._server.worker())


class ProcessJob:
    def __init__(self, task: ArrowTask, table: pa.Table, ddl: str) -> None:
        self._task, self._table = task, table
        self._columns = [column.split()[0] for column in ddl.split(",")]
        self.rows: Sequence[Mapping[str, Any]] = []
        self.failure = ""
        self._results: dict[int, list[dict[str, Any]]] = {}
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        if not table.num_rows:
            self._ended.set()

    @property
    def over(self) -> bool:
        return bool(self.failure)

    def wait(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def ended_tasks(self) -> int:
        return len(self._results)

    def cancel(self, why: str = "it was cancelled") -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._fail(why)

    def attempt(self, index: int, worker: Worker) -> tuple[Ended, Worker | None]:
        """Run a task once: how it ended, and the worker if it lives."""
        with self._lock:
            if self.over:
                return Ended(failure=self.failure), worker
            self._running.add(worker.pid)
        try:
            send_task(worker.connection, self._task, self._table.slice(index, 1))
            ended: Ended = worker.connection.recv()
        except (EOFError, OSError):
            worker.connection.close()
            return Ended(failure=f"the worker process {worker.pid} has died"), None
        finally:
            with self._lock:
                self._running.discard(worker.pid)
        wrong = [list(row) for row in ended.rows if list(row) != self._columns]
        return (Ended(failure=f"columns {wrong[0]} instead of {self._columns}") if wrong else ended), worker

    def task_ended(self, index: int, ended: Ended) -> None:
        with self._lock:
            if self.over:
                return
            if ended.failure:
                self._fail(f"task {index} failed: {ended.failure}")
                return
            self._results[index] = ended.rows
            if len(self._results) == self._table.num_rows:
                self.rows = [row for index in range(self._table.num_rows) for row in self._results[index]]
                self._ended.set()

    def _fail(self, why: str) -> None:
        self.failure = why
        for pid in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._ended.set()


class NoSpark:
    """What takes the place of `causeway.spark.executor.start` in a process."""

    def __init__(self, server: WorkerServer) -> None:
        self._server = server

    def __call__(
        self,
        settings: SparkSettings,
        slots: int,
        app: str,
        log_file: Path | None = None,
        *,
        needed: int = 1,
        stopping: threading.Event | None = None,
    ) -> ProcessExecutor:
        from causeway.spark.session import log_directory

        assert settings.master == "local", "a test about a Spark cluster must ask for Spark"
        log = log_file or log_directory(settings) / f"spark-{os.getpid()}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self._server.output_into(str(log))
        return ProcessExecutor(self._server, slots)
