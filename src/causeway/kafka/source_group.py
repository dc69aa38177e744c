"""The source's consumer group, advanced for other people's lag tools; never read back (invariant E).

By the admin client, not by the consumer that fetches. A commit that is on its way when its coordinator goes
keeps librdkafka's main thread of that consumer busy, and its handle from ending: while a broker of the source
was away, each shard that started again left such a handle behind, and two of them took all of two cores, so
that the broker itself needed a minute to come back. A question of the admin client has an end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future, TimeoutError
from typing import Any

from confluent_kafka import TopicPartition

from causeway.kafka.admin import ClusterView
from causeway.model.position import Position, SourcePartition

SECONDS = 1.0
"""Between two commits."""


class SourceGroup:
    def __init__(self, view: ClusterView, group: str | None) -> None:
        self._view = view
        self._group = group
        self._next_at = 0.0
        self._done: dict[SourcePartition, int] = {}
        self._asked: Future[Any] | None = None
        self._moved: dict[SourcePartition, int] = {}  # what was asked for

    def advance(self, positions: Iterable[Position], *, final: bool = False) -> bool:
        """Tell how far records are committed, about once a second, one question at a time; whether it did."""
        if self._group is None or (not final and time.monotonic() < self._next_at):
            return False
        self._hear()
        if self._asked is not None:
            return False  # nobody answers yet; what is due then goes with the next one
        moved = {
            position.source: position.offset
            for position in positions
            if self._done.get(position.source) != position.offset
        }
        self._next_at = time.monotonic() + SECONDS
        if not moved:
            return False
        offsets = [TopicPartition(source.topic, source.partition, offset) for source, offset in moved.items()]
        self._asked, self._moved = self._view.ask_to_advance(self._group, offsets), moved
        return True

    def settle(self, seconds: float) -> None:
        """Let what is on its way arrive, for a moment."""
        if self._asked is not None:
            try:
                self._asked.exception(seconds)
            except TimeoutError:
                return
            self._hear()

    def _hear(self) -> None:
        if self._asked is None or not self._asked.done():
            return
        asked, self._asked = self._asked, None
        if asked.exception() is not None:
            return  # its coordinator is away, or we may not: the next time everything is said again
        failed = {(one.topic, one.partition) for one in asked.result().topic_partitions if one.error}
        self._done |= {
            source: offset
            for source, offset in self._moved.items()
            if (source.topic, source.partition) not in failed
        }
