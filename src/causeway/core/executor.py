"""What replication and verification need of Spark: run a function on each row of a table, in parallel.

`spark/executor.py` implements it. The tests have an implementation without a JVM for what is not about Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

ArrowTask = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function that a task applies to its row."""


class Counter(Protocol):
    """Counts what tasks have done. The driver sees what a task adds once that task has ended."""

    @property
    def value(self) -> int: ...

    def add(self, term: int) -> None: ...


class SubmittedJob(Protocol):
    """A running job. Once it has ended, it has `rows`, or a `failure` if it failed or was cancelled."""

    rows: Sequence[Mapping[str, Any]]
    failure: str

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether the job has ended."""

    def ended_tasks(self) -> int:
        """How many tasks have ended, while others may still run; 0 if that is unknown."""

    def cancel(self, why: str = "it was cancelled") -> None:
        """Kill the tasks. Their processes may live on for seconds: fence afterwards."""


class Executor(Protocol):
    def submit(
        self, task: ArrowTask, table: pa.Table, ddl: str, group: str, description: str
    ) -> SubmittedJob:
        """Start a task for each row of the table. `ddl` is the schema of what the tasks return."""

    def counter(self) -> Counter: ...

    def slots(self) -> int:
        """How many tasks can run at once now."""

    def alive(self, stopping: threading.Event) -> bool:
        """Whether it can run another job."""

    def stop(self) -> None: ...
