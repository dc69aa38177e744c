"""A small order for tests without brokers."""

from __future__ import annotations

from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.task_order import Lane, Limits, SliceId, TaskOrder

LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 1)


def plain_order(*lanes: Lane, number: int = 1, **more: Any) -> TaskOrder:
    """An order of shard 1 of mirror "m", under lease 7."""
    fixed: dict[str, Any] = {
        "slice": SliceId("m", 7, 1, number),
        "shard": 1,
        "lanes": lanes,
        "tail": 10.0,
        "sources": {},
        "destination": Cluster("there", {}),
        "ledger_id": "books",
        "limits": LIMITS,
    }
    return TaskOrder(**fixed | more)
