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
_WAIT_SECONDS = 0.002


class Trickle:
    """A few records a second for some seconds; waits for each one. The mirror has caught up before."""

    def __init__(self, source: Cluster, destination: Cluster, partitions: int) -> None:
        view = ClusterView(destination)
        ends = view.offsets([(ORDERS, number) for number in range(partitions)], "stable")
        self.written = 0
        self.latencies: list[float] = []
        self._errors: list[str] = []
        self._producer = clients.producer(source, linger_ms=0)
        self._consumer = clients.consumer(destination, "demo.latency")
        self._consumer.assign([TopicPartition(topic, n, end) for (topic, n), end in ends.items()])

    def run(self, watch: Callable[[], None], per_second: int = PER_SECOND, seconds: float = SECONDS) -> None:
        """Write at an even pace and note when each record arrives; calls `watch` in every iteration.

        Raises CausewayError if a record has not arrived ARRIVE_SECONDS after the last one was due.
        """
        total = round(per_second * seconds)
        began = time.monotonic()
        while len(self.latencies) < total:
            elapsed = time.monotonic() - began
            due = min(total, int(elapsed * per_second))
            for number in range(self.written, due):
                self._write(number)
            self.written = max(self.written, due)
            self._producer.poll(0)
            self._hear()
            watch()
            if self._errors or elapsed > seconds + ARRIVE_SECONDS:
                missing = f"{total - len(self.latencies)} of {total} records did not arrive"
                raise CausewayError(
                    "the trickle for the latency failed", why=self._errors[0] if self._errors else missing
                )

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

    def _hear(self) -> None:
        first = self._consumer.poll(_WAIT_SECONDS)
        now = time.time_ns() / 1e6
        for message in [first, *self._consumer.consume(PER_SECOND, 0)] if first is not None else ():
            if message.error() is None:
                self.latencies.append(now - message.timestamp()[1])

    def _report(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._errors.append(str(error))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
