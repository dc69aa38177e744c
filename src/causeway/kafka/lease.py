"""The driver's lease: only one instance of a mirror makes progress (invariant F).

Only the driver writes the control partition, under a transactional id of its own. Taking the lease
fences the previous driver; a driver that is fenced checks whether a newer lease exists. The newer number
always wins, so it is always the older instance that stops:

    A holds lease 4.  B starts: fences A's id, reads lease 4, commits lease 5.
    A's next heartbeat is fenced. A fences B's id in turn, reads lease 5, and stops, having written nothing.
    B's next heartbeat is fenced. B fences, reads its own lease 5, and continues to write.
"""

from __future__ import annotations

import os
import random
import socket
import time
import uuid
from collections.abc import Iterable
from dataclasses import replace

from causeway import failpoint
from causeway.core.choices import Delivery
from causeway.core.clock import now_ms
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL, Cut, Generation, Heartbeat, Lease, LedgerRecord, encode
from causeway.core.position import Position
from causeway.core.task_order import Limits, ledger_topic, transactional_id
from causeway.errors import CausewayError, IntegrityError, Superseded, Unreachable
from causeway.kafka.admin import ClusterView
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.hanging_transactions import end_control, end_ledgers
from causeway.kafka.ledger import LedgerReader, read_image
from causeway.kafka.producer import DestinationProducer, fence_ids
from causeway.kafka.task_errors import Again, Fenced
from causeway.kafka.transaction import Transaction
from causeway.rules.integrity import same_topic, shown
from causeway.rules.ledger_state import LedgerState
from causeway.rules.sharding import shard_of

WRITE_SECONDS = 5.0
ACQUIRE_SECONDS = 60.0


