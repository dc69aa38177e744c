"""Latency of a record: from the producer's timestamp to a read_committed consumer at the destination.

One loop writes and reads the trickle, so both ends share one clock. Record timestamps are milliseconds,
truncated, not rounded: a latency may be up to 1 ms too long, never too short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import TopicPartition

from causeway.cli.demo.records import ORDERS, business
from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView

PER_SECOND = 1_000
SECONDS = 6.0
ARRIVE_SECONDS = 30.0
WARM_UP_SECONDS = 45.0
WINDOW_SECONDS = 3.0
SETTLED_WINDOWS = 3
SETTLED_SHARE = 0.9
"""The latency has settled when SETTLED_WINDOWS in a row did not get below this share of the best before."""
_WAIT_SECONDS = 0.002


class Trickle:
    """Writes a few records a second and waits for each one. The mirror has caught up before."""

    def __init__(self, source: Cluster, destination: Cluster, partitions: int) -> None:
        view = ClusterView(destination)
        ends = view.offsets([(ORDERS, number) for number in range(partitions)], "stable")
        self.written = 0
        self.arrived = 0
        self._latencies: list[float] = []
        self._errors: list[str] = []
        self._producer = clients.producer(source, linger_ms=0)
        self._consumer = clients.consumer(destination, "demo.latency")
        self._consumer.assign([TopicPartition(topic, n, end) for (topic, n), end in ends.items()])

    def run(self, watch: Callable[[], None], seconds: float) -> list[float]:
        """Write at an even pace for this long; returns the latency of each record in milliseconds.

        Calls `watch` in every iteration. Raises CausewayError if a record has not arrived ARRIVE_SECONDS
        after the last one was due.
        """
        before, total = self.written, round(PER_SECOND * seconds)
        self._latencies = []
        began = time.monotonic()
        while len(self._latencies) < total:
            elapsed = time.monotonic() - began
            due = before + min(total, int(elapsed * PER_SECOND))
            for number in range(self.written, due):
                self._write(number)
            self.written = max(self.written, due)
            self._producer.poll(0)
            self._poll()
            watch()
            if self._errors or elapsed > seconds + ARRIVE_SECONDS:
                missing = f"{total - len(self._latencies)} of {total} records did not arrive"
                raise CausewayError(
                    "the latency could not be measured", why=self._errors[0] if self._errors else missing
                )
        return self._latencies

    def close(self) -> None:
        self._consumer.close()

    def _write(self, number: int) -> None:
        like = business(number)
        self._producer.produce(
            ORDERS,
            key=f"trickle-{number}".encode(),
            value=like.value or b"",
            timestamp=time.time_ns() // 1_000_000,
            on_delivery=self._report,
        )

    def _poll(self) -> None:
        first = self._consumer.poll(_WAIT_SECONDS)
        now = time.time_ns() / 1e6
        for message in [first, *self._consumer.consume(PER_SECOND, 0)] if first is not None else ():
            if message.error() is None:
                self._latencies.append(now - message.timestamp()[1])
                self.arrived += 1

    def _report(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._errors.append(str(error))


def warm_up(trickle: Trickle, watch: Callable[[], None], seconds: float) -> list[float]:
    """Write as in the measurement until the latency settles, at most for this long.

    Returns the median of each window of WINDOW_SECONDS.
    """
    medians: list[float] = []
    while len(medians) * WINDOW_SECONDS < seconds and not settled(medians):
        medians.append(percentile(trickle.run(watch, WINDOW_SECONDS), 0.50))
    return medians


def settled(medians: Sequence[float]) -> bool:
    """Whether the last windows brought no better latency than the ones before."""
    before, last = medians[:-SETTLED_WINDOWS], medians[-SETTLED_WINDOWS:]
    return bool(before) and min(last) > SETTLED_SHARE * min(before)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
