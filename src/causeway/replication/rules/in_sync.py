"""Partitions that reject records because too few replicas are in sync (NOT_ENOUGH_REPLICAS). Pure.

The client retries this error without reporting it, so the in-sync replicas of the partitions are compared
with `min.insync.replicas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from causeway.core.topic import Replicas, Spot


class Short(NamedTuple):
    """A partition with fewer in-sync replicas than `min.insync.replicas`."""

    spot: Spot
    replicas: Replicas
    needed: int

    @property
    def never(self) -> bool:
        """Whether too few replicas are assigned, so that no broker that comes back can help."""
        return self.replicas.assigned < self.needed


class Shortage(NamedTuple):
    """What to report to an operator, and the partitions concerned."""

    what: str
    todo: str
    spots: frozenset[Spot]

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(topic for topic, _ in self.spots)

    def holds_up(self, topic: str, partition: int) -> bool:
        """Whether records for this place may be rejected; a negative partition means placement by key."""
        return (topic, partition) in self.spots if partition >= 0 else topic in self.topics


def suspects(found: Mapping[Spot, Replicas], most: int) -> list[str]:
    """At most `most` topics whose settings to read: those that miss replicas first, then those with few."""
    worst: dict[str, Replicas] = {}
    for (topic, _), replicas in found.items():
        known = worst.setdefault(topic, replicas)
        worst[topic] = min(known, replicas, key=_rank)
    return sorted(worst, key=lambda topic: (_rank(worst[topic]), topic))[:most]


def _rank(replicas: Replicas) -> tuple[bool, int]:
    return replicas.in_sync >= replicas.assigned, replicas.in_sync


def too_few(found: Mapping[Spot, Replicas], needed: Mapping[str, int]) -> list[Short]:
    """Partitions that reject records; a topic whose `min.insync.replicas` is unknown counts as healthy."""
    return [
        Short(spot, replicas, needed[spot[0]])
        for spot, replicas in sorted(found.items())
        if replicas.in_sync < needed.get(spot[0], 0)
    ]


def shortage(short: Iterable[Short], alias: str, first: Iterable[str]) -> Shortage | None:
    """The message for an operator. Partitions of the topics in `first` are preferred as the example."""
    wanted = set(first)
    rows = sorted(short, key=lambda one: (one.spot[0] not in wanted, one.spot))
    if not rows:
        return None
    (topic, partition), replicas, needed = rows[0]
    many = "replica" if replicas.in_sync == 1 else "replicas"
    others = len(rows) - 1
    more = f" (and {others:,} more partition{'s' if others > 1 else ''})" if others else ""
    what = (
        f'"{alias}" rejects records (NOT_ENOUGH_REPLICAS): {topic}[{partition}] has'
        f" {replicas.in_sync} in-sync {many} of {replicas.assigned}, min.insync.replicas is {needed}{more}"
    )
    if rows[0].never:
        todo = f"give {topic} at least {needed} replicas, or lower its min.insync.replicas"
    else:
        todo = "start the brokers that are down, or reassign their replicas; the mirror goes on by itself"
    return Shortage(what, todo, frozenset(one.spot for one in rows))
