"""Commits offsets to the source's consumer group for external lag tools; never reads them (invariant E).

Commits go through the admin client, not through the consumer that fetches. If the group's coordinator goes
away during a consumer's commit, librdkafka's main thread of that consumer stays busy and its handle does not
end. While a broker of the source was down, each shard that restarted left such a handle; two of them used all
of two cores, so that the broker itself needed a minute to come back. An admin request ends: by its timeout,
or when its handle is closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future, TimeoutError
from typing import Any

from confluent_kafka import TopicPartition

from causeway.core.position import Position, SourcePartition
from causeway.kafka.admin import ClusterView

SECONDS = 1.0
"""Interval between two commits."""


class SourceGroup:
    def __init__(self, view: ClusterView, group: str | None) -> None:
        self._view = view
        self._group = group
        self._next_at = 0.0
        self._committed: dict[SourcePartition, int] = {}
        self._request: Future[Any] | None = None
        self._pending: dict[SourcePartition, int] = {}  # the offsets in the pending request

    def advance(self, positions: Iterable[Position], *, final: bool = False) -> bool:
        """Commit positions about once a second, one request at a time. Returns whether it sent one."""
        if self._group is None or (not final and time.monotonic() < self._next_at):
            return False
        self._collect()
        if self._request is not None:
            return False  # no response yet; the next request includes what is due now
        pending = {
            position.source: position.offset
            for position in positions
            if self._committed.get(position.source) != position.offset
        }
        self._next_at = time.monotonic() + SECONDS
        if not pending:
            return False
        offsets = [
            TopicPartition(source.topic, source.partition, offset) for source, offset in pending.items()
        ]
        self._request, self._pending = self._view.request_group_commit(self._group, offsets), pending
        return True

    def settle(self, seconds: float) -> None:
        """Wait up to `seconds` for the response to the pending request."""
        if self._request is not None:
            try:
                self._request.exception(seconds)
            except TimeoutError:
                return
            self._collect()

    def _collect(self) -> None:
        if self._request is None or not self._request.done():
            return
        response, self._request = self._request, None
        if response.exception() is not None:
            return  # no coordinator, or no permission: the next request repeats everything
        failed = {
            (partition.topic, partition.partition)
            for partition in response.result().topic_partitions
            if partition.error
        }
        self._committed |= {
            source: offset
            for source, offset in self._pending.items()
            if (source.topic, source.partition) not in failed
        }
