"""When records arrive in each partition of the destination, as a read_committed consumer sees it.

Record timestamps and arrivals share one clock: the demo writes and reads in one process.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Any

from confluent_kafka import TopicPartition

from causeway.core.cluster import Cluster
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView

_MOST = 10_000


class Arrivals:
    """Reads from the current log ends on. All times are milliseconds since 1970."""

    def __init__(self, destination: Cluster, partitions: Collection[tuple[str, int]]) -> None:
        ends = ClusterView(destination).offsets(partitions, "stable")
        self._consumer = clients.consumer(destination, "demo.arrivals")
        self._consumer.assign([TopicPartition(topic, n, end) for (topic, n), end in ends.items()])
        self.timing = Timing(partitions, time.time_ns() / 1e6)

    def restart(self) -> Timing:
        """Measure from now on."""
        self.timing = Timing(self.timing.partitions, time.time_ns() / 1e6, self.timing.latest)
        return self.timing

    def poll(self) -> None:
        messages = self._consumer.consume(_MOST, 0)
        self.timing.add(_spots(messages), time.time_ns() / 1e6)

    def close(self) -> None:
        self._consumer.close()


class Timing:
    """Arrivals of records since an instant. Pure."""

    def __init__(
        self,
        partitions: Collection[tuple[str, int]],
        since: float,
        latest: dict[tuple[str, int], float] | None = None,
    ) -> None:
        self.partitions = partitions
        self.since = since
        self.latest = dict(latest or {})  # when the latest record arrived, by partition
        self._first: dict[tuple[str, int], float] = {}  # of those written since then
        self._longest_gap = 0.0

    def add(self, records: Iterable[tuple[tuple[str, int], int]], now: float) -> None:
        """Records that arrived now, by partition and timestamp."""
        for spot, timestamp in records:
            self._longest_gap = max(self._longest_gap, now - self.latest.get(spot, now))
            self.latest[spot] = now
            if timestamp > self.since:
                self._first.setdefault(spot, now)

    @property
    def first_ms(self) -> float | None:
        """From the instant to the arrival of a record that was written after it."""
        return min(self._first.values()) - self.since if self._first else None

    @property
    def complete(self) -> bool:
        """Whether such a record arrived in every partition."""
        return self._first.keys() >= set(self.partitions)

    @property
    def all_ms(self) -> float:
        """From the instant until every partition had such a record."""
        return max(self._first.values()) - self.since

    @property
    def longest_gap_ms(self) -> float:
        """The longest time without an arrival in any one partition."""
        return self._longest_gap


def _spots(messages: Iterable[Any]) -> Iterable[tuple[tuple[str, int], int]]:
    for message in messages:
        if message.error() is None:
            yield (message.topic(), message.partition()), message.timestamp()[1]
