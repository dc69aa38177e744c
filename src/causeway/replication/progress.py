"""A mirror's progress: the ledger's positions compared with the source's end offsets, and the rates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from causeway.core.position import NO_LATENCY, Position, SourcePartition, Tally
from causeway.core.progress import MirrorProgress, TopicProgress
from causeway.replication.rules.backlog import Catching
from causeway.rules.positions import percentile

WINDOW_SECONDS = 10.0


class TopicCounts(NamedTuple):
    """What was replicated of a topic since the mirror began with it."""

    records: int = 0
    bytes: int = 0
    quarantined: int = 0
    skipped: int = 0
    latency: tuple[int, ...] = NO_LATENCY
    latency_ms: int = 0

    def changed(self, tally: Tally, sign: int) -> TopicCounts:
        return TopicCounts(
            self.records + sign * tally.delivered,
            self.bytes + sign * tally.bytes,
            self.quarantined + sign * tally.quarantined,
            self.skipped + sign * tally.skipped,
            tuple(a + sign * b for a, b in zip(self.latency, tally.latency, strict=True)),
            self.latency_ms + sign * tally.latency_ms,
        )


class Totals:
    """Counts by topic. Only what has moved is counted again: of a thousand partitions, most are idle."""

    def __init__(self) -> None:
        self._counted: dict[SourcePartition, Position] = {}
        self.topics: dict[str, TopicCounts] = {}

    def count(self, positions: Mapping[SourcePartition, Position]) -> None:
        for source, position in positions.items():
            before = self._counted.get(source)
            if before is position:
                continue
            counts = self.topics.get(source.topic, TopicCounts()).changed(position.tally, 1)
            self.topics[source.topic] = counts.changed(before.tally, -1) if before else counts
            self._counted[source] = position

    def latency(self) -> tuple[tuple[int, ...], float]:
        """Records by the time from their timestamp to their commit, and the sum of those times in seconds."""
        topics = self.topics.values()
        counts = tuple(map(sum, zip(*(topic.latency for topic in topics), strict=True)))
        return counts or NO_LATENCY, sum(topic.latency_ms for topic in topics) / 1_000


class Gauge:
    """Turns cumulative counts into rates over the last few seconds."""

    def __init__(self) -> None:
        self.totals = Totals()
        self._seen: deque[tuple[float, dict[str, TopicCounts]]] = deque()
        self._catching: Catching[SourcePartition] = Catching()

    def measure(
        self,
        mirror: str,
        state: str,
        positions: Mapping[SourcePartition, Position],
        ends: Mapping[SourcePartition, int],
        stopped: Iterable[SourcePartition],
        shards: int,
        until: Mapping[SourcePartition, int] | None = None,
    ) -> MirrorProgress:
        """`until`: where a run with --stop-at-end ends, whatever is produced after those offsets."""
        now = time.monotonic()
        self.totals.count(positions)
        counts = dict(self.totals.topics)
        self._seen.append((now, counts))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        seconds = max(now - then, 1e-9)
        still = set(stopped)
        stopped_topics = [source.topic for source in still]
        lags: dict[str, int] = {}
        for source, end in ends.items():
            position = positions.get(source)
            lag = max(0, end - position.offset) if position else end
            lags[source.topic] = lags.get(source.topic, 0) + lag
        topics = []
        for topic in sorted({*counts, *lags}):
            count, old = counts.get(topic, TopicCounts()), before.get(topic, TopicCounts())
            # Less than before: the mirror began again with a recreated topic, and its tally from 0.
            recent = [max(0, new - past) for new, past in zip(count.latency, old.latency, strict=True)]
            topics.append(
                TopicProgress(
                    topic=topic,
                    records=count.records,
                    bytes=count.bytes,
                    records_per_second=max(0, count.records - old.records) / seconds,
                    bytes_per_second=max(0, count.bytes - old.bytes) / seconds,
                    lag=lags.get(topic, 0),
                    latency_p50_ms=percentile(recent, 0.5),
                    latency_p99_ms=percentile(recent, 0.99),
                    stopped=stopped_topics.count(topic),
                    quarantined=count.quarantined,
                    skipped=count.skipped,
                )
            )
        backlog = self._catching.saw(
            now,
            {source: position.offset for source, position in positions.items()},
            ends if until is None else until,
            still,
            bounded=until is not None,
        )
        return MirrorProgress(mirror, state, tuple(topics), shards, backlog)
