"""Writes the same records to each node of the source pool: same order, same partitions, same timestamps.

So they have equal offsets on every node. A node that was killed gets no more of them; one that hangs
gets them when it runs again.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from causeway.cli.demo.records import TOPICS, DemoRecord, business, edge_cases
from causeway.cli.demo.traffic import FLUSH_SECONDS
from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView

PARTITIONS = {topic.name: topic.partitions for topic in TOPICS}


class PoolTraffic:
    def __init__(self, nodes: Mapping[str, Cluster], per_second: int) -> None:
        self.committed: Counter[str] = Counter()  # by topic: written, and confirmed once `settle` returns
        self.bytes = 0  # of keys and values
        self._per_second = per_second
        self._next = 0  # number of the next record
        self._resumed_at: float | None = None  # when `poll` began to write; None: it does not
        self._due_from = 0
        self._errors: list[str] = []
        for node in nodes.values():
            view = ClusterView(node)
            for topic in TOPICS:
                view.create_topic(topic.name, topic.partitions, 1, topic.config)
        self._producers = {name: clients.producer(node, linger_ms=0) for name, node in nodes.items()}

    def write(self, count: int) -> None:
        """Write the next records of the shop."""
        for number in range(self._next, self._next + count):
            self._produce(placed(business(number), number, time.time_ns() // 1_000_000))
        self._next += count

    def write_edge_cases(self) -> None:
        for record in edge_cases(time.time_ns() // 1_000_000):
            self._produce(record)

    def resume(self) -> None:
        """From now on `poll` writes at an even pace."""
        self._resumed_at, self._due_from = time.monotonic(), self._next

    def pause(self) -> None:
        self._resumed_at = None

    def poll(self) -> None:
        """Write what is due, and serve delivery reports."""
        if self._resumed_at is not None:
            due = self._due_from + int((time.monotonic() - self._resumed_at) * self._per_second)
            self.write(max(0, due - self._next))
        for producer in self._producers.values():
            producer.poll(0)

    def leave_out(self, node: str) -> None:
        """The node was killed: write to the others alone."""
        producer = self._producers.pop(node)
        producer.purge()
        producer.flush(FLUSH_SECONDS)  # serves the reports of what was purged

    def settle(self) -> None:
        """Returns when each node has everything, except those that were left out."""
        for node, producer in self._producers.items():
            left = producer.flush(FLUSH_SECONDS)
            if left or self._errors:
                raise CausewayError(
                    "the demo's records could not be written",
                    where=node,
                    why=self._errors[0]
                    if self._errors
                    else f"{left} records wait since {FLUSH_SECONDS:.0f} s",
                )

    def _produce(self, record: DemoRecord) -> None:
        for node, producer in self._producers.items():
            while True:
                try:
                    producer.produce(
                        record.topic,
                        value=record.value,
                        key=record.key,
                        partition=record.partition,
                        timestamp=record.timestamp,
                        headers=list(record.headers) or None,
                        on_delivery=partial(self._note_error, node),
                    )
                    break
                except BufferError:
                    producer.poll(0.1)  # the producer's queue is full
        self.committed[record.topic] += 1
        self.bytes += len(record.key or b"") + len(record.value or b"")

    def _note_error(self, node: str, error: Any, _message: Any) -> None:
        if error is not None and node in self._producers:
            self._errors.append(f"{node}: {error}")


def placed(record: DemoRecord, number: int, now_ms: int) -> DemoRecord:
    """The record with its partition and timestamp, which must not be each producer's own choice."""
    chosen_by = record.key if record.key is not None else str(number).encode()
    partition = zlib.crc32(chosen_by) % PARTITIONS[record.topic]
    return record._replace(partition=partition, timestamp=now_ms)
