"""How far mirrors are: what the driver knows while slices run, as people are shown it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicProgress:
    topic: str
    records: int  # delivered, since the mirror began with the topic
    bytes: int
    records_per_second: float
    bytes_per_second: float
    lag: int
    latency_p50_ms: float
    latency_p99_ms: float
    stopped: int = 0  # partitions that stand still until somebody acts
    quarantined: int = 0
    skipped: int = 0  # offsets that the mirror went over by a policy, or by somebody's word


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    mirror: str
    state: str
    topics: tuple[TopicProgress, ...]
    shards: int

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics)

    @property
    def lag(self) -> int:
        return sum(topic.lag for topic in self.topics)
