"""Orders without a driver: what one task does with them, beside real brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.position import Place, SourcePartition
from causeway.core.task_order import Lane, Limits, TaskOrder, ledger_topic, offset_map_topic
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import ensure_topics
from support.world import World


class TooManyAttempts(Exception):
    """A task that retries more often than a test allows."""


class Patience:
    """In the place of a task's backoff: it may retry so many times."""

    def __init__(self, attempts: int) -> None:
        self._left = attempts

    def __call__(self, _seconds: float) -> None:
        self._left -= 1
        if not self._left:
            raise TooManyAttempts


def order_of(
    world: World,
    topics: str | Sequence[str],
    until: int,
    *,
    limits: Limits | None = None,
    producer: Mapping[str, str] | None = None,
    **more: Any,
) -> TaskOrder:
    """All partitions of topics that are on both sides, as one shard of a mirror that has a ledger."""
    names = [topics] if isinstance(topics, str) else topics
    source, destination = (
        ClusterView(Cluster(name, {"bootstrap.servers": world.servers[name]}, {}, dict(writing)))
        for name, writing in (("source", {}), ("destination", producer or {}))
    )
    ledger = ensure_topics(destination, world.mirror, 1, 1)
    found, places = source.describe(names), destination.describe(names)
    lanes = [
        Lane(
            SourcePartition(source.cluster_id(), name, number),
            found[name].topic_id,
            Place(name, places[name].topic_id, number),
            until,
        )
        for name in names
        for number in range(found[name].partitions)
    ]
    return TaskOrder(
        mirror=world.mirror,
        shard=1,
        lease=1,
        generation=1,
        slice=1,
        compression="none",
        sources={source.cluster_id(): source.cluster},
        destination=destination.cluster,
        ledger=ledger_topic(world.mirror),
        offset_map=offset_map_topic(world.mirror),
        groups={},
        lanes=tuple(lanes),
        tail=None,
        limits=limits or Limits(1_000, 1 << 20, 1, 10, 1 << 24, 10_000, 100_000, 1),
        ledger_id=ledger.topic_id,
        **{"delivery": "exactly-once", **more},
    )
