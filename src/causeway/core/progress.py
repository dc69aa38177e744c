"""Progress of mirrors while slices run: what the driver knows, in the form that is displayed."""

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
    stopped: int = 0  # partitions that are stopped until an operator acts
    quarantined: int = 0
    skipped: int = 0  # offsets that the mirror skipped, by a policy or on an operator's command


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is still to be replicated, in offsets, and how that changes. Stopped partitions do not count."""

    left: int
    most: int  # the largest backlog since the mirror began to lag, or since a bounded run began
    falls: float | None  # decrease per second, new records included; None if it is too early to tell
    moves: bool = True  # whether any position moved recently
    bounded: bool = False  # up to the log ends found at the start: new records do not count


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    mirror: str
    state: str
    topics: tuple[TopicProgress, ...]
    shards: int
    backlog: Backlog | None = None  # None while it is not worth displaying

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics)

    @property
    def records_per_second(self) -> float:
        return sum(topic.records_per_second for topic in self.topics)

    @property
    def lag(self) -> int:
        return sum(topic.lag for topic in self.topics)
