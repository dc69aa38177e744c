"""Routes: from a source topic to a destination topic, and where each of its partitions goes."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.core.topic import TopicFacts

BY_KEY = -1
"""The partition number that means: the record's key chooses the partition."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which destination partition a source partition's records go to.

    `fixed`: one partition for all. `pairs`: source and destination partitions. Otherwise the number stays.
    """

    by_key: bool = False
    fixed: int | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    modulo: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    alias: str  # of the source cluster
    source: TopicFacts
    to: str  # the destination topic
    placement: Placement = Placement()


@dataclass(frozen=True, slots=True, order=True)
class ClusterTopic:
    """A topic in a cluster, by the cluster's id: the same for every mirror."""

    cluster: str
    topic: str


Edge = tuple[ClusterTopic, ClusterTopic]
"""Records of the first topic are replicated to the second."""
