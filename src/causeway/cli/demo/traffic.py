"""Writes the demo's records to the source: plain, in committed transactions, and in aborted ones.

`committed` counts records that must arrive, each confirmed by the brokers; `aborted` those that must not.
A transaction stays open from one call of `write` to the next, so one may be open at a kill.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from causeway.cli.demo.records import PAYMENTS, TOPICS, DemoRecord, business, edge_cases
from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView

TRANSACTION_RECORDS = 200
ABORTED_RECORDS = 50
FLUSH_SECONDS = 60.0
_POLL_EVERY = 500


class Traffic:
    def __init__(self, source: Cluster) -> None:
        self.committed: Counter[str] = Counter()  # by topic
        self.aborted = 0
        self.written = 0  # of `business`, handed to the producers
        self._source = source
        self._in_transaction = 0
        self._errors: list[str] = []
        view = ClusterView(source)
        for topic in TOPICS:
            view.create_topic(topic.name, topic.partitions, 1, topic.config)
        self._plain = clients.producer(source)
        self._transactional = clients.producer(source, transactional_id="demo.payments")
        self._transactional.init_transactions(FLUSH_SECONDS)

    def write(self, count: int) -> None:
        """Write the next records of the shop."""
        for number in range(self.written, self.written + count):
            record = business(number)
            if record.topic == PAYMENTS:
                self._pay(record)
            else:
                self._produce(self._plain, record, self._confirm)
            if number % _POLL_EVERY == 0:
                self.poll()
        self.written += count

    def write_edge_cases(self) -> None:
        for record in edge_cases(time.time_ns() // 1_000_000):
            self._produce(self._plain, record, self._confirm)

    def poll(self) -> None:
        """Serve delivery reports."""
        self._plain.poll(0)

    def settle(self) -> None:
        """Commit the open transaction and flush: everything written so far is on the source."""
        if self._in_transaction:
            self._commit()
        left = self._plain.flush(FLUSH_SECONDS)
        if left or self._errors:
            raise CausewayError(
                "the demo's records could not be written",
                where=f"{self._source.alias}, {self._source.bootstrap_servers}",
                why=self._errors[0] if self._errors else f"{left} records wait since {FLUSH_SECONDS:.0f} s",
            )

    def _pay(self, record: DemoRecord) -> None:
        if not self._in_transaction:
            self._transactional.begin_transaction()
        self._produce(self._transactional, record, self._note_error)
        self._in_transaction += 1
        if self._in_transaction == TRANSACTION_RECORDS:
            self._commit()
            self._abort_one(record)

    def _commit(self) -> None:
        self._transactional.commit_transaction(FLUSH_SECONDS)
        self.committed[PAYMENTS] += self._in_transaction
        self._in_transaction = 0

    def _abort_one(self, like: DemoRecord) -> None:
        """Write a whole transaction to the log, then abort it."""
        self._transactional.begin_transaction()
        for _ in range(ABORTED_RECORDS):
            self._produce(self._transactional, like._replace(value=b"must never arrive"), self._note_error)
        self._transactional.flush(FLUSH_SECONDS)
        self._transactional.abort_transaction(FLUSH_SECONDS)
        self.aborted += ABORTED_RECORDS

    def _produce(self, producer: Any, record: DemoRecord, report: Any) -> None:
        while True:
            try:
                producer.produce(
                    record.topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp=record.timestamp,
                    headers=list(record.headers) or None,
                    on_delivery=report,
                )
                return
            except BufferError:
                producer.poll(0.1)  # the producer's queue is full

    def _confirm(self, error: Any, message: Any) -> None:
        if error is None:
            self.committed[message.topic()] += 1
        else:
            self._errors.append(str(error))

    def _note_error(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._errors.append(str(error))
