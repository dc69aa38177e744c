"""Owns a producer handle, and translates what the client reports.

Every failure becomes Again, Refused or Fenced, whichever call, callback or log line reports it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException, Producer, ThrottleEvent

from causeway.core.cluster import Cluster
from causeway.kafka import clients
from causeway.kafka.failures import error_of, is_fenced
from causeway.kafka.task_errors import Again, Fenced, Refused

LOST = re.compile(r"^(FAIL\b.*in state UP|REQTMOUT\b)", re.DOTALL)
REFUSED = re.compile(r"^TXNERR\b.*\([A-Z]\w*[^()]*\)\s*$", re.DOTALL)
"""A transaction that the destination failed; names of the client's own errors begin with _."""
GAPLESS = re.compile(r"^FATAL\b.*Gap-less ordering", re.DOTALL)
"""A rejection without a transaction. The client logs it before it raises it, and may lose the exception."""
DENIED = re.compile(
    r'^ADDPARTS\b.*Failed to add partition "(?P<topic>.*)" \[-?\d+\].*opic authorization failed'
)
"""A topic that the transaction may not write to. Its records are never sent, so none of them reports it."""


class ProducerBase:
    make: clients.Make = staticmethod(Producer)

    def __init__(self, cluster: Cluster, **properties: object) -> None:
        self._cluster = cluster
        self._shaken = ""  # how a connection was lost that may have had a request in flight
        self._trouble = ""  # the last problem that the client reported
        # How the open transaction failed. The client then drops what it still holds, and reports
        # that as purged. It reports the rejected record itself only where it has a delivery callback.
        self._refusal = ""
        self.denied: set[str] = set()  # topics that this user may not write to; "": one of unknown name
        self._throttled = 0.0  # until when a quota of the destination makes us wait
        self._producer = clients.producer(
            cluster,
            make=self.make,
            on_error=self._on_error,
            on_log=self._on_log,
            on_throttle=self._on_throttle,
            **properties,
        )

    def close(self) -> None:
        """Destroy the producer, and drop what it still holds.

        Never call the client's own close(): it would keep delivering for minutes. An open transaction is
        aborted before (`TransactionalProducer.close`), or else by the next fence.
        """
        with contextlib.suppress(KafkaException, SystemError):
            self._producer.purge()
        del self._producer

    def _left(self, seconds: float) -> int:
        """Wait up to `seconds`; return how many records are not acknowledged."""
        with self._told("waiting for acknowledgement"):
            return int(self._producer.flush(seconds))

    def _poll(self, seconds: float = 0.0) -> None:
        """Serve the client's callbacks."""
        with self._told("hearing the client"):
            self._producer.poll(seconds)

    @contextlib.contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """Translate client exceptions to Again / Refused / Fenced.

        A fatal error, such as being fenced, comes out of whichever call serves the client's callbacks. It
        makes reports that are served in the same call fail, and Python turns that into a SystemError. Taken
        for an unknown error, it would restart a fenced zombie, which would in turn fence the rightful owner.
        """
        try:
            yield
        except (KafkaException, SystemError) as exception:
            raise self._failed(doing, exception) from None

    def _on_error(self, error: KafkaError) -> None:
        self._trouble = str(error.str())

    def _on_throttle(self, event: ThrottleEvent) -> None:
        self._throttled = max(self._throttled, time.monotonic() + event.throttle_time)

    def _on_log(self, line: str) -> None:
        if LOST.search(line):
            self._shaken = self._trouble = line
        elif REFUSED.search(line) or GAPLESS.search(line):
            self._refusal = self._trouble = line
            if "(TOPIC_AUTHORIZATION_FAILED)" in line:
                self.denied.add("")
        elif found := DENIED.search(line):
            self.denied.add(found["topic"])

    @property
    def refused(self) -> bool:
        """Whether the destination rejected something that was sent, and no connection was lost."""
        return bool(self._refusal) and not self._shaken

    @property
    def refused_a_record(self) -> bool:
        """Whether one record may be the cause, so that a search for it makes sense."""
        return self.refused and not self.denied

    def _why(self) -> str:
        denied = [f"this user has no WRITE permission for {topic}" for topic in sorted(self.denied - {""})]
        told = "; ".join([*denied, *filter(None, [self._trouble])])
        return f" ({told})" if told else ""

    def _failed(self, doing: str, exception: BaseException) -> Exception:
        """Every failure restarts the protocol, except Fenced: a newer attempt owns the id."""
        found = told = error_in(exception)
        try:
            self._producer.poll(0)  # delivers its log: why it is in an erroneous state
        except (KafkaException, SystemError) as more:
            told = error_in(more)
        for error in (found, told, None if found or told else self._fatal_error()):
            if error is not None and is_fenced(error):
                return Fenced(f"{doing}: {error.str()}")
        kind = Refused if self.refused_a_record else Again
        why = found.str() if found is not None else exception
        return kind(f"{doing} on {self._cluster.alias}: {why}{self._why()}")

    def _fatal_error(self) -> KafkaError | None:
        """Return the fatal error of a client that lost the exception for it.

        The client raises a fatal error out of a callback. Where a log line comes in the same call, it drops
        that exception and the call returns "NULL without setting an exception". It does not raise the error
        again, but a producer with a fatal error returns it for every transactional call. Any other producer
        may begin a transaction here, or reject the call: it is about to be destroyed.
        """
        try:
            self._producer.begin_transaction()
        except KafkaException as exception:
            return error_of(exception)
        return None


def error_in(exception: BaseException) -> KafkaError | None:
    if isinstance(exception, SystemError) and isinstance(exception.__cause__, KafkaException):
        exception = exception.__cause__
    return error_of(exception) if isinstance(exception, KafkaException) else None
