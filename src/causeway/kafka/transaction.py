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

from confluent_kafka import KafkaException

from causeway.core.position import Place
from causeway.core.task_order import Limits
from causeway.core.topic import Spot
from causeway.kafka.producer_client import ProducerClient
from causeway.kafka.task_errors import Again

SLOW_COMMIT_SECONDS = 1.0
REST_SECONDS = 0.004
ABORT_SECONDS = 1.0  # the client's main thread needs a millisecond; the rest is for the destination


class Transaction:
    """Exactly-once: records, positions and offset map entries become visible together, or not at all."""

    every_record_reports = False  # a record that fails makes the transaction fail
    visible_at_once = False  # a failed transaction never becomes visible

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id
        self._committed_at = 0.0

    def properties(self, limits: Limits) -> dict[str, object]:
        milliseconds = int(limits.transaction_timeout * 1000)
        return {"transactional_id": self._transactional_id, "transaction_timeout_ms": milliseconds}

    def fence(self, client: ProducerClient) -> None:
        """Fence every older attempt: from here on only this producer can commit under the id."""
        with client.translated("fencing"):
            # A handle that knows no broker yet retries its coordinator lookup after half a second.
            client.connect()
            client.handle.init_transactions(client.timeout)
        client.poll()
        client.connection_lost = ""  # a connection lost before the fence does not matter after it

    def begin(self, client: ProducerClient) -> None:
        client.poll()
        _check_connection(client)
        # The coordinator responds to a commit before its markers are written. Until they are, the
        # broker rejects the next transaction, for 20 ms each time. A short sleep takes less time.
        rest = self._committed_at + REST_SECONDS - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        with client.translated("beginning a transaction"):
            client.handle.begin_transaction()

    def commit(self, client: ProducerClient) -> None:
        began = time.monotonic()
        with client.translated("committing"):
            client.handle.commit_transaction(client.timeout)
        self._committed_at = time.monotonic()
        took = self._committed_at - began
        client.poll()
        if took > SLOW_COMMIT_SECONDS:
            raise Again(
                f"the commit on {client.cluster.alias} took {took:.1f} s: its outcome counts as unknown"
            )
        _check_connection(client)

    def abandon(self, client: ProducerClient) -> None:
        """Begin to abort, so that destroying the producer cannot end the process.

        librdkafka (2.16.0) may fail an assertion, `txn_req_cnt > 0`, where a producer is destroyed while its
        main thread sends AddPartitionsToTxn: the broker's thread sees the destroy and fails the request
        before the main thread has counted it. Once an abort has begun, the main thread sends no such request.
        The abort's result does not matter: where the destination does not respond, or a commit's outcome is
        unknown and the client rejects the abort, the next fence ends the transaction.
        """
        with contextlib.suppress(KafkaException, SystemError):
            client.handle.abort_transaction(ABORT_SECONDS)

    def must_wait_for_first(self, _place: Place) -> bool:
        return False

    def first_acknowledged(self, places: Iterable[Spot]) -> None:
        """Does nothing."""


def _check_connection(client: ProducerClient) -> None:
    if client.connection_lost:
        raise Again(f"a connection to {client.cluster.alias} was lost: {client.connection_lost}")
