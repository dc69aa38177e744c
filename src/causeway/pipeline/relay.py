"""The relay: what a Spark task does with a shard's order.

A retriable error never leaves the task: a failed task would be retried at once and would take all
other tasks of its job with it. It destroys the clients, backs off and starts the protocol again at 1,
for as long as it takes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from causeway.errors import CausewayError, ConfigError, IntegrityError, SecretMissing, Superseded
from causeway.kafka.carrier import carrier
from causeway.kafka.outcome import Again, Fenced, Refused, Unfit
from causeway.model.order import Order
from causeway.model.receipt import Outcome, Receipt
from causeway.pipeline.attempt import Attempt, looks
from causeway.pipeline.handover import ended
from causeway.pipeline.memory import Memory
from causeway.pipeline.reasons import Reasons

ORDERS = pa.schema([("shard", pa.int32()), ("order", pa.string())])
RECEIPTS = pa.schema([("shard", pa.int32()), ("receipt", pa.string())])
RECEIPTS_DDL = "shard int, receipt string"

FIRST_BACKOFF_SECONDS = 0.05
LAST_BACKOFF_SECONDS = 2.0
_frozen = 0
"""How many modules there were when the collector was last told to leave them alone."""

SECRET_SECONDS = 5.0
"""So long a secret that is gone is waited for before anybody hears of it: the others go on meanwhile."""


def relay(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """mapInArrow's function: an order in, a receipt out."""
    for batch in batches:
        for row in batch.to_pylist():
            order = Order.from_json(row["order"])
            settle_in(order)
            yield written(carry(order))


def written(receipt: Receipt) -> pa.RecordBatch:
    """A receipt as a row of its own.

    Arrow converts Python's values with the help of pandas, and loads it for that: half a second on a busy
    machine at the end of a worker's first slice, while records wait for the next one, and 50 MB for ever. So
    the columns are made of bytes.
    """
    text = receipt.to_json().encode()
    columns = (
        (pa.int32(), [struct.pack("=i", receipt.shard)]),
        (pa.string(), [struct.pack("=ii", 0, len(text)), text]),
    )
    made = [pa.Array.from_buffers(kind, 1, [None, *map(pa.py_buffer, data)]) for kind, data in columns]
    return pa.RecordBatch.from_arrays(made, schema=RECEIPTS)


def settle_in(order: Order) -> None:
    """Load what carries the records, and let the garbage collector forget all that was ever loaded.

    Spark has its workers collect garbage between two tasks, while records wait. To look through every module
    takes 200 ms then, for nothing: they live as long as the worker. What a slice leaves behind stays visible.
    """
    global _frozen
    with contextlib.suppress(ConfigError):
        carrier(order.carrier, looks(order))
    if len(sys.modules) > _frozen:
        _frozen = len(sys.modules)
        gc.collect()
        gc.freeze()


def carry(order: Order, pause: Callable[[float], None] = time.sleep) -> Receipt:
    """Serve an order to its end, however many attempts it takes."""
    memory = Memory()
    reasons = Reasons(order, memory)
    parent = os.getppid()
    ends_at = None if order.tail is None else memory.began + order.tail
    backoff = FIRST_BACKOFF_SECONDS
    patience = min(SECRET_SECONDS, order.tail or SECRET_SECONDS)
    missed_at = 0.0
    while True:
        carried = memory.records
        try:
            return _receipt(order, memory, _serve(Attempt(order, memory, ends_at), order))
        except Fenced as error:
            return _receipt(order, memory, "fenced", str(error))
        except Superseded as error:
            return _receipt(order, memory, "superseded", str(error))
        except SecretMissing as error:
            # Without it there is no client, so no event either: nobody hears of it but by the receipt.
            missed_at = missed_at or time.monotonic()
            if time.monotonic() - missed_at > patience:
                return _receipt(order, memory, "unready", str(error))
            pause(FIRST_BACKOFF_SECONDS)
        except (IntegrityError, ConfigError) as error:
            parts = (error.code, error.what, error.where, error.why, error.todo)
            return _receipt(order, memory, "broken", json.dumps(parts))
        except Exception as error:  # noqa: BLE001 - a task that fails takes the others of its job along
            if os.getppid() != parent:
                # Its executor is dead. To fence again would disturb whoever serves the shard now.
                return _receipt(order, memory, "superseded", "nobody waits for this shard's receipt any more")
            memory.restarts += 1
            memory.single |= isinstance(error, Refused)
            known = isinstance(error, (Again, CausewayError))
            why = str(error) if known else repr(error)
            memory.say("warning", f"starting again: {why}")
            reasons.failed(why)
            memory.fruitless = 0 if memory.records > carried else memory.fruitless + 1
            if not memory.fruitless:
                memory.unexplained = ("", 0)  # it counts attempts in a row
            if not known:
                memory.failed_somewhere(type(error).__name__)
            decided = isinstance(error, Unfit) and memory.failed_at(error.failure)
            if decided or not memory.fruitless:
                backoff = FIRST_BACKOFF_SECONDS
            pause(backoff)
            backoff = min(LAST_BACKOFF_SECONDS, backoff * 2)


def _serve(attempt: Attempt, order: Order) -> Outcome:
    """Run an attempt, and close its clients; behind a slice that ended by its time the next one waits."""
    closing = attempt.close
    try:
        outcome = attempt.run()
        if outcome == "done" and order.tail is not None:
            ended(order)
            # Nothing is under way in them any more but the source's group, which the next slice advances too.
            closing = threading.Thread(target=attempt.close, name="closing", daemon=True).start
        return outcome
    finally:
        closing()


def _receipt(order: Order, memory: Memory, outcome: Outcome, note: str = "") -> Receipt:
    return Receipt(
        shard=order.shard,
        outcome=outcome,
        records=memory.records,
        bytes=memory.bytes,
        transactions=memory.transactions,
        restarts=memory.restarts,
        stopped=len(memory.stopped),
        note=note,
    )
