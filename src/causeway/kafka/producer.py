"""Produces to the destination: records, flush, then the ledger record.

One producer is made of parts: a client handle that waits and translates errors (producer_client.py), a
delivery guarantee (a transaction, or delivery_guarantee.py without one), and the loop that produces consumed
records (produce_loop.py, or the compiled one in native/). It does not know who calls it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from causeway import failpoint
from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.delivery_guarantee import AtLeastOnce, DeliveryGuarantee
from causeway.kafka.exceptional_records import ProducedCounts
from causeway.kafka.failures import is_poison, is_refusal, may_not
from causeway.kafka.partition_state import PartitionStates
from causeway.kafka.produce_loop import ObjectProduceLoop, ProduceLoop
from causeway.kafka.producer_client import ProducerClient
from causeway.kafka.schema_ids import SchemaIds
from causeway.kafka.task_errors import Again
from causeway.kafka.transaction import Transaction
from causeway.rules.added_headers import AddedHeaders

EncodedRecord = tuple[str, int, bytes, bytes]
"""A record of the ledger, the offset map or the timings: topic, partition, key, value."""


class ProducerKind(NamedTuple):
    """The parts of a producer that differ between carriers."""

    make_handle: clients.Make
    make_loop: Callable[
        [ProducerClient, DeliveryGuarantee, Limits, ProducedCounts, SchemaIds | None], ProduceLoop
    ]


OBJECT = ProducerKind(clients.ObjectProducer, ObjectProduceLoop)


class DestinationProducer:
    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        compression: str,
        guarantee: DeliveryGuarantee,
        *,
        partitioner: str = "murmur2_random",
        single: bool = False,  # one record per batch
        kind: ProducerKind = OBJECT,
        schemas: SchemaIds | None = None,  # ids that records must have at the destination
    ) -> None:
        self._limits = limits
        self._guarantee = guarantee
        self._ledger_error: KafkaError | None = None
        self.rejected_timings: dict[str, str] = {}  # topics that rejected a record of timings, and why
        self._begun = 0.0
        self._counts = ProducedCounts()
        self.client = ProducerClient(
            cluster,
            limits,
            kind.make_handle,
            compression_type=compression,
            partitioner=partitioner,
            batch_num_messages=1 if single else 100_000,
            **guarantee.properties(limits),
        )
        self._loop = kind.make_loop(self.client, guarantee, limits, self._counts, schemas)

    @property
    def records(self) -> int:
        """Records of the open transaction."""
        return self._counts.records

    @property
    def size(self) -> int:
        """Bytes of their keys and values."""
        return self._counts.bytes

    @property
    def open(self) -> bool:
        return self._begun > 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    @property
    def visible_at_once(self) -> bool:
        """Whether records are visible before the commit."""
        return self._guarantee.visible_at_once

    def fence(self) -> None:
        self._guarantee.fence(self.client)

    def begin(self) -> None:
        if not self.open:
            self._guarantee.begin(self.client)
            self._begun = time.monotonic()

    def replicate(self, messages: Any, states: PartitionStates, added: AddedHeaders | None = None) -> None:
        """Produce consumed messages, with further headers where some are given.

        Messages of one partition come in offset order, without errors. They are released in any case: before
        a native consumer's handle ends, it waits for each of its messages, forever.
        """
        try:
            self.begin()
        except BaseException:
            self._loop.release(messages)
            raise
        self._loop.replicate(messages, states, added)
        self.client.poll()
        failpoint.reach("after-produce")

    def drain(self) -> None:
        """Wait until everything that was produced is acknowledged, inside a transaction."""
        self.client.drain()

    def flush(self) -> float:
        """Wait until the destination has everything; returns how long that took."""
        began = time.monotonic()
        self.client.drain()
        if self.records:
            failpoint.reach("after-flush")
        seconds = time.monotonic() - began
        self._loop.flushed()
        return seconds

    def commit(
        self,
        ledger: Iterable[EncodedRecord],
        mapped: Sequence[EncodedRecord] = (),
        timings: Sequence[EncodedRecord] = (),
    ) -> None:
        """Write timings, records of the offset map, then of the ledger, and make all visible together."""
        self.begin()
        for topic, partition, key, value in timings:
            report = partial(self._on_timings_report, topic)
            self.client.send("writing timings", None, topic, value, key, partition, report)
        self._write("writing the offset map", mapped)
        if (mapped or timings) and self.visible_at_once:
            # A kill between the two leaves entries in the map that the ledger lacks, and these entries
            # explain that (rules/ledger_consistency.py). In the other order the map would lack forever what
            # the ledger counts.
            try:
                self._wait_acknowledged("writing the offset map")
            except Again:
                self._write_ledger_alone(ledger)
                raise
            failpoint.reach("after-map")
        self._write("writing the ledger", ledger)
        self._wait_acknowledged("writing the ledger")
        if self.records:
            failpoint.reach("after-ledger")
        self._guarantee.commit(self.client)
        if self.records:
            failpoint.reach("after-commit")
        self._begun = 0.0
        self._counts.records = self._counts.bytes = 0
        self._loop.committed()

    def close(self) -> None:
        """Destroy the client's handle, and drop what it still holds."""
        if self.open:
            self._guarantee.abandon(self.client)
        self.client.close()

    def _write(self, doing: str, entries: Iterable[EncodedRecord]) -> None:
        for topic, partition, key, value in entries:
            self.client.send(doing, None, topic, value, key, partition, self._on_ledger_report)

    def _write_ledger_alone(self, ledger: Iterable[EncodedRecord]) -> None:
        """The records are there and their map is not: they come once, and the map lacks them.

        Without the ledger each attempt would produce them once more, for as long as the map cannot be
        written. A rejected map entry has ended this producer (enable.gapless.guarantee): another one writes.
        """
        with contextlib.suppress(Again, CausewayError):
            alone = DestinationProducer(self.client.cluster, self._limits, "none", AtLeastOnce())
            try:
                alone.commit(ledger)
            finally:
                alone.close()

    def _wait_acknowledged(self, doing: str) -> None:
        self.client.drain()
        for topic, why in self.rejected_timings.items():
            raise Again(f"topic {topic} rejected a record of timings: {why}")
        if self._ledger_error is not None:
            raise self.client.failure(doing, KafkaException(self._ledger_error))

    def _on_timings_report(self, topic: str, error: KafkaError | None, _message: Any) -> None:
        self._ledger_error = error or self._ledger_error
        if error is not None and (is_poison(error) or is_refusal(error) or may_not(error)):
            self.rejected_timings[topic] = error.str()

    def _on_ledger_report(self, error: KafkaError | None, _message: Any) -> None:
        self._ledger_error = error or self._ledger_error
        if error is not None and may_not(error):
            self.client.denied.add("")  # `check_rights` finds out which topic it is


def fence_ids(cluster: Cluster, ids: Iterable[str], limits: Limits) -> None:
    """Fence these transactional ids, which ends their open transactions."""
    for transactional_id in ids:
        producer = DestinationProducer(cluster, limits, "none", Transaction(transactional_id))
        try:
            producer.fence()
        finally:
            producer.close()
