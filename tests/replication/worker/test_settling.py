"""What Spark's workers collect between two slices, while records wait."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, sys
from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits, SliceId, TaskOrder
from causeway.replication.worker.task import warm_up
limits = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)
there = Cluster("x", {})
order = TaskOrder(SliceId("m", 7, 1, 1), 1, (), 1.0, {}, there, "l", limits)
warm_up(order)
print("numba" in sys.modules, gc.get_freeze_count() > 50_000, len(gc.get_objects()) < 1_000)
before = gc.get_freeze_count()
class Left: pass
cycle = Left(); cycle.itself = cycle; del cycle
warm_up(order)
print(gc.get_freeze_count() <= before, gc.collect() > 0)
"""


def test_loaded_modules_are_frozen_and_garbage_is_collected() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True True True", "True True"]


RECEIPT = """
import sys
from causeway.core.receipt import Receipt, TaskError
from causeway.replication.worker.task import RECEIPTS, receipt_row
receipt = Receipt(3, "broken", 1 << 40, error=TaskError("integrity", '"café" ' * 1_000))
row = receipt_row(receipt)
row.validate(full=True)
(entry,) = row.to_pylist()
print("pandas" in sys.modules, row.schema == RECEIPTS, entry == {"shard": 3, "receipt": receipt.to_json()})
"""


def test_a_receipt_is_written_without_loading_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", RECEIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
