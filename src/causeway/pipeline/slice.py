"""A slice: one Spark job of the direct lane. Orders in, receipts out.

orders (DataFrame, a row for each shard) ──► relay (mapInArrow, a task for each row) ──► receipts
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from causeway.model.order import Order
from causeway.model.receipt import Receipt
from causeway.pipeline.relay import ORDERS, RECEIPTS_DDL, relay
from causeway.pipeline.session import GONE, first_line, keep_scratch, slots_of


class Slice:
    """A running slice. `receipts` is set when it ended well, `failure` when Spark gave up on it."""

    def __init__(self, spark: SparkSession, orders: Sequence[Order], description: str) -> None:
        self._spark = spark
        # Tasks get slots in this order, in which their shards leave them; only where executors were lost and
        # slots are missing each shard has its turn.
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
            # Before the group is set: that belongs to the thread in the JVM, which a failed call may end.
            keep_scratch(self._spark)
            self._spark.sparkContext.setJobGroup(self._group, self._description)
            table = pa.table(
                {
                    "shard": pa.array([order.shard for order in self._orders], pa.int32()),
                    "order": [order.to_json() for order in self._orders],
                },
                schema=ORDERS,
            )
            rows = self._spark.createDataFrame(table).mapInArrow(relay, RECEIPTS_DDL).collect()
            self.receipts = [Receipt.from_json(row["receipt"]) for row in rows]
        except Exception as error:  # noqa: BLE001 - cancelled, a dead worker, a lost JVM: the next slice decides
            self.failure = self.failure or first_line(error)  # who cancelled it has said why
        finally:
            self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for so long."""
        return self._ended.wait(seconds)

    def ended_tasks(self) -> int:
        """How many shards have ended, while the others may go on; 0 where Spark does not answer."""
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
        """How many shards Spark can serve at once, now."""
        return slots_of(self._spark)

    def cancel(self, why: str = "it was cancelled") -> None:
        """Kill the tasks. Their workers may live on for seconds: fence afterwards.

        It has failed from here: nobody may take a slice without receipts for one that had nothing to do.
        """
        if not self._ended.is_set():
            self.failure = why
        with contextlib.suppress(*GONE):
            self._spark.sparkContext.cancelJobGroup(self._group)
