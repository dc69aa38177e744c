"""Closing a transaction (step 4): flush, look once more at both topics, write the ledger, commit.

A topic that was deleted and created again in the middle of a slice gives no error at all: the client
delivers from the new one without a word. So both sides are asked for their topic ids after the last
fetch, while the flush goes on; only when they are still the same does the ledger record get written.
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

from causeway.errors import CausewayError
from causeway.kafka.admin import ClusterView
from causeway.kafka.delivery import IdempotentDelivery
from causeway.kafka.failures import is_poison, is_refusal
from causeway.kafka.lane import OpenLane, Unmapped
from causeway.kafka.ledger_topics import check_ledger
from causeway.kafka.outcome import Again, Refused
from causeway.model.order import Order
from causeway.model.position import Position
from causeway.model.record import Event, Heartbeat, Record, encode
from causeway.pipeline.memory import Memory, now_ms
from causeway.pipeline.source_checks import check_holes
from causeway.policy.integrity import same_topic
from causeway.policy.repeats import rejected
from causeway.policy.runs import Run

Asked = list[tuple[ClusterView, dict[str, Future[Any]]]]
Entry = tuple[str, int, bytes, bytes]

LOOKS_SHARE = 0.25
"""The part of the transaction timeout in which a commit may look into holes of source logs."""

RUNS_TOGETHER = 2_000
"""Most runs in one record of the offset map: by key each record is a run, and records have a largest size."""


class Closing:
    """Turns what the lanes carried into one committed transaction."""

    def __init__(
        self,
        order: Order,
        delivery: IdempotentDelivery,
        destination: ClusterView,
        memory: Memory,
        carrier: str,
    ) -> None:
        self._order = order
        self._delivery = delivery
        self._destination = destination
        self._memory = memory
        self._carrier = carrier
        self._heartbeat_at = 0.0

    @property
    def due(self) -> bool:
        """Whether the ledger must hear something although no record was carried."""
        return time.monotonic() >= self._heartbeat_at or bool(self._memory.events)

    def commit(
        self,
        lanes: Iterable[OpenLane],
        records: Sequence[Record],
        sources: Mapping[str, ClusterView],
        *,
        final: bool = False,
    ) -> float:
        """Commit what the lanes carried, with further ledger records; answers how long the flush took."""
        moved = [lane for lane in lanes if lane.next > lane.position.offset]
        carried = [lane for lane in moved if lane.delivered or lane.filtered or lane.asides]
        delivery, memory = self._delivery, self._memory
        asked = self._ask(moved, sources)
        count, size = delivery.records, delivery.bytes
        flushed = delivery.flush() if delivery.open else 0.0
        self._check_reports(carried)
        self._check_topics(moved, asked)
        at = now_ms()
        settled = [(lane, *self._settle(lane, at)) for lane in moved]
        gaps: list[Record] = []
        memory.looks = 0
        deadline = time.monotonic() + self._order.limits.transaction_timeout * LOOKS_SHARE
        for number, (lane, position, landed) in enumerate(settled):
            if position.tally.holes != lane.position.tally.holes:
                view = sources[lane.lane.source.cluster]
                position, passed = check_holes(self._order, view, lane, position, landed, memory, deadline)
                settled[number] = (lane, position, landed)
                gaps += passed
        entries = [self._entry(gap) for gap in gaps]  # without transactions a crash may fall between
        entries += [self._entry(position) for _, position, _ in settled]
        entries += [
            self._map_entry(position, number, runs[first : first + RUNS_TOGETHER])
            for _, position, landed in settled
            for number, runs in landed.items()
            for first in range(0, len(runs), RUNS_TOGETHER)
        ]
        entries += [self._entry(record) for record in (*records, *self._signs_of_life(at, final))]
        if entries or delivery.open:
            seconds = delivery.seconds if delivery.open else 0.0
            began = time.monotonic()
            delivery.commit(entries)
            memory.transactions += 1
            memory.transaction_seconds += seconds + time.monotonic() - began
        memory.events = []
        memory.records += count
        memory.bytes += size
        for lane, position, _ in settled:
            lane.committed(position)
            memory.explained.pop(lane.lane.source, None)
        return flushed

    def _settle(self, lane: OpenLane, at: int) -> tuple[Position, dict[int, list[Run]]]:
        try:
            position, landed = lane.settled(at)
            return replace(position, lease=self._order.lease), landed
        except Unmapped:
            self._memory.careful.add(lane.lane.source)
            place = lane.lane.place
            raise Again(
                f"another producer writes to {place.topic}[{place.partition}]: mapping each record"
            ) from None

    def _ask(self, moved: Sequence[OpenLane], sources: Mapping[str, ClusterView]) -> Asked:
        places = {lane.lane.place.topic for lane in moved}
        asked = [(self._destination, self._destination.ask_to_describe({*places, self._order.ledger}))]
        for cluster_id, view in sources.items():
            topics = {lane.lane.source.topic for lane in moved if lane.lane.source.cluster == cluster_id}
            asked.append((view, view.ask_to_describe(topics)))
        return asked

    def _check_topics(self, moved: Sequence[OpenLane], asked: Asked) -> None:
        try:
            (places, *found) = [view.described(answers) for view, answers in asked]
        except CausewayError as error:
            raise Again(f"before a commit: {error}") from None
        order = self._order
        check_ledger(order.ledger, order.ledger_id, places.get(order.ledger), order.destination.alias)
        topics = {}
        for (view, _), facts in zip(asked[1:], found, strict=True):
            topics.update({(view.cluster_id(), name): fact for name, fact in facts.items()})
        for lane in moved:
            source, place = lane.lane.source, lane.lane.place
            topic, destination = topics.get((source.cluster, source.topic)), places.get(place.topic)
            if topic is None or not same_topic(lane.position.topic_id, topic.topic_id):
                raise Again(
                    f"the source topic {source.topic} changed while it was read: nothing of it is kept"
                )
            if destination is None or not same_topic(lane.position.place.topic_id, destination.topic_id):
                raise Again(f"the destination topic {place.topic} changed while it was written")

    def _check_reports(self, carried: Sequence[OpenLane]) -> None:
        """Records that the destination will never take are remembered, once it is known which ones they are.

        Their transaction fails as a whole, so records of other lanes may be reported as failed beside them.
        """
        memory = self._memory
        for lane in carried:
            for error in filter(is_poison, lane.refused_aside()):
                memory.no_quarantine.add(lane.lane.source)
                raise Again(f"the quarantine did not take a record of {lane.lane.source}: {error.str()}")
        failed = [(lane, *refused) for lane in carried for refused in lane.refused()]
        if not failed:
            return
        poisonous = [one for one in failed if is_poison(one[2])]
        lane, offset, error = (poisonous or failed)[0]
        if poisonous and memory.single:
            for one in poisonous:
                memory.poison.setdefault(one[0].lane.source, {})[one[1]] = one[0].refusal(*one[1:])
            memory.single = False
            raise Again(f"{lane.lane.source} offset {offset} is not taken: {error.str()}")
        refusals = [one for one in failed if is_refusal(one[2])]
        if memory.single and self._count(refusals):
            raise Again(f"{lane.lane.source} offset {offset} is not taken: {error.str()}")
        lane, offset, error = (poisonous or refusals or failed)[0]
        kind = Refused if poisonous or refusals or self._delivery.refused else Again
        raise kind(f"{lane.lane.source} offset {offset} was not taken: {error.str()}")

    def _count(self, refusals: Sequence[tuple[OpenLane, int, Any]]) -> bool:
        """Count what brokers rejected; returns whether a record has its verdict now.

        With one record a batch an error is of that record alone. Only the first one of each lane counts:
        those after it are rejected with it, and would start the count anew each time.
        """
        first: dict[OpenLane, tuple[int, Any]] = {}
        for lane, offset, error in refusals:
            if lane not in first or offset < first[lane][0]:
                first[lane] = (offset, error)
        known = False
        for lane, (offset, error) in first.items():
            source, topic = lane.lane.source, lane.lane.place.topic
            known |= self._memory.failed_at(rejected(source, offset, topic, error.code(), error.str()))
        return known

    def _signs_of_life(self, at: int, final: bool) -> list[Record]:
        order, memory = self._order, self._memory
        signs: list[Record] = []
        for level, what in memory.events:
            memory.event_number += 1
            signs.append(Event(order.shard, memory.event_number, at, level, what))
        if final or time.monotonic() >= self._heartbeat_at:
            self._heartbeat_at = time.monotonic() + order.limits.heartbeat
            host = socket.gethostname()
            sign = Heartbeat(
                order.shard, order.lease, order.slice, at, host, os.getpid(), self._carrier,
                memory.transactions, int(memory.transaction_seconds * 1_000), memory.records,
                memory.restarts, memory.group_commits, memory.carrying.counts, memory.carrying.total, final,
                int((time.monotonic() - memory.began) * 1_000),
            )  # fmt: skip
            signs.append(sign)
        return signs

    def _entry(self, record: Record) -> Entry:
        return (self._order.ledger, self._order.shard, *encode(record))

    def _map_entry(self, position: Position, partition: int, runs: Sequence[Run]) -> Entry:
        source, place = position.source, position.place._replace(partition=partition)
        key = f"{source.cluster}|{source.topic}|{source.partition}"
        value = {"v": 1, "topic_id": position.topic_id, "to": list(place), "runs": runs}
        encoded = json.dumps(value, separators=(",", ":")).encode()
        return (self._order.offset_map, self._order.shard, key.encode(), encoded)
