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
REFUSED = re.compile(r"^TXNERR\b.*\([A-Z]\w*[^()]*\)\s*$", re.DOTALL)
"""A transaction that failed by what the destination said; names of the client's own errors begin with _."""


class ProducerHandle:
    make: clients.Make = staticmethod(Producer)

    def __init__(self, cluster: Cluster, **properties: object) -> None:
        self._cluster = cluster
        self._shaken = ""  # how a connection was lost that may have carried a request
        self._trouble = ""  # what the client said last
        # How the open transaction failed. The client drops what it still holds then, and reports
        # that as purged; of the record itself it speaks only where that record was to report.
        self._refusal = ""
        self._throttled = 0.0  # until when the destination makes us wait, by a quota
        self._producer = clients.producer(
            cluster,
            make=self.make,
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
        elif REFUSED.search(line):
            self._refusal = self._trouble = line

    @property
    def refused(self) -> bool:
        """Whether the destination refused something that was sent, on a line that did not break."""
        return bool(self._refusal) and not self._shaken

    def _why(self) -> str:
        return f" ({self._trouble})" if self._trouble else ""

    def _failed(self, doing: str, exception: BaseException) -> Exception:
        """Every failure starts the protocol anew, but for one: a newer attempt owns the id."""
        found = told = error_in(exception)
        try:
            self._producer.poll(0)  # what it logged is not said before: why it is in an erroneous state
        except (KafkaException, SystemError) as more:
            told = error_in(more)
        for error in (found, told):
            if error is not None and is_fenced(error):
                return Fenced(f"{doing}: {error.str()}")
            if error is not None and error.code() == KafkaError._GAPLESS_GUARANTEE:
                self._refusal = self._trouble = str(error.str())
        kind = Refused if self.refused else Again
        why = found.str() if found is not None else exception
        return kind(f"{doing} on {self._cluster.alias}: {why}{self._why()}")


def error_in(exception: BaseException) -> KafkaError | None:
    if isinstance(exception, SystemError) and isinstance(exception.__cause__, KafkaException):
        exception = exception.__cause__
    return error_of(exception) if isinstance(exception, KafkaException) else None
