"""What a Spark task does with a shard's order.

A retriable error never leaves the task: Spark would retry a failed task at once, and the failure would end
all other tasks of its job. Instead the task destroys its clients, backs off and restarts the protocol at
step 1, for as long as it takes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from causeway.core.receipt import Outcome, Receipt, TaskError
from causeway.core.task_order import TaskOrder
from causeway.errors import (
    CausewayError,
    ConfigError,
    IntegrityError,
    PoolExhausted,
    SecretMissing,
    Superseded,
)
from causeway.kafka.carrier import carrier
from causeway.kafka.task_errors import Again, Fenced, NodeLeft, Refused, Unfit
from causeway.replication.worker.attempt import Attempt, record_inspection
from causeway.replication.worker.node_log import NodeLog
from causeway.replication.worker.reasons import Reasons
from causeway.replication.worker.slice_handover import ended
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState

RECEIPTS = pa.schema([("shard", pa.int32()), ("receipt", pa.string())])

FIRST_BACKOFF_SECONDS = 0.05
LAST_BACKOFF_SECONDS = 2.0
_frozen = 0
"""How many modules were loaded at the last `gc.freeze`."""

SECRET_SECONDS = 5.0
"""Grace period before a missing secret is reported; the other shards continue meanwhile."""


def serve_orders(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow`: an order in, a receipt out."""
    for batch in batches:
        for row in batch.to_pylist():
            order = TaskOrder.from_json(row["order"])
            warm_up(order)
            yield receipt_row(serve_order(order))


def receipt_row(receipt: Receipt) -> pa.RecordBatch:
    """Encode a receipt as one row.

    Arrow converts Python values with the help of pandas, and loads it for that: half a second on a busy
    machine at the end of a worker's first slice, while records wait for the next one, and 50 MB for as long
    as the worker lives. So the columns are built from bytes.
    """
    text = receipt.to_json().encode()
    columns = (
        (pa.int32(), [struct.pack("=i", receipt.shard)]),
        (pa.string(), [struct.pack("=ii", 0, len(text)), text]),
    )
    made = [pa.Array.from_buffers(kind, 1, [None, *map(pa.py_buffer, data)]) for kind, data in columns]
    return pa.RecordBatch.from_arrays(made, schema=RECEIPTS)


def warm_up(order: TaskOrder) -> None:
    """Load the carrier, and exclude everything loaded so far from garbage collection.

    Spark has its workers collect garbage between two tasks, while records wait. Scanning every module then
    takes 200 ms for nothing: modules live as long as the worker. What a slice leaves is still collected.
    """
    global _frozen
    with contextlib.suppress(ConfigError):
        carrier(order.produce.carrier, record_inspection(order))
    if len(sys.modules) > _frozen:
        _frozen = len(sys.modules)
        gc.collect()
        gc.freeze()


def serve_order(order: TaskOrder, pause: Callable[[float], None] = time.sleep) -> Receipt:
    """Serve an order to its end, however many attempts it takes."""
    task = TaskState()
    nodes = SourceNodes(order, NodeLog(order.shard, task))
    try:
        return _serve_attempts(order, task, nodes, pause)
    finally:
        nodes.close()


def _serve_attempts(
    order: TaskOrder, task: TaskState, nodes: SourceNodes, pause: Callable[[float], None]
) -> Receipt:
    reasons = Reasons(order, task)
    parent = os.getppid()
    ends_at = None if order.tail is None else task.began + order.tail
    backoff = FIRST_BACKOFF_SECONDS
    patience = min(SECRET_SECONDS, order.tail or SECRET_SECONDS)
    missed_at: float | None = None  # since when a secret is missing
    while True:
        records = task.records
        try:
            return _receipt(order, task, _serve(Attempt(order, task, nodes, ends_at), order))
        except Fenced as error:
            return _receipt(order, task, "fenced", str(error))
        except Superseded as error:
            return _receipt(order, task, "superseded", str(error))
        except SecretMissing as error:
            # Without the secret there is no client, so no event either: only the receipt can report it.
            now = time.monotonic()
            missed_at = now if missed_at is None else missed_at
            if now - missed_at > patience:
                return _receipt(order, task, "unready", str(error))
            pause(FIRST_BACKOFF_SECONDS)
        except (IntegrityError, ConfigError, PoolExhausted) as error:
            return _receipt(order, task, "broken", error=TaskError.of(error))
        except NodeLeft as left:
            task.restarts += 1
            task.forget_logs()
            task.add_event("warning", str(left))
            reasons.failed(str(left))
        except Exception as error:  # noqa: BLE001 - a failed task ends the other tasks of its job
            if os.getppid() != parent:
                # Its executor is dead. Fencing again would disturb the task that serves the shard now.
                return _receipt(order, task, "superseded", "the executor that started this task is dead")
            task.restarts += 1
            task.single |= isinstance(error, Refused)
            known = isinstance(error, (Again, CausewayError))
            why = str(error) if known else repr(error)
            task.add_event("warning", f"starting again: {why}")
            reasons.failed(why)
            task.fruitless = 0 if task.records > records else task.fruitless + 1
            if not task.fruitless:
                task.unexplained = ("", 0)  # it counts attempts in a row
            if not known:
                task.count_unexplained_failure(type(error).__name__)
            decided = isinstance(error, Unfit) and task.count_failure(error.failure)
            if decided or not task.fruitless:
                backoff = FIRST_BACKOFF_SECONDS
            pause(backoff)
            backoff = min(LAST_BACKOFF_SECONDS, backoff * 2)


def _serve(attempt: Attempt, order: TaskOrder) -> Outcome:
    """Run an attempt and close its clients; if the slice ended by its time, without delaying the next one."""
    closing = attempt.close
    try:
        outcome = attempt.run()
        if outcome == "done" and order.tail is not None:
            ended(order)
            # Nothing is in flight in them any more but the source's group, which the next slice advances too.
            closing = threading.Thread(target=attempt.close, name="closing", daemon=True).start
        return outcome
    finally:
        closing()


def _receipt(
    order: TaskOrder,
    task: TaskState,
    outcome: Outcome,
    why: str | None = None,
    error: TaskError | None = None,
) -> Receipt:
    return Receipt(
        shard=order.shard,
        outcome=outcome,
        records=task.records,
        bytes=task.bytes,
        transactions=task.transactions,
        restarts=task.restarts,
        stopped=len(task.stopped),
        why=why,
        error=error,
    )
