"""A producer handle that waits for the destination, and translates what the client reports.

Every failure becomes Again, Refused or Fenced, whichever call, callback or log line reports it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, ThrottleEvent

from causeway.core.cluster import Cluster
from causeway.core.position import SourcePartition
from causeway.core.task_order import Limits
from causeway.kafka import clients
from causeway.kafka.connection_failures import may_need_new_client
from causeway.kafka.failures import as_user_error, error_of, is_fenced
from causeway.kafka.task_errors import Again, Fenced, Refused, Unfit
from causeway.rules.repeats import too_large_for_client, too_large_for_queue

CONNECT_SECONDS = 1.0
STUCK_SECONDS = 3.0

CONNECTION_LOST = re.compile(
    r"^(FAIL\b.*in state (UP|REAUTH|AUTH_HANDSHAKE|AUTH_REQ)\b|REQTMOUT\b)", re.DOTALL
)
"""A connection that authenticates again is in use: requests may be in flight. Its state is then that of the
authentication, as that of a new connection is, so a new connection that is refused counts as lost too."""
TRANSACTION_FAILED = re.compile(r"^TXNERR\b.*\([A-Z]\w*[^()]*\)\s*$", re.DOTALL)
"""A transaction that the destination failed; names of the client's own errors begin with _."""
GAPLESS = re.compile(r"^FATAL\b.*Gap-less ordering", re.DOTALL)
"""A rejection without a transaction. The client logs it before it raises it, and may lose the exception."""
DENIED = re.compile(
    r'^ADDPARTS\b.*Failed to add partition "(?P<topic>.*)" \[-?\d+\].*opic authorization failed'
)
"""A topic that the transaction may not write to. Its records are never sent, so none of them reports it."""


class RecordOrigin(NamedTuple):
    """The source record for which something is produced."""

    partition: SourcePartition
    offset: int


