"""A producer's handle: everything that the client says, in our words.

Every failure becomes Again, Refused or Fenced, wherever the client chooses to tell of it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException, Producer, ThrottleEvent

from causeway.kafka import clients
from causeway.kafka.failures import error_of, is_fenced
from causeway.kafka.outcome import Again, Fenced, Refused
from causeway.model.cluster import Cluster

LOST = re.compile(r"^(FAIL\b.*in state UP|REQTMOUT\b)", re.DOTALL)


class ProducerHandle:
    def __init__(self, cluster: Cluster, **properties: object) -> None:
        self._cluster = cluster
        self._shaken = ""  # how a connection was lost that may have carried a request
        self._trouble = ""  # what the client said last
        self._throttled = 0.0  # until when the destination makes us wait, by a quota
        self._producer: Producer = clients.producer(
            cluster,
            on_error=self._on_error,
            on_log=self._on_log,
            on_throttle=self._on_throttle,
            **properties,
        )

    def close(self) -> None:
        """Drop the producer with whatever it still holds.

        Never the client's own close(): that would go on delivering for minutes. Deleting the handle
        leaves an open transaction to the next fence, which aborts it.
        """
        with contextlib.suppress(KafkaException, SystemError):
            self._producer.purge()
        del self._producer

    def _left(self, seconds: float) -> int:
        """How many records are not acknowledged after waiting for so long."""
        with self._told("waiting for acknowledgement"):
            return int(self._producer.flush(seconds))

    def _poll(self, seconds: float = 0.0) -> None:
        """Let the client report."""
        with self._told("hearing the client"):
            self._producer.poll(seconds)

    @contextlib.contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """Whatever the client says in there, in our words.

        A fatal error, such as having been fenced, comes out of whichever call serves the client's callbacks.
        Reports that are served in the same call fail by it, and Python makes a SystemError of that. Taken for
        an unknown error it would start a fenced zombie again, which would fence the rightful owner in turn.
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

    def _why(self) -> str:
        return f" ({self._trouble})" if self._trouble else ""

    def _failed(self, doing: str, exception: BaseException) -> Exception:
        """Every failure starts the protocol anew, but for one: a newer attempt owns the id."""
        if isinstance(exception, SystemError) and isinstance(exception.__cause__, KafkaException):
            exception = exception.__cause__
        if isinstance(exception, KafkaException):
            error = error_of(exception)
            if is_fenced(error):
                return Fenced(f"{doing}: {error.str()}")
            # Only the ends of a stretch report; a record between them is heard of when the commit fails.
            kind = Refused if error.txn_requires_abort() and not self._shaken else Again
            return kind(f"{doing} on {self._cluster.alias}: {error.str()}{self._why()}")
        return Again(f"{doing} on {self._cluster.alias}: {exception}{self._why()}")
