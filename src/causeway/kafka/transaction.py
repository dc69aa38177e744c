"""Transactions on the destination (invariants A and B): fence, begin, and commit or start over.

The rule that keeps an unknown outcome from becoming a duplicate: librdkafka repeats EndTxn inside
itself. When the first copy is late, commit returns OK for the second one, a new transaction opens
under the same epoch, and the late copy commits *that* one, before its ledger record is written; a kill
now, and the records behind the old position are carried again. So a commit slower than a second, or
any connection that was lost since the fence, ends the producer even though commit said OK: the next
one's epoch fences whatever is still on its way. librdkafka repairs a lost connection without an error,
so the log line is what tells of it; and it suppresses a line that it has just logged, so the first one
ends the producer, idle or not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from causeway.kafka.delivery import IdempotentDelivery
from causeway.kafka.outcome import Again
from causeway.model.cluster import Cluster
from causeway.model.order import Limits

SLOW_COMMIT_SECONDS = 1.0
REST_SECONDS = 0.004


class TransactionalDelivery(IdempotentDelivery):
    """Exactly-once: records, their positions and their map become visible together, or not at all."""

    reports_every_record = False  # a record that fails makes the transaction fail
    keeps_prefix = False  # and nothing of it is visible then

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
        """End every older attempt: from here only this producer can commit under the id."""
        with self._told("fencing"):
            # A handle that knows no broker yet asks for its coordinator again after half a second.
            self._producer.list_topics(timeout=self._limits.transaction_timeout)
            self._producer.init_transactions(self._limits.transaction_timeout)
        self._poll()
        self._shaken = ""  # nothing before the fence can matter after it

    def begin(self) -> None:
        if not self.open:
            self._poll()
            self._check_connection()
            # The commit was answered before its markers were written, and until then the broker turns
            # the next transaction away, for 20 ms each time. A short rest is the shorter way.
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

    def _check_connection(self) -> None:
        if self._shaken:
            raise Again(f"a connection to {self._cluster.alias} was lost: {self._shaken}")


def fence_ids(cluster: Cluster, ids: Iterable[str], limits: Limits) -> None:
    """End whatever runs under these transactional ids, and finish their transactions."""
    for transactional_id in ids:
        delivery = TransactionalDelivery(cluster, limits, "none", transactional_id=transactional_id)
        try:
            delivery.fence()
        finally:
            delivery.close()