class ProducerClient:
    def __init__(self, cluster: Cluster, limits: Limits, make: clients.Make, **properties: object) -> None:
        self.cluster = cluster
        self.timeout = limits.transaction_timeout
        self.connection_lost = ""  # how a connection was lost that may have had a request in flight
        self._trouble = ""  # the last problem that the client reported
        self._refusals: list[KafkaError] = []  # how the destination refused this client last
        # How the open transaction failed. The client then drops what it still holds, and reports
        # that as purged. It reports the rejected record itself only where it has a delivery callback.
        self._rejection = ""
        self.denied: set[str] = set()  # topics that this user may not write to; "": one of unknown name
        self._throttled = 0.0  # until when a quota of the destination makes us wait
        self._queue_kbytes = max(1024, limits.queue_bytes // 1024)
        self.handle: Any = clients.producer(
            cluster,
            make=make,
            on_error=self._on_error,
            on_log=self._on_log,
            on_throttle=self._on_throttle,
            queue_buffering_max_kbytes=self._queue_kbytes,
            queue_buffering_max_messages=limits.queue_records,
            batch_size=limits.batch_bytes,
            socket_timeout_ms=int(min(10.0, self.timeout) * 1000),
            **properties,
        )

    def close(self) -> None:
        """Destroy the producer, and drop what it still holds.

        Never call the client's own close(): it would keep delivering for minutes. An open transaction is
        aborted before (`Transaction.abandon`), or else by the next fence.
        """
        with contextlib.suppress(KafkaException, SystemError):
            self.handle.purge()
        del self.handle

    def connect(self) -> None:
        """Wait until the destination responds. Raises Again at once where it refuses this client.

        The next attempt has a new client, with the secrets as they are then.
        """
        for seconds in (CONNECT_SECONDS, self.timeout):
            try:
                self.handle.list_topics(timeout=seconds)
                return
            except KafkaException as exception:
                error = error_of(exception)
            self.handle.poll(0)
            if self._refusals:
                break
        failure = as_user_error(error, self.cluster, "connecting", self._refusals)
        raise Again(str(failure), cluster=self.cluster.alias)

    def poll(self, seconds: float = 0.0) -> None:
        """Serve the client's callbacks."""
        with self.translated("polling the client"):
            self.handle.poll(seconds)

    def send(self, doing: str, record: RecordOrigin | None, *produced: Any) -> None:
        """Produce one record, waiting for room in the queue. Raises Unfit where it can never fit."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                self.handle.produce(*produced)
            except BufferError:
                self.check_fits_queue(record, produced[1])
                self.poll(0.1)
                self.check_deadline(deadline)
            except (KafkaException, SystemError) as exception:
                raise self.produce_failure(doing, record, exception, produced[1], produced[2]) from None
            else:
                return

    def check_fits_queue(self, record: RecordOrigin | None, value: bytes | None) -> None:
        """Raise Unfit for a value larger than the whole queue, which never fits. Only values count there."""
        size, queue = len(value or b""), self._queue_kbytes * 1024
        if record is not None and size > queue:
            raise Unfit(too_large_for_queue(*record, size, queue))

    def check_deadline(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise Again(f"the queue to {self.cluster.alias} stayed full{self._why()}")

    def produce_failure(
        self,
        doing: str,
        record: RecordOrigin | None,
        exception: BaseException,
        value: bytes | None,
        key: bytes | None,
    ) -> Exception:
        """Return why the client rejected a record. It checks the size before it sends anything."""
        failure, error = self.failure(doing, exception), error_in(exception)
        too_large = error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE
        if record is None or not too_large or isinstance(failure, Fenced):
            return failure
        size = len(value or b"") + len(key or b"")
        return Unfit(too_large_for_client(*record, size, self.cluster.alias))

    def drain(self) -> None:
        """Wait until everything is acknowledged, or known to have failed.

        After a rejected record, those sent after it would wait until they time out: do not wait for them. A
        queue that does not move, although nothing was rejected and no connection was lost, means that a
        request was lost on a connection that looks alive.
        """
        began = moved = time.monotonic()
        last = -1
        rejected = False
        while left := self._unacknowledged():
            if rejected:
                return
            rejected = self.rejected  # one more round: the record's own report comes with the rejection
            now = time.monotonic()
            if left != last:
                last, moved = left, now
            if now - max(moved, self._throttled) > STUCK_SECONDS and not self.connection_lost:
                raise Again(f"{self.cluster.alias} accepts no more records of this transaction")
            if now - began > self.timeout:
                raise Again(f"{self.cluster.alias} does not acknowledge{self._why()}")

    def _unacknowledged(self) -> int:
        """Return how many records are not acknowledged yet; 1 where this call raised a rejection.

        Without a transaction the client raises a rejection as a fatal error. It reports what it still holds
        after that, the rejected record too: a caller that waits for reports must call once more.
        """
        try:
            with self.translated("waiting for acknowledgement"):
                return int(self.handle.flush(0.5))
        except Refused:
            return 1

    @contextlib.contextmanager
    def translated(self, doing: str) -> Iterator[None]:
        """Translate client exceptions to Again / Refused / Fenced.

        A fatal error, such as being fenced, comes out of whichever call serves the client's callbacks. It
        makes reports that are served in the same call fail, and Python turns that into a SystemError. Taken
        for an unknown error, it would restart a fenced zombie, which would in turn fence the rightful owner.
        """
        try:
            yield
        except (KafkaException, SystemError) as exception:
            raise self.failure(doing, exception) from None

    def _on_error(self, error: KafkaError) -> None:
        self._trouble = str(error.str())
        if may_need_new_client(error):
            self._refusals = [error]

    def _on_throttle(self, event: ThrottleEvent) -> None:
        self._throttled = max(self._throttled, time.monotonic() + event.throttle_time)

    def _on_log(self, line: str) -> None:
        if CONNECTION_LOST.search(line):
            self.connection_lost = self._trouble = line
        elif TRANSACTION_FAILED.search(line) or GAPLESS.search(line):
            self._rejection = self._trouble = line
            if "(TOPIC_AUTHORIZATION_FAILED)" in line:
                self.denied.add("")
        elif denied := DENIED.search(line):
            self.denied.add(denied["topic"])

    @property
    def rejected(self) -> bool:
        """Whether the destination rejected something that was sent, and no connection was lost."""
        return bool(self._rejection) and not self.connection_lost

    @property
    def rejected_a_record(self) -> bool:
        """Whether one record may be the cause, so that a search for it makes sense."""
        return self.rejected and not self.denied

    def _why(self) -> str:
        denied = [f"this user has no WRITE permission for {topic}" for topic in sorted(self.denied - {""})]
        reasons = "; ".join([*denied, *filter(None, [self._trouble])])
        return f" ({reasons})" if reasons else ""

    def failure(self, doing: str, exception: BaseException) -> Exception:
        """Every failure restarts the protocol, except Fenced: a newer attempt owns the id."""
        error = later = error_in(exception)
        try:
            self.handle.poll(0)  # delivers its log: why it is in an erroneous state
        except (KafkaException, SystemError) as more:
            later = error_in(more)
        for candidate in (error, later, None if error or later else self._fatal_error()):
            if candidate is not None and is_fenced(candidate):
                return Fenced(f"{doing}: {candidate.str()}")
        kind = Refused if self.rejected_a_record else Again
        why = error.str() if error is not None else exception
        return kind(f"{doing} on {self.cluster.alias}: {why}{self._why()}")

    def _fatal_error(self) -> KafkaError | None:
        """Return the fatal error of a client that lost the exception for it.

        The client raises a fatal error out of a callback. Where a log line comes in the same call, it drops
        that exception and the call returns "NULL without setting an exception". It does not raise the error
        again, but a producer with a fatal error returns it for every transactional call. Any other producer
        may begin a transaction here, or reject the call: it is about to be destroyed.
        """
        try:
            self.handle.begin_transaction()
        except KafkaException as exception:
            return error_of(exception)
        return None


def error_in(exception: BaseException) -> KafkaError | None:
    if isinstance(exception, SystemError) and isinstance(exception.__cause__, KafkaException):
        exception = exception.__cause__
    return error_of(exception) if isinstance(exception, KafkaException) else None
