"""Commits a transaction (step 4): flush, check both topics again, write the ledger, commit.

A topic that is deleted and recreated in the middle of a slice causes no error: the client consumes the new
topic and reports nothing. So both sides are asked for their topic ids after the last fetch, while the flush
runs; the ledger record is written only if the ids are unchanged.

A broker that lags the controller returns the old id. For the source that does not matter: Fetch names topics
by their ids (Kafka 3.1), and the client logs which id it took from metadata. That id must match the
position's too (`SourceConsumer.topic_ids`).
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from causeway.core.clock import now_ms
from causeway.core.ledger_record import Event, Heartbeat, LedgerRecord, encode
from causeway.core.position import Position
from causeway.core.task_order import TaskOrder
from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.delivery_reports import Unmapped
from causeway.kafka.ledger_topics import check_ledger
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer import DestinationProducer, EncodedRecord
from causeway.kafka.task_errors import Again
from causeway.replication.worker.rejected_records import check_reports
from causeway.replication.worker.source_checks import check_holes, looks_until
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task_state import TaskState
from causeway.replication.worker.timings import TimingsTopics
from causeway.rules.integrity import same_topic
from causeway.rules.offset_runs import OffsetRun

TopicQueries = list[tuple[str, ClusterView, dict[str, Future[Any]]]]
"""By cluster id; the destination's comes first, with none."""

RUNS_TOGETHER = 2_000
"""Most runs in one offset-map record: with placement by key each record is a run, and size is limited."""


