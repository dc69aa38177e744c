"""What a cluster says about a topic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicFacts:
    name: str
    topic_id: str
    partitions: int
    replication: int
