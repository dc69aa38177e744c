"""From one slice to the next: the task that begins lets the one that ends come to its end."""

from __future__ import annotations

import time
from typing import Protocol

from causeway.errors import Superseded
from causeway.model.order import Order
from causeway.model.record import Record
from causeway.policy.image import LedgerImage

ENDING_SECONDS = 5.0
"""Where slots are to spare, tasks begin as early as the driver hands them over."""


_ended: dict[tuple[str, int], tuple[int, int]] = {}
"""The lease and the slice that this worker itself was the last to serve, of each mirror and shard."""


class Reader(Protocol):
    """What reads the ledger: `LedgerReader`."""

    image: LedgerImage

    def poll(self, seconds: float) -> list[Record]: ...


def ending_seconds(order: Order) -> float:
    """How long a slice before is let end.

    Without transactions there is no fence, so two tasks of a shard could write at a time, and the older one's
    position come last. What it has sent is acknowledged or given up within this time.
    """
    if order.delivery == "exactly-once":
        return ENDING_SECONDS
    return max(ENDING_SECONDS, order.limits.transaction_timeout)


def let_end(order: Order, reader: Reader, seconds: float) -> None:
    """Wait a little for the slice before, whose end this task was queued for.

    Spark gives this task the first slot that is free, maybe another shard's. Then this shard's own task
    of the slice before is in its last transaction, and a fence now would abort that, and carry it again:

        slot 1   shard 1 ends   shard 2 begins: waits ┐ fences, reads, carries
        slot 2   shard 2 carries … commits ── ended ──┘ shard 1 begins

    It is the fence that makes the next attempt safe; the waiting only saves work, so it has an end. Where
    Spark starts a lost task of an old slice again, the slice behind it may be at work already: Superseded.
    """
    if _ended.get((order.mirror, order.shard)) == (order.lease, order.after):
        return  # most often it is the same worker, which needs nobody to tell it
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        read = reader.poll(0.01)
        beat = reader.image.heartbeats.get(order.shard)
        if beat is None or beat.lease != order.lease:
            continue
        if beat.slice > order.slice:
            raise Superseded(f"slice {beat.slice} of this shard is at work; this order is of {order.slice}")
        if not read and (beat.slice == order.slice or (beat.slice == order.after and beat.ended)):
            return


def ended(order: Order) -> None:
    """This worker has served the order to its end."""
    _ended[order.mirror, order.shard] = order.lease, order.slice
