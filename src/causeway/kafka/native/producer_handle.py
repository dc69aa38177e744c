"""A producer handle of our own, with the part of the client's Python class that is used here."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import KafkaError

from causeway.kafka import abandoned_clients
from causeway.kafka.native import client_handle, library, loop
from causeway.kafka.native.loop import PENDING, WORDS
from causeway.rules.header_names import encoded

_TOPIC_NAME = 1  # the tag for a topic given by name instead of by handle

OnReport = Callable[[KafkaError | None, Any], None]


class Report(NamedTuple):
    """Where one record landed, with the interface of the client's messages."""

    destination_offset: int
    destination_partition: int

    def offset(self) -> int:
        return self.destination_offset

    def partition(self) -> int:
        return self.destination_partition


class NativeProducer:
    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.handle = 0
        self.library = library.load()
        self._callbacks = client_handle.ClientCallbacks(properties)
        self._topics: dict[str, int] = {}
        self._awaited: list[tuple[Any, OnReport]] = []  # slots of records that Python produced
        self.handle = client_handle.make(
            self.library, library.PRODUCER, properties, self._callbacks, loop.report.address
        )

    def __del__(self) -> None:
        abandoned_clients.destroy(self, self._close)

    def _close(self) -> None:
        if self.handle:
            for topic in self._topics.values():
                self.library.topic_destroy(topic)
            self.library.destroy_flags(self.handle, 0)
            self.handle = 0

    def topic(self, name: str) -> int:
        """The handle of a topic; it lives as long as the producer."""
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.handle, name.encode(), None)
        return self._topics[name]

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = library.UNASSIGNED,
        on_delivery: OnReport | None = None,
        _callback: None = None,
        timestamp: int = 0,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
    ) -> None:
        """Produce one record from Python. Raises BufferError where the queue is full."""
        call = arguments()
        name = topic.encode()
        kept = [ctypes.c_char_p(part) for part in (name, value, key)]
        pointers = [ctypes.cast(part, ctypes.c_void_p).value or 0 for part in kept]
        call[loop.V_RKT * WORDS : loop.V_RKT * WORDS + 2] = _TOPIC_NAME, pointers[0]
        call[loop.V_PARTITION * WORDS + 1] = partition
        call[loop.V_VALUE * WORDS + 1 : loop.V_VALUE * WORDS + 3] = pointers[1], len(value or b"")
        call[loop.V_KEY * WORDS + 1 : loop.V_KEY * WORDS + 3] = pointers[2], len(key or b"")
        call[loop.V_TIMESTAMP * WORDS + 1] = timestamp
        slot = np.full(2, PENDING, np.int64)
        call[loop.V_OPAQUE * WORDS + 1] = slot.ctypes.data if on_delivery is not None else 0
        given = loop.ARGUMENTS - 1
        if headers:
            call[loop.V_HEADERS * WORDS + 1] = self._headers(headers)
            given = loop.ARGUMENTS
        error = self.library.produceva(self.handle, call.ctypes.data, given)
        if error:
            if headers:
                self.library.headers_destroy(int(call[loop.V_HEADERS * WORDS + 1]))
            self.failed(error)
        if on_delivery is not None:
            self._awaited.append((slot, on_delivery))

    def _headers(self, headers: Sequence[tuple[str, bytes | None]]) -> int:
        made = self.library.headers_new(len(headers))
        for name, value in headers:
            written = encoded(name)
            self.library.header_add(made, written, len(written), value, len(value or b""))
        return int(made)

    def failed(self, error: int) -> None:
        """Raise the error that a produce call returned."""
        if self.library.error_code(error) == KafkaError._QUEUE_FULL:
            self.library.error_destroy(error)
            raise BufferError("the queue is full")
        self.library.check(error)

    @property
    def waiting(self) -> int:
        """Number of records and reports that are still in the queues."""
        return int(self.library.outq_len(self.handle))

    def poll(self, seconds: float = 0.0) -> None:
        self.library.poll(self.handle, _milliseconds(seconds))
        self._serve()

    def flush(self, seconds: float) -> int:
        self.library.flush(self.handle, _milliseconds(seconds))
        self._serve()
        return self.waiting

    def purge(self) -> None:
        self.library.purge(self.handle, library.PURGE_QUEUE | library.PURGE_INFLIGHT)

    def list_topics(self, timeout: float) -> None:
        """Fetch the cluster's metadata: from then on the handle knows its brokers."""
        client_handle.ask_metadata(self.library, self.handle, timeout)

    def init_transactions(self, timeout: float) -> None:
        self.library.check(self.library.init_transactions(self.handle, _milliseconds(timeout)))

    def begin_transaction(self) -> None:
        self.library.check(self.library.begin_transaction(self.handle))

    def commit_transaction(self, timeout: float) -> None:
        self.library.check(self.library.commit_transaction(self.handle, _milliseconds(timeout)))
        self._serve()

    def abort_transaction(self, timeout: float) -> None:
        self.library.check(self.library.abort_transaction(self.handle, _milliseconds(timeout)))

    def _serve(self) -> None:
        """Call the callbacks of reports that came; then raise a fatal error, such as being fenced."""
        awaited, self._awaited = self._awaited, []
        for slot, on_delivery in awaited:
            if slot[1] == PENDING:
                self._awaited.append((slot, on_delivery))
                continue
            code, partition = int(slot[1]) >> 32, int(slot[1]) & 0xFFFFFFFF
            on_delivery(KafkaError(code) if code else None, Report(int(slot[0]), partition))
        if self._callbacks.fatal:
            raise client_handle.fatal_error(self.library, self.handle)


def arguments() -> Any:
    """Return a produce call's arguments, with tags and flags but no values yet."""
    call = np.zeros(loop.ARGUMENTS * WORDS, np.int64)
    call[::WORDS] = loop.TAGS
    call[loop.V_FLAGS * WORDS + 1] = loop.COPY
    return call


def _milliseconds(seconds: float) -> int:
    return math.ceil(seconds * 1000)
