"""From a source topic to a destination topic, and where each of its partitions goes."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.model.topic import TopicFacts

BY_KEY = -1
"""Stands for a partition where the record's key chooses one."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which partition of the destination a source partition's records go to.

    `fixed` is one for all, `pairs` names source and destination; otherwise it is the same number.
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
class Spot:
    """A topic in a cluster, by the cluster's id: what two mirrors may both know."""

    cluster: str
    topic: str


Edge = tuple[Spot, Spot]
"""Records of the first come to the second."""
