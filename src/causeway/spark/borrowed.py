"""Runs jobs in a Spark session of the user's: it is neither changed nor stopped.

Jobs run in a child session, which shares the SparkContext and has SQL settings of its own. Job group and
description are set in threads of ours, so jobs of the user's threads keep theirs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

import pyarrow as pa
from py4j.clientserver import ClientServer
from pyspark import SparkContext
from pyspark.sql import SparkSession

from causeway.core.plural import counted, is_are
from causeway.errors import SetupError, UsageError
from causeway.spark.executor import SparkExecutor, SparkJob
from causeway.spark.session import GONE, slots_of
from causeway.version import __version__

SQL_SETTINGS = {
    "spark.sql.leafNodeDefaultParallelism": "100000",  # one task for each row
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
}
PROBE_SECONDS = 120.0
"""How long the first task may wait for a free slot and for its Python worker."""
WATCH_SECONDS = 0.2

_lock = threading.Lock()
_reserved: WeakKeyDictionary[SparkContext, int] = WeakKeyDictionary()
"""Slots that runs and comparisons of this process occupy, by application."""


def check_session(spark: object) -> SparkSession:
    """The session, if jobs can run in it. Raises TypeError or UsageError with the reason if not."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UsageError(
            "a Spark Connect session cannot run mirrors: their tasks need a SparkContext",
            todo="run inside the Spark application, or leave `spark` out",
        )
    if not isinstance(spark, SparkSession):
        raise TypeError(f"spark must be a SparkSession, not {type(spark).__name__}")
    if not _runs(spark):
        raise UsageError("the Spark session has been stopped", todo="pass one that runs")
    if not isinstance(SparkContext._gateway, ClientServer):
        # Job groups would not stay in our threads: cancelling a slice could cancel the user's jobs.
        raise UsageError(
            "PYSPARK_PIN_THREAD is false in this process", todo="create the session without that variable"
        )
    return spark


def free_slots(spark: SparkSession) -> int:
    """Slots of the application that no other run or comparison of this process occupies.

    With dynamic allocation these are the slots that it may get.
    """
    with _lock:
        return _free(spark)


def _free(spark: SparkSession) -> int:
    context = spark.sparkContext
    return max(slots_of(spark), _allocatable(context)) - _reserved.get(context, 0)


def too_few(spark: SparkSession, needed: int, free: int) -> SetupError:
    return SetupError(
        f"{counted(needed, 'slot')} {is_are(needed)} needed at the same time, the Spark session has"
        f" {max(0, free)} free",
        where=str(spark.sparkContext.master),
        why="a running mirror occupies a slot for each shard",
        todo="lower `shards` of the mirrors, or create the session with more cores",
    )


class BorrowedExecutor(SparkExecutor):
    """`stop` ends nothing but the reservation of the slots."""

    def __init__(self, spark: SparkSession, slots: int) -> None:
        """Reserve slots; raises SetupError if the application has too few."""
        self._context = spark.sparkContext
        self._slots = slots
        with _lock:
            free = _free(spark)
            if free < slots:
                raise too_few(spark, slots, free)
            _reserved[self._context] = _reserved.get(self._context, 0) + slots
        try:
            child = spark.newSession()
            for name, value in SQL_SETTINGS.items():
                child.conf.set(name, value)
        except BaseException:
            self.stop()
            raise
        super().__init__(child)

    def probe(self, stopping: threading.Event) -> None:
        """Run one small task: its Python worker must have this Causeway. Raises SetupError if it has not.

        Otherwise every slice would fail, again and again.
        """
        job = self.submit(_own_version, pa.table({"row": [1]}), "version string", PROBE_GROUP, PROBE_GROUP)
        deadline = time.monotonic() + PROBE_SECONDS
        while not job.wait(WATCH_SECONDS):
            if stopping.is_set():
                job.cancel()
                return
            if time.monotonic() > deadline:
                job.cancel()
                raise SetupError(
                    f"no task could start in the Spark session within {PROBE_SECONDS:.0f} s",
                    where=str(self._context.master),
                    todo="free a slot: other jobs of the session may occupy all of them",
                )
        _judge(job)

    def stop(self) -> None:
        with _lock:
            _reserved[self._context] -= self._slots
            self._slots = 0


PROBE_GROUP = "causeway.probe"


def _own_version(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: what the tasks need can be imported."""
    import causeway.kafka.clients  # noqa: F401

    for _ in batches:
        yield pa.RecordBatch.from_pylist([{"version": __version__}])


def _judge(job: SparkJob) -> None:
    found = job.rows[0]["version"] if job.rows else ""
    if job.failure or found != __version__:
        raise SetupError(
            "the Python workers of the Spark session cannot run Causeway",
            why=job.failure or f"they have version {found}, this process has {__version__}",
            todo="install the same kafka-causeway where the workers' Python finds it; PYSPARK_PYTHON chooses"
            f" that Python when the session is created (this process runs {sys.executable})",
        )


def _runs(spark: SparkSession) -> bool:
    try:
        return not spark.sparkContext._jsc.sc().isStopped()
    except GONE:
        return False


def _allocatable(context: SparkContext) -> int:
    """Slots that dynamic allocation may give to the application; 0 if it is off."""
    conf = context.getConf()
    if str(conf.get("spark.dynamicAllocation.enabled", "false")).lower() != "true":
        return 0
    most = str(conf.get("spark.dynamicAllocation.maxExecutors", "infinity"))
    cores = int(str(conf.get("spark.executor.cores", "1"))) // int(str(conf.get("spark.task.cpus", "1")))
    return max(1, cores) * (int(most) if most.isdigit() else 10_000)
