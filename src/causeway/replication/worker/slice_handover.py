"""From one slice to the next: a task that begins waits for the shard's task of the slice before to end."""

from __future__ import annotations

import time
from typing import Protocol

from causeway.core.ledger_record import LedgerRecord
from causeway.core.task_order import TaskOrder
from causeway.errors import Superseded
from causeway.rules.ledger_state import LedgerState

ENDING_SECONDS = 5.0
"""How long to wait with transactions. With spare slots, tasks begin as soon as the driver submits them."""


_ended: dict[tuple[str, int], tuple[int, int]] = {}
"""By mirror and shard: the lease and the slice that this worker itself served last."""


class LedgerPolling(Protocol):
    """The part of `LedgerReader` that is used here."""

    state: LedgerState

    def poll(self, seconds: float) -> list[LedgerRecord]: ...


def ending_seconds(order: TaskOrder) -> float:
    """How long to wait for the slice before to end.

    Without transactions there is no fence, so two tasks of a shard could write at the same time, and the
    older task's position could come last. What that task has sent is acknowledged or given up within this
    time.
    """
    if order.produce.delivery == "exactly-once":
        return ENDING_SECONDS
    return max(ENDING_SECONDS, order.limits.transaction_timeout)


def let_end(order: TaskOrder, reader: LedgerPolling, seconds: float) -> None:
    """Wait a short time for this shard's task of the slice before, which this task was queued after.

    Spark gives this task the first free slot, possibly another shard's. Then this shard's own task of the
    slice before is still in its last transaction. A fence now would abort that transaction, and its records
    would be replicated again:

        slot 1   shard 1 ends   shard 2 begins: waits ┐ fences, reads, replicates
        slot 2   shard 2 produces … commits ─ ended ──┘ shard 1 begins

    The fence makes the next attempt safe; waiting only saves work, so it is bounded. If Spark restarts a lost
    task of an old slice, the slice after it may already run: raises Superseded.
    """
    if _ended.get((order.slice.mirror, order.shard)) == (order.slice.lease, order.after):
        return  # usually the same worker served it, and knows that it has ended
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        read = reader.poll(0.01)
        beat = reader.state.heartbeats.get(order.shard)
        if beat is None or beat.lease != order.slice.lease:
            continue
        if beat.slice > order.slice.number:
            raise Superseded(
                f"slice {beat.slice} of this shard is at work; this order is of {order.slice.number}"
            )
        if not read and (beat.slice == order.slice.number or (beat.slice == order.after and beat.ended)):
            return


def ended(order: TaskOrder) -> None:
    """Remember that this worker has served the order to its end."""
    _ended[order.slice.mirror, order.shard] = order.slice.lease, order.slice.number
