"""An attempt that ends closes each of its clients, whatever happens to the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from causeway.replication.worker.attempt import Attempt
from causeway.replication.worker.task_state import TaskState


def test_a_consumer_that_cannot_be_closed_keeps_no_other_client_open() -> None:
    closed: list[str] = []

    def client(name: str, *, fails: bool = False) -> Any:
        def close() -> None:
            closed.append(name)
            if fails:
                raise RuntimeError(name)

        made = SimpleNamespace(denied={"t"})
        return SimpleNamespace(close=close, client=made, rejected_timings={"timings_t": "why"})

    attempt: Any = object.__new__(Attempt)
    attempt._task, attempt._producer, attempt._ledger = TaskState(), client("producer"), client("ledger")
    attempt._flow = client("filters")
    attempt._partitions = SimpleNamespace(consumers=[client("one"), client("two", fails=True)])

    with pytest.raises(RuntimeError):
        attempt.close()

    assert sorted(closed) == ["filters", "ledger", "one", "producer", "two"]
    assert attempt._task.denied == {"t"}
    assert attempt._task.rejected_timings == {"timings_t": "why"}
