"""Runs a function on each row of a table as a Spark job: table ──► mapInArrow(task) ──► rows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import InheritableThread, SparkContext
from pyspark.serializers import ChunkedStream
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.conversion import SparkConversionMixin
from pyspark.util import local_connect_and_auth

from causeway.config import SparkSettings
from causeway.core.executor import ArrowTask, Counter, Executor
from causeway.spark import session
from causeway.spark.session import GONE, first_line, keep_scratch, slots_of


def start(
    settings: SparkSettings,
    slots: int,
    app: str,
    log_file: Path | None = None,
    *,
    needed: int = 1,
    stopping: threading.Event | None = None,
) -> Executor:
    """Start Spark with `slots` concurrent tasks; raises SetupError if fewer than `needed` register."""
    try:
        spark = session.start(settings, slots, app, log_file, needed=needed, stopping=stopping)
    except BaseException:
        session.end()
        raise
    return SparkExecutor(spark)


def in_use() -> bool:
    """Whether this process has a running Spark application, ours or the user's."""
    return SparkContext._active_spark_context is not None


class SparkExecutor:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def submit(self, task: ArrowTask, table: pa.Table, ddl: str, group: str, description: str) -> SparkJob:
        return SparkJob(self._spark, task, table, ddl, group, description)

    def counter(self) -> Counter:
        return self._spark.sparkContext.accumulator(0)

    def slots(self) -> int:
        return slots_of(self._spark)

    def alive(self, stopping: threading.Event) -> bool:
        return session.alive(self._spark, stopping)

    def stop(self) -> None:
        session.stop(self._spark)
        session.end()


class SparkJob:
    def __init__(
        self, spark: SparkSession, task: ArrowTask, table: pa.Table, ddl: str, group: str, description: str
    ) -> None:
        self._spark, self._task, self._table, self._ddl = spark, task, table, ddl
        self._group, self._description = group, description
        self.rows: Sequence[Mapping[str, Any]] = []
        self.failure = ""
        self._ended = threading.Event()
        InheritableThread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            # Before the job group is set: it belongs to the JVM thread, which a failed call may end.
            keep_scratch(self._spark)
            self._spark.sparkContext.setJobGroup(self._group, self._description)
            made = _data_frame(self._spark, self._table).mapInArrow(self._task, self._ddl)
            self.rows = [row.asDict() for row in made.collect()]
        except Exception as error:  # noqa: BLE001 - cancelled, a dead worker, a lost JVM: the caller decides
            self.failure = self.failure or first_line(error)  # `cancel` has set the reason already
        finally:
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def ended_tasks(self) -> int:
        ended = 0
        with contextlib.suppress(*GONE):
            tracker = self._spark.sparkContext.statusTracker()
            for job in tracker.getJobIdsForGroup(self._group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    facts = tracker.getStageInfo(stage)
                    ended += facts.numCompletedTasks if facts else 0
        return ended

    def cancel(self, why: str = "it was cancelled") -> None:
        """Mark the job failed now: a cancelled one without rows must not look like one that had nothing."""
        if not self._ended.is_set():
            self.failure = why
        with contextlib.suppress(*GONE):
            self._spark.sparkContext.cancelJobGroup(self._group)


def _data_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The table as a DataFrame of this session, which becomes the active one in this thread's JVM thread.

    `SparkSession.createDataFrame` would make it the active one of the whole process: a user's code that asks
    for the active session must get its own.
    """
    assert spark._jvm is not None
    sessions = getattr(spark._jvm, "org.apache.spark.sql.classic.SparkSession")
    sessions.setActiveSession(spark._jsparkSession)
    made = SparkConversionMixin.createDataFrame(_without_files(spark), table)
    return DataFrame(made._jdf, spark)


def _without_files(spark: SparkSession) -> SparkSession:
    """The same session, for which PySpark passes tables through a socket, as in encrypted applications.

    It would pass them in a temporary file, which a process that is killed leaves behind, and a secret that
    was written into the configuration itself is in its task orders.
    """
    context = object.__new__(SparkContext)
    vars(context).update(vars(spark.sparkContext), _serialize_to_jvm=_through_socket)
    session = object.__new__(SparkSession)
    vars(session).update(vars(spark), _sc=context)
    return session


def _through_socket(table: Any, serializer: Any, _through_file: Any, make_server: Any) -> Any:
    """PySpark's own function leaves the socket open, of which Python warns in the user's program."""
    server = make_server()
    stream, connection = local_connect_and_auth(server.connInfo(), server.secret())
    with contextlib.closing(connection):
        chunks: Any = ChunkedStream(stream, 8192)  # type: ignore[no-untyped-call]
        serializer.dump_stream(table, chunks)
        chunks.close()  # it closes the stream
        return server.getResult()
