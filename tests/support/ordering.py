"""Task orders without a driver: one task serves them, with real brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from causeway.core.choices import CarrierChoice, Delivery, OnPoison
from causeway.core.cluster import Cluster
from causeway.core.position import Place, SourcePartition
from causeway.core.task_order import (
    Lane,
    Limits,
    Policies,
    ProduceSettings,
    SliceId,
    SourceCluster,
    TaskOrder,
)
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import ensure_topics
from support.world import World


class TooManyAttempts(Exception):
    """A task that retries more often than a test allows."""


class Patience:
    """Replaces a task's backoff: it may retry `times` times."""

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
    delivery: Delivery = "exactly-once",
    carrier: CarrierChoice = "auto",
    on_poison: OnPoison = "stop",
    **more: Any,
) -> TaskOrder:
    """All partitions of topics that are on both sides, as one shard of a mirror that has a ledger."""
    names = [topics] if isinstance(topics, str) else topics
    source, destination = (
        ClusterView(Cluster(name, {"bootstrap.servers": world.servers[name]}, {}, dict(writing)))
        for name, writing in (("source", {}), ("destination", producer or {}))
    )
    ledger = ensure_topics(destination, world.mirror, 1, 1)
    topics_here, places = source.describe(names), destination.describe(names)
    lanes = [
        Lane(
            SourcePartition(source.cluster_id(), name, number),
            topics_here[name].topic_id,
            Place(name, places[name].topic_id, number),
            until,
        )
        for name in names
        for number in range(topics_here[name].partitions)
    ]
    return TaskOrder(
        slice=SliceId(world.mirror, lease=1, generation=1, number=1),
        shard=1,
        sources={source.cluster_id(): SourceCluster(source.cluster)},
        destination=destination.cluster,
        lanes=tuple(lanes),
        tail=None,
        limits=limits or Limits(1_000, 1 << 20, 1, 10, 1 << 24, 10_000, 100_000, 1),
        ledger_id=ledger.topic_id,
        produce=ProduceSettings(delivery, carrier=carrier),
        policies=Policies(on_poison=on_poison),
        **more,
    )
