"""Transactions on the destination (invariants A and B): fence, begin, and commit or start over.

An unknown outcome must not become a duplicate. librdkafka retries EndTxn internally. When the first copy is
late, commit returns OK for the second one, a new transaction opens under the same epoch, and the late copy
commits *that* one, before its ledger record is written. After a kill at this point, the records after the old
position are replicated again.

So a commit slower than a second, or any connection lost since the fence, ends the producer even though commit
returned OK: the epoch of the next producer fences whatever is still in flight. librdkafka repairs a lost
connection without an error; only a log line reports it. librdkafka also suppresses a line that it has just
logged, so the first one ends the producer, idle or not.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaException

from causeway.core.cluster import Cluster
from causeway.core.task_order import Limits
from causeway.kafka.producer import IdempotentProducer
from causeway.kafka.task_errors import Again

SLOW_COMMIT_SECONDS = 1.0
REST_SECONDS = 0.004
ABORT_SECONDS = 1.0  # the client's main thread needs a millisecond; the rest is for the destination


class TransactionalProducer(IdempotentProducer):
    """Exactly-once: records, positions and offset map entries become visible together, or not at all."""

    reports_every_record = False  # a record that fails makes the transaction fail
    keeps_prefix = False  # a failed transaction never becomes visible

    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        compression: str,
        *,
        transactional_id: str,
        partitioner: str = "murmur2_random",
        single: bool = False,
    ) -> None:
        self._transactional_id = transactional_id
        self._visible_at = 0.0
        super().__init__(cluster, limits, compression, partitioner=partitioner, single=single)

    def _kind(self, limits: Limits) -> dict[str, object]:
        milliseconds = int(limits.transaction_timeout * 1000)
        return {"transactional_id": self._transactional_id, "transaction_timeout_ms": milliseconds}

    def fence(self) -> None:
        """Fence every older attempt: from here on only this producer can commit under the id."""
        with self._told("fencing"):
            # A handle that knows no broker yet retries its coordinator lookup after half a second.
            self._producer.list_topics(timeout=self._limits.transaction_timeout)
            self._producer.init_transactions(self._limits.transaction_timeout)
        self._poll()
        self._shaken = ""  # a connection lost before the fence does not matter after it

    def begin(self) -> None:
        if not self.open:
            self._poll()
            self._check_connection()
            # The coordinator responds to a commit before its markers are written. Until they are, the
            # broker rejects the next transaction, for 20 ms each time. A short sleep takes less time.
            rest = self._visible_at + REST_SECONDS - time.monotonic()
            if rest > 0:
                time.sleep(rest)
            with self._told("beginning a transaction"):
                self._producer.begin_transaction()
            super().begin()

    def _make_visible(self) -> None:
        began = time.monotonic()
        with self._told("committing"):
            self._producer.commit_transaction(self._limits.transaction_timeout)
        self._visible_at = time.monotonic()
        took = self._visible_at - began
        self._poll()
        if took > SLOW_COMMIT_SECONDS:
            raise Again(
                f"the commit on {self._cluster.alias} took {took:.1f} s: its outcome counts as unknown"
            )
        self._check_connection()

    def close(self) -> None:
        if self.open:
            abort_before_destroy(self._producer)
        super().close()

    def _check_connection(self) -> None:
        if self._shaken:
            raise Again(f"a connection to {self._cluster.alias} was lost: {self._shaken}")


def abort_before_destroy(producer: Any) -> None:
    """Begin to abort, so that destroying the producer cannot end the process.

    librdkafka (2.16.0) may fail an assertion, `txn_req_cnt > 0`, where a producer is destroyed while its main
    thread sends AddPartitionsToTxn: the broker's thread sees the destroy and fails the request before the
    main thread has counted it. Once an abort has begun, the main thread sends no such request. The abort's
    result does not matter: where the destination does not respond, or a commit's outcome is unknown and the
    client rejects the abort, the next fence ends the transaction.
    """
    with contextlib.suppress(KafkaException, SystemError):
        producer.abort_transaction(ABORT_SECONDS)


def fence_ids(cluster: Cluster, ids: Iterable[str], limits: Limits) -> None:
    """Fence these transactional ids, which ends their open transactions."""
    for transactional_id in ids:
        delivery = TransactionalProducer(cluster, limits, "none", transactional_id=transactional_id)
        try:
            delivery.fence()
        finally:
            delivery.close()
