"""A slice is one Spark job. Orders in, receipts out.

orders (DataFrame, a row for each shard) ──► task (mapInArrow, one for each row) ──► receipts
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from causeway.core.receipt import Receipt
from causeway.core.task_order import TaskOrder
from causeway.spark.session import GONE, first_line, keep_scratch, slots_of

ORDERS = pa.schema([("shard", pa.int32()), ("order", pa.string())])
RECEIPTS_DDL = "shard int, receipt string"

ArrowTask = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The function that a Spark task applies to its rows."""


class Slice:
    """A running slice. `receipts` is set when it succeeded, `failure` when it failed or was cancelled."""

    def __init__(
        self, spark: SparkSession, task: ArrowTask, orders: Sequence[TaskOrder], description: str
    ) -> None:
        self._spark = spark
        self._task = task
        # Tasks get slots in this order, which is the order in which the shards leave them. Only if executors
        # were lost and slots are missing, the order rotates, so that each shard gets its turn.
        first = orders[0].slice % len(orders) if slots_of(spark) < len(orders) else 0
        self._orders = (*orders[first:], *orders[:first])
        self.number = orders[0].slice
        self.shards = tuple(order.shard for order in orders)
        self._group = f"causeway.{orders[0].mirror}.{orders[0].lease}.{orders[0].slice}"
        self._description = description
        self.receipts: list[Receipt] = []
        self.failure = ""
        self._ended = threading.Event()
        self._thread = InheritableThread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            # Before the job group is set: it belongs to the JVM thread, which a failed call may end.
            keep_scratch(self._spark)
            self._spark.sparkContext.setJobGroup(self._group, self._description)
            table = pa.table(
                {
                    "shard": pa.array([order.shard for order in self._orders], pa.int32()),
                    "order": [order.to_json() for order in self._orders],
                },
                schema=ORDERS,
            )
            rows = self._spark.createDataFrame(table).mapInArrow(self._task, RECEIPTS_DDL).collect()
            self.receipts = [Receipt.from_json(row["receipt"]) for row in rows]
        except Exception as error:  # noqa: BLE001 - cancelled, a dead worker, a lost JVM: the slice loop decides
            self.failure = self.failure or first_line(error)  # `cancel` has set the reason already
        finally:
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; returns whether the slice has ended."""
        return self._ended.wait(seconds)

    def ended_tasks(self) -> int:
        """How many shards have ended, while the others may still run; 0 if Spark does not respond."""
        ended = 0
        with contextlib.suppress(*GONE):
            tracker = self._spark.sparkContext.statusTracker()
            for job in tracker.getJobIdsForGroup(self._group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    facts = tracker.getStageInfo(stage)
                    ended += facts.numCompletedTasks if facts else 0
        return ended

    def slots(self) -> int:
        """How many tasks Spark can run at once now."""
        return slots_of(self._spark)

    def cancel(self, why: str = "it was cancelled") -> None:
        """Kill the tasks. Their workers may live on for seconds: fence afterwards.

        Mark the slice failed now: a cancelled slice without receipts must not look like an empty one.
        """
        if not self._ended.is_set():
            self.failure = why
        with contextlib.suppress(*GONE):
            self._spark.sparkContext.cancelJobGroup(self._group)
