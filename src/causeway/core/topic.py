"""What a cluster reports about a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Spot = tuple[str, int]
"""A topic and one of its partitions."""


NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers without topic ids report: then only log bounds can be checked."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    name: str
    topic_id: str
    partitions: int
    replication: int
    writable: bool | None = None  # by our user; None: not requested, or not reported by the brokers


class Replicas(NamedTuple):
    """How many replicas a partition has, and how many of them are in sync."""

    assigned: int
    in_sync: int
