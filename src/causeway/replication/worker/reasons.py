"""Reports why a shard commits nothing, while that lasts, by an event that needs no commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Event
from causeway.core.task_order import TaskOrder
from causeway.kafka.notices import write_event
from causeway.replication.worker.task_state import TaskState

SILENT_SECONDS = 8.0
"""Most failures end before they are worth reporting; the driver misses a shard after 15 s at the earliest."""
AGAIN_SECONDS = 60.0

Write = Callable[[Cluster, str, Event], None]


class Reasons:
    def __init__(self, order: TaskOrder, task: TaskState, write: Write = write_event) -> None:
        self._order = order
        self._task = task
        self._write = write
        self._committed = 0
        self._since = task.began
        self._said, self._said_at = "", 0.0
        self._writing: threading.Thread | None = None

    def failed(self, why: str) -> None:
        """An attempt failed: report it if nothing was committed for long and it was not just reported."""
        now, task = time.monotonic(), self._task
        if task.transactions > self._committed:
            self._committed, self._since = task.transactions, now
        silent, rest = now - self._since, now - self._said_at
        if silent < SILENT_SECONDS or rest < (AGAIN_SECONDS if why == self._said else SILENT_SECONDS):
            return
        if self._writing is not None and self._writing.is_alive():
            return
        self._said, self._said_at = why, now
        task.event_number += 1
        what = f"nothing could be committed for {silent:.0f} s: {why}"
        event = Event(self._order.shard, task.event_number, now_ms(), "warning", what, uncommitted=True)
        # In its own thread: a destination that does not respond must not delay the attempts.
        self._writing = threading.Thread(
            target=self._write,
            args=(self._order.destination, self._order.ledger, event),
            name="reason",
            daemon=True,
        )
        self._writing.start()