class Committer:
    """Commits what the shard produced as one transaction."""

    def __init__(
        self,
        order: TaskOrder,
        producer: DestinationProducer,
        destination: ClusterView,
        task: TaskState,
        nodes: SourceNodes,
        carrier: str,
    ) -> None:
        self._order = order
        self._producer = producer
        self._destination = destination
        self._task = task
        self._nodes = nodes
        self._carrier = carrier
        self._timings = TimingsTopics(order, destination, task)
        self._heartbeat_at = 0.0

    @property
    def due(self) -> bool:
        """Whether a heartbeat or an event must be committed although no record was produced."""
        return time.monotonic() >= self._heartbeat_at or bool(self._task.events) or self._nodes.log.due

    def commit(
        self,
        states: Iterable[PartitionState],
        records: Sequence[LedgerRecord],
        sources: Mapping[str, ClusterView],
        fetched: Sequence[tuple[str, Mapping[str, Sequence[str]]]] = (),
        *,
        final: bool = False,
    ) -> float:
        """Commit what was produced for these partitions, with further ledger records.

        Returns how long the flush took.
        """
        moved = [state for state in states if state.next > state.position.offset]
        replicated = [state for state in moved if state.delivered or state.filtered or state.quarantined]
        producer, task = self._producer, self._task
        asked = self._ask(moved, sources)
        timings_asked = self._timings.request_descriptions(moved)
        count, size = producer.records, producer.size
        flushed = producer.flush() if producer.open else 0.0
        check_reports(replicated, self._producer, task)
        self._check_topics(moved, asked)
        _check_fetched(moved, fetched)
        at = now_ms()
        settled = [(state, *self._settle(state, at)) for state in moved]
        gaps: list[LedgerRecord] = []
        task.looks = 0
        deadline = looks_until(self._order)
        for number, (state, position, landed) in enumerate(settled):
            if position.tally.holes != state.position.tally.holes:
                view = sources[state.lane.source.cluster]
                position, passed = check_holes(self._order, view, state, position, landed, task, deadline)
                settled[number] = (state, position, landed)
                gaps += passed
        entries = [self._entry(gap) for gap in gaps]  # first: without transactions a crash may come between
        entries += [self._entry(position) for _, position, _ in settled]
        mapped = [
            self._map_entry(state, position, number, runs[first : first + RUNS_TOGETHER])
            for state, position, landed in settled
            for number, runs in landed.items()
            for first in range(0, len(runs), RUNS_TOGETHER)
        ]
        timings = self._timings.records(settled, timings_asked)  # before the signs: it may add an event
        signs = [*self._signs_of_life(at, final), *self._nodes.log.records(at, delivered=count > 0)]
        entries += [self._entry(record) for record in (*records, *signs)]
        if entries or producer.open:
            seconds = producer.seconds if producer.open else 0.0
            began = time.monotonic()
            producer.commit(entries, mapped, timings)
            task.transactions += 1
            task.transaction_seconds += seconds + time.monotonic() - began
        task.events = []
        self._nodes.log.committed(at, delivered=count > 0)
        task.records += count
        task.bytes += size
        for state, position, _ in settled:
            state.committed(position)
            ahead = [part for part in task.explained.pop(state.lane.source, ()) if part.end > position.offset]
            if ahead:
                task.explained[state.lane.source] = ahead
        return flushed

    def _settle(self, state: PartitionState, at: int) -> tuple[Position, dict[int, list[OffsetRun]]]:
        try:
            position, landed = state.next_position(at)
            return replace(position, lease=self._order.slice.lease), landed
        except Unmapped:
            self._task.report_each.add(state.lane.source)
            place = state.lane.place
            raise Again(
                f"another producer writes to {place.topic}[{place.partition}]: mapping each record"
            ) from None

    def _ask(self, moved: Sequence[PartitionState], sources: Mapping[str, ClusterView]) -> TopicQueries:
        places = {state.lane.place.topic for state in moved}
        requests = self._destination.request_descriptions({*places, self._order.ledger})
        asked: TopicQueries = [("", self._destination, requests)]
        for cluster_id, view in sources.items():
            topics = {state.lane.source.topic for state in moved if state.lane.source.cluster == cluster_id}
            asked.append((cluster_id, view, view.request_descriptions(topics)))
        return asked

    def _check_topics(self, moved: Sequence[PartitionState], asked: TopicQueries) -> None:
        try:
            (places, *topics_by_source) = [
                view.descriptions(futures, gone=self._nodes.gone(cluster_id))
                for cluster_id, view, futures in asked
            ]
        except CausewayError as error:
            raise Again(f"before a commit: {error}") from None
        order = self._order
        check_ledger(order.ledger, order.ledger_id, places.get(order.ledger), order.destination.alias)
        topics = {}
        for (cluster_id, _, _), facts in zip(asked[1:], topics_by_source, strict=True):
            topics.update({(cluster_id, name): fact for name, fact in facts.items()})
        for state in moved:
            source, place = state.lane.source, state.lane.place
            topic, destination = topics.get((source.cluster, source.topic)), places.get(place.topic)
            if topic is None or not same_topic(state.position.topic_id, topic.topic_id):
                raise Again(
                    f"the source topic {source.topic} changed while it was read: nothing of it is kept"
                )
            if destination is None or not same_topic(state.position.place.topic_id, destination.topic_id):
                raise Again(f"the destination topic {place.topic} changed while it was written")

    def _signs_of_life(self, at: int, final: bool) -> list[LedgerRecord]:
        order, task = self._order, self._task
        signs: list[LedgerRecord] = []
        for level, what in task.events:
            task.event_number += 1
            signs.append(Event(order.shard, task.event_number, at, level, what))
        if final or time.monotonic() >= self._heartbeat_at:
            self._heartbeat_at = time.monotonic() + order.limits.heartbeat
            host = socket.gethostname()
            sign = Heartbeat(
                order.shard, order.slice.lease, order.slice.number, at, host, os.getpid(), self._carrier,
                task.transactions, int(task.transaction_seconds * 1_000), task.records,
                task.restarts, task.group_commits, task.fetch_to_commit.counts,
                task.fetch_to_commit.total, final, int((time.monotonic() - task.began) * 1_000),
                self._nodes.names,
            )  # fmt: skip
            signs.append(sign)
        return signs

    def _entry(self, record: LedgerRecord) -> EncodedRecord:
        return (self._order.ledger, self._order.shard, *encode(record))

    def _map_entry(
        self, state: PartitionState, position: Position, partition: int, runs: Sequence[OffsetRun]
    ) -> EncodedRecord:
        source, place = position.source, position.place._replace(partition=partition)
        key = f"{source.cluster}|{source.topic}|{source.partition}"
        value: dict[str, object] = {"v": 1, "topic_id": position.topic_id, "to": list(place), "runs": runs}
        if self._order.produce.delivery != "exactly-once":
            value["base"] = (
                state.position.offset
            )  # no transaction binds ledger and offset map: rules/ledger_consistency.py
        encoded = json.dumps(value, separators=(",", ":")).encode()
        return (self._order.offset_map, self._order.shard, key.encode(), encoded)


def _check_fetched(
    moved: Iterable[PartitionState], fetched: Iterable[tuple[str, Mapping[str, Sequence[str]]]]
) -> None:
    """The topic ids that consumers fetched by must match the positions. A consumer may have logged none."""
    known = list(fetched)
    for state in moved:
        source = state.lane.source
        for cluster_id, ids in known:
            its_ids = ids.get(source.topic, ()) if cluster_id == source.cluster else ()
            if not all(same_topic(state.position.topic_id, topic_id) for topic_id in its_ids):
                raise Again(
                    f"the source topic {source.topic} was recreated while it was read: nothing of it is kept"
                )
