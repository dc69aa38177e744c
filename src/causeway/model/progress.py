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
class Backlog:
    """What is still to be carried, in offsets, and how that changes. Nothing that stands still is in it."""

    left: int
    most: int  # so many at most since it fell behind, or since the run with an end began
    falls: float | None  # a second, with what comes meanwhile; None when it is too early to say
    moves: bool = True  # whether any position has moved lately
    bounded: bool = False  # up to ends that were found at the start: nothing is added


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    mirror: str
    state: str
    topics: tuple[TopicProgress, ...]
    shards: int
    backlog: Backlog | None = None  # None while it is not worth telling

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics)

    @property
    def records_per_second(self) -> float:
        return sum(topic.records_per_second for topic in self.topics)

    @property
    def lag(self) -> int:
        return sum(topic.lag for topic in self.topics)
