"""A slice is one job of the executor: task orders in, receipts out, a task for each shard."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from causeway.core.executor import Executor
from causeway.core.receipt import Receipt
from causeway.core.task_order import TaskOrder
from causeway.replication.worker.task import serve_orders

ORDERS = pa.schema([("shard", pa.int32()), ("order", pa.string())])
RECEIPTS_DDL = "shard int, receipt string"


class Slice:
    """A running slice. `receipts` is complete when it succeeded, `failure` says why it did not."""

    def __init__(self, executor: Executor, orders: Sequence[TaskOrder], description: str) -> None:
        of = orders[0].slice
        # Tasks get slots in this order, which is the order in which the shards leave them. Only if executors
        # were lost and slots are missing, the order rotates, so that each shard gets its turn.
        first = of.number % len(orders) if executor.slots() < len(orders) else 0
        rotated = (*orders[first:], *orders[:first])
        self.number = of.number
        self.shards = tuple(order.shard for order in orders)
        table = pa.table(
            {
                "shard": pa.array([order.shard for order in rotated], pa.int32()),
                "order": [order.to_json() for order in rotated],
            },
            schema=ORDERS,
        )
        group = f"causeway.{of.mirror}.{of.lease}.{of.number}"
        self._executor = executor
        self._job = executor.submit(serve_orders, table, RECEIPTS_DDL, group, description)
        self.wait = self._job.wait
        self.ended_tasks = self._job.ended_tasks
        self.cancel = self._job.cancel

    @property
    def receipts(self) -> list[Receipt]:
        return [Receipt.from_json(row["receipt"]) for row in self._job.rows]

    @property
    def failure(self) -> str:
        return self._job.failure

    def slots(self) -> int:
        """How many tasks can run at once now."""
        return self._executor.slots()
