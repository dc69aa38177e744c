"""Writes timings with each transaction: a record for each source partition (`timings = "topic"`).

Replication never waits for a timings topic. Where it does not exist, or this user may not write to it, its
records are left out, and an event says so once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from causeway.core.position import Position
from causeway.core.route import BY_KEY
from causeway.core.task_order import TaskOrder
from causeway.core.topic import TopicFacts
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import EncodedRecord
from causeway.kafka.task_errors import Again
from causeway.replication.worker.task_state import TaskState
from causeway.rules.offset_runs import OffsetRun
from causeway.rules.timings import TransactionTimings, offsets_of, timings_topic

SettledPartition = tuple[PartitionState, Position, Mapping[int, Sequence[OffsetRun]]]
"""A partition of a transaction, its position after it, and where its records landed."""


class TimingsTopics:
    """The timings topics of a shard. It does nothing where the mirror writes none."""

    def __init__(self, order: TaskOrder, destination: ClusterView, task: TaskState) -> None:
        self._mirror = order.slice.mirror
        self._alias = order.destination.alias
        self._active = order.produce.timings == "topic"
        self._destination = destination
        self._task = task

    def request_descriptions(self, moved: Iterable[PartitionState]) -> dict[str, Future[Any]]:
        """Ask which of these partitions' timings topics exist, without waiting."""
        if not self._active:
            return {}
        names = {_topic_of(state) for state in moved if state.delivered} - {""}
        return self._destination.request_descriptions(names, rights=True)

    def records(
        self, settled: Iterable[SettledPartition], requests: Mapping[str, Future[Any]]
    ) -> list[EncodedRecord]:
        """The records of a transaction, after the responses to `request_descriptions`."""
        if not requests:
            return []
        denied: set[str] = set()
        try:
            topics = self._destination.descriptions(requests, rights=True, denied=denied)
        except CausewayError as error:
            raise Again(f"before a commit: {error}") from None
        writable = {name for name in requests if self._is_writable(name, topics.get(name), denied)}
        return [
            (name, BY_KEY, *_timings_of(state, position, runs).encoded(self._mirror))
            for state, position, runs in settled
            if state.delivered and (name := _topic_of(state)) in writable
        ]

    def _is_writable(self, name: str, facts: TopicFacts | None, denied: set[str]) -> bool:
        task, why = self._task, self._obstacle(name, facts, denied)
        if why and task.without_timings.get(name) != why:
            task.add_event("warning", f"no timings are written to topic {name} on {self._alias}: {why}")
        task.without_timings[name] = why
        return not why

    def _obstacle(self, name: str, facts: TopicFacts | None, denied: set[str]) -> str:
        """Why no timings can be written to this topic; empty if they can."""
        if name in self._task.rejected_timings:
            return f"it rejected one: {self._task.rejected_timings[name]}"
        if facts is None and name not in denied:
            return "it does not exist"
        known = facts.writable if facts is not None else False
        allowed = known if known is not None else name not in self._task.denied
        return "" if allowed else "this user has no WRITE permission for it"


def _topic_of(state: PartitionState) -> str:
    return timings_topic(state.lane.source.topic, state.lane.place.topic)


def _timings_of(
    state: PartitionState, position: Position, runs: Mapping[int, Sequence[OffsetRun]]
) -> TransactionTimings:
    return TransactionTimings(
        source=position.source,
        place=position.place,
        offsets=offsets_of(runs.values()),
        timestamps=(state.produced[0].timestamps[0], state.produced[-1].timestamps[1]),
        fetched=state.fetched or position.at,  # unknown if a record was isolated meanwhile
        committed=position.at,
        count=state.delivered,
        size=state.bytes,
    )