class Control:
    """Writes the control partition for as long as this instance's lease is the newest."""

    def __init__(self, cluster: Cluster, mirror: str, delivery: Delivery, limits: Limits) -> None:
        self._cluster = cluster
        self._view = ClusterView(cluster)
        self._mirror = mirror
        self._delivery: Delivery = delivery
        self._limits = replace(limits, transaction_timeout=max(WRITE_SECONDS, 5.0))
        self._writer: DestinationProducer | None = None
        self.lease = 0
        self.notices: list[str] = []  # what was done about hanging transactions

    def acquire(self, ledger_id: str) -> None:
        """Take the lease, on the ledger with this topic id."""
        deadline = time.monotonic() + ACQUIRE_SECONDS
        while True:
            try:
                self._open()
                image = self._control_image(ACQUIRE_SECONDS)
                refuse_copy(image.lease, ledger_id, f"topic {ledger_topic(self._mirror)}")
                number = image.newest_lease() + 1
                record = Lease(
                    number, uuid.uuid4().hex, socket.gethostname(), os.getpid(), now_ms(), ledger_id
                )
                self._commit([(CONTROL, record)])
                self.lease = number
                if self._is_mine(record):
                    return
            except (Again, Fenced) as error:
                # Another instance starts at the same moment. The one that commits first has the older lease.
                self.close()
                if time.monotonic() > deadline:
                    raise Unreachable(
                        "the lease cannot be taken", where=self._mirror, why=str(error)
                    ) from None
                time.sleep(random.uniform(0.05, 0.5))

    def write(self, records: Iterable[tuple[int, LedgerRecord]]) -> None:
        """Commit records to partitions of the ledger, together.

        Raises Superseded when a newer lease exists, Again when the destination does not respond.
        """
        try:
            self._write(list(records))
        except Again as error:
            error.cluster = self._cluster.alias
            raise

    def _write(self, entries: list[tuple[int, LedgerRecord]]) -> None:
        try:
            if self._writer is None:
                self._reopen()
            self._commit(entries)
        except Fenced:
            self._reopen()
            self._retry(entries)
        except Again:
            self.close()
            raise

    def wait_visible(self) -> None:
        """Return once read_committed readers see everything that was written to the control partition.

        The coordinator responds to a commit when it has decided it. It writes the markers after that, and
        only they move the last stable offset.
        """
        try:
            self._control_image()
        except CausewayError as error:
            raise Again(str(error), cluster=self._cluster.alias) from None

    def heartbeat(self, slice_number: int) -> None:
        beat = Heartbeat(0, self.lease, slice_number, now_ms(), socket.gethostname(), os.getpid())
        self.write([(CONTROL, beat)])

    def cut(self, slice_number: int, reason: str) -> None:
        self.write([(CONTROL, Cut(self.lease, slice_number, reason, now_ms()))])

    def settle_shards(self, shards: int) -> Generation:
        """Return the current generation; changes it first if the shard count differs (invariant C).

        The lease is committed already. So an old instance's attempt that fences back reads the newer
        lease and ends: no position moves any more once all ids, old and new, are fenced. (The fence also ends
        the transactions that a killed instance left open: reading past them would wait for their timeout.)
        Only then does the driver read the positions, and write them to their new ledger partitions in one
        transaction with the generation itself. A kill anywhere before that commit leaves the old generation
        intact.
        """
        known = self._control_image().generation
        if self._delivery == "exactly-once":
            most = max(shards, known.shards if known else 0)
            ids = [transactional_id(self._mirror, shard) for shard in range(1, most + 1)]
            fence_ids(self._cluster, ids, self._limits)
            self.notices += end_ledgers(self._view, self._mirror, range(1, most + 1), self._limits)
        if known is not None and known.shards == shards:
            return known
        generation = Generation(self.lease, shards, now_ms())
        image = read_image(self._cluster, self._mirror, ACQUIRE_SECONDS) if known else LedgerState()
        failpoint.reach("before-generation")
        self._reopen()  # a new epoch: no late commit of an earlier transaction can commit a part of this
        self.write(
            [
                *(
                    (shard_of(source, shards), _moved(position, self.lease))
                    for source, position in image.positions.items()
                ),
                *((shard_of(hidden.source, shards), hidden) for hidden in image.hidden),
                (CONTROL, generation),
            ]
        )
        failpoint.reach("after-generation")
        return generation

    def begin(self, positions: Iterable[Position], shards: int) -> None:
        """Commit first positions to the shards' partitions of the ledger, in one transaction.

        `settle_shards` has fenced every shard under this lease, and no order of it exists yet: an attempt of
        an older instance that fences back reads the newer lease and ends, having written nothing. So nothing
        else writes these partitions. A newer instance fences this writer: either it reads these positions, or
        `write` finds the newer lease and raises Superseded. A kill leaves all of them, or none.

        Without transactions a kill can leave some. Their topics count as known at the next start, and the
        other partitions of these topics begin at earliest: more is replicated, and nothing is lost.
        """
        self._reopen()  # as in settle_shards: no late commit can commit a part of this
        self.write([(shard_of(position.source, shards), position) for position in positions])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _retry(self, entries: list[tuple[int, LedgerRecord]]) -> None:
        try:
            self._commit(entries)
        except (Again, Fenced) as error:
            self.close()
            raise Again(str(error)) from None

    def _open(self) -> None:
        self.close()
        exactly_once = self._delivery == "exactly-once"
        guarantee = Transaction(transactional_id(self._mirror, 0)) if exactly_once else AtLeastOnce()
        self._writer = DestinationProducer(self._cluster, self._limits, "none", guarantee)
        self._writer.fence()
        if self._delivery == "exactly-once":
            self._end_hanging()

    def _end_hanging(self) -> None:
        """End a transaction that a broker forgot to end: the control partition could not be read past it."""
        if end_control(self._view, self._mirror, self._limits):
            self.notices.append("a hanging transaction of the driver was aborted")
            raise Again("a hanging transaction was aborted in the control partition")

    def _reopen(self) -> None:
        """Fence, then check that the lease is still ours; only then write."""
        try:
            self._open()
            newest = self._control_image().newest_lease()
        except Fenced as error:
            raise Again(str(error)) from None
        except CausewayError as error:
            self.close()
            raise Again(str(error)) from None
        if newest > self.lease:
            self.close()
            raise Superseded(
                f"a newer instance of this mirror holds lease {newest}, this one {self.lease}",
                where=f'mirror "{self._mirror}"',
            )

    def _is_mine(self, lease: Lease) -> bool:
        """Without transactions two instances can write the same number; the later one keeps it."""
        return self._delivery == "exactly-once" or self._control_image().lease == lease

    def _control_image(self, seconds: float = WRITE_SECONDS) -> LedgerState:
        reader = LedgerReader(self._cluster, self._mirror, [CONTROL])
        try:
            return reader.read_to_end(seconds)
        finally:
            reader.close()

    def _commit(self, entries: list[tuple[int, LedgerRecord]]) -> None:
        assert self._writer is not None
        topic = ledger_topic(self._mirror)
        self._writer.commit([(topic, partition, *encode(record)) for partition, record in entries])


def refuse_copy(lease: Lease | None, ledger_id: str, where: str) -> None:
    """Raise where the records were written to another topic: the ledger was deleted, and a copy restored.

    The age of the copy is unknown. What it lacks would be replicated again.
    """
    if lease is not None and lease.ledger_id and not same_topic(lease.ledger_id, ledger_id):
        raise IntegrityError(
            "this ledger is a copy: its records were written to a topic that no longer exists",
            where=where,
            why=f"its topic id was {shown(lease.ledger_id)}, and is {shown(ledger_id)} now",
            todo="its positions may be out of date: replicate under a new mirror name,"
            " or `causeway adopt` under it",
        )


def _moved(position: Position, generation: int) -> Position:
    return replace(position, generation=generation)


def finish_transactions(cluster: Cluster, mirror: str, shards: int, limits: Limits) -> None:
    """After a stop no transaction stays open: fence every shard, which aborts what it had begun."""
    quick = replace(limits, transaction_timeout=max(WRITE_SECONDS, 5.0))
    fence_ids(cluster, [transactional_id(mirror, shard) for shard in range(1, shards + 1)], quick)
