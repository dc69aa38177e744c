"""How far a mirror is: the ledger's positions beside the source's ends, and how fast both move."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping

from causeway.model.position import NO_LATENCY, Position, SourcePartition
from causeway.model.progress import MirrorProgress, TopicProgress
from causeway.policy.backlog import Catching
from causeway.policy.positions import percentile

WINDOW_SECONDS = 10.0

_Counts = tuple[int, int, tuple[int, ...]]


class Gauge:
    """Turns cumulative counts into rates over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, dict[str, _Counts]]] = deque()
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
        """`until`: where a run with an end has to come to, whatever is written behind that."""
        now = time.monotonic()
        counts = _by_topic(positions)
        self._seen.append((now, counts))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        seconds = max(now - then, 1e-9)
        still = set(stopped)
        standing = [source.topic for source in still]
        quarantined, skipped = Counter[str](), Counter[str]()
        for source, carried in positions.items():
            quarantined[source.topic] += carried.tally.quarantined
            skipped[source.topic] += carried.tally.skipped
        lags: dict[str, int] = {}
        for source, end in ends.items():
            position = positions.get(source)
            lag = max(0, end - position.offset) if position else end
            lags[source.topic] = lags.get(source.topic, 0) + lag
        topics = []
        for topic in sorted({*counts, *lags}):
            records, size, latency = counts.get(topic, (0, 0, NO_LATENCY))
            old_records, old_size, old_latency = before.get(topic, (0, 0, NO_LATENCY))
            recent = [new - old for new, old in zip(latency, old_latency, strict=True)]
            topics.append(
                TopicProgress(
                    topic=topic,
                    records=records,
                    bytes=size,
                    records_per_second=(records - old_records) / seconds,
                    bytes_per_second=(size - old_size) / seconds,
                    lag=lags.get(topic, 0),
                    latency_p50_ms=percentile(recent, 0.5),
                    latency_p99_ms=percentile(recent, 0.99),
                    stopped=standing.count(topic),
                    quarantined=quarantined[topic],
                    skipped=skipped[topic],
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


def _by_topic(positions: Mapping[SourcePartition, Position]) -> dict[str, _Counts]:
    counts: dict[str, _Counts] = {}
    for source, position in positions.items():
        tally = position.tally
        records, size, latency = counts.get(source.topic, (0, 0, NO_LATENCY))
        counts[source.topic] = (
            records + tally.delivered,
            size + tally.bytes,
            tuple(a + b for a, b in zip(latency, tally.latency, strict=True)),
        )
    return counts
