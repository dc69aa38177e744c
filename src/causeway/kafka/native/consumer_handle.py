"""Consumer handles of our own, with the part of the client's Python class that is used here.

`NativeConsumer` returns addresses, for the compiled loop; `ObjectConsumer` an object for each record.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from confluent_kafka import TopicPartition

from causeway.kafka import abandoned_clients
from causeway.kafka.native import client_handle, library
from causeway.kafka.native.library import Library
from causeway.kafka.native.messages import Consumed, MessageReader

SEEK_MS = 5_000


COMPILED_FROM = 1_000
"""Load the compiled reader after this many messages: a reader of a few labels need not wait for it."""


class NativeConsumer:
    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.handle = 0
        self.library = library.load()
        self._callbacks = client_handle.ClientCallbacks(properties)
        self._topics: dict[str, int] = {}
        self.names: dict[int, str] = {}  # topic names, by the handle in messages
        self.handle = client_handle.make(self.library, library.CONSUMER, properties, self._callbacks)
        self.library.poll_set_consumer(self.handle)
        self._queue = self.library.queue_get_consumer(self.handle)

    def __del__(self) -> None:
        abandoned_clients.destroy(self, self.close)

    def topic(self, name: str) -> int:
        """Return the handle in messages of a topic. Kept, so that no other topic can get that address."""
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.handle, name.encode(), None)
            self.names[self._topics[name]] = name
        return self._topics[name]

    def fill(self, found: Any, most: int, seconds: float) -> int:
        """Write addresses of up to `most` messages into `found`, one more with `seconds`. Returns how many.

        Waits up to `seconds` for the first one.
        """
        count = 0
        if seconds > 0:
            first = self.library.consumer_poll(self.handle, math.ceil(seconds * 1000))
            if not first:
                return 0
            found[0] = first
            count = 1
        rest = min(most, len(found) - count)
        return count + max(
            0, int(self.library.consume_batch_queue(self._queue, 0, found.ctypes.data + 8 * count, rest))
        )

    @property
    def queued(self) -> int:
        """How many messages were not taken yet: all of the handle's queues forward to the consumer's."""
        return int(self.library.outq_len(self.handle))

    def ask_for(self, topics: Iterable[str], timeout: float) -> None:
        """Fetch metadata of these topics."""
        for topic in topics:
            self.topic(topic)
        client_handle.ask_metadata(self.library, self.handle, timeout)

    def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None:
        with _Partitions(self.library, partitions) as listed:
            self.library.check(self.library.incremental_assign(self.handle, listed))

    def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None:
        with _Partitions(self.library, partitions) as listed:
            self.library.check(self.library.incremental_unassign(self.handle, listed))

    def seek(self, partition: TopicPartition) -> None:
        """Seek to an offset; where an epoch is given, the client validates it before it fetches."""
        wanted = _Partitions(self.library, [partition])
        with wanted as listed:
            self.library.check(self.library.seek_partitions(self.handle, listed, SEEK_MS))
            self.library.check_code(wanted.added[0].contents.err)

    def unassign(self) -> None:
        self.library.check_code(self.library.assign(self.handle, None))

    def close(self) -> None:
        if self.handle:
            for topic in self._topics.values():
                self.library.topic_destroy(topic)
            self.library.queue_destroy(self._queue)
            self.library.destroy_flags(self.handle, library.NO_CONSUMER_CLOSE)
            self.handle = 0


class ObjectConsumer(NativeConsumer):
    """Copies each record into an object, with its headers byte for byte, and destroys the message."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        super().__init__(properties)
        self._found = np.zeros(0, np.int64)
        self._reader = MessageReader(self.library, self._name)
        self._copier: Any = None
        self._consumed = 0

    def consume(self, most: int, seconds: float) -> list[Consumed]:
        if len(self._found) < most:
            self._found = np.zeros(most, np.int64)
        count = self.fill(self._found, most, seconds)
        try:
            return self._copies(count)
        finally:
            if self._copier:
                self._copier.destroy(self._found, count)
            else:
                for address in self._found[:count].tolist():
                    self.library.message_destroy(address)

    def _copies(self, count: int) -> list[Consumed]:
        self._consumed += count
        if self._consumed > COMPILED_FROM and self._copier is None:
            self._copier = _copier(self.library, self._name)
        if self._copier:
            copies: list[Consumed] = self._copier.read_all(self._found, count)
            return copies
        return [self._reader.read(address) for address in self._found[:count].tolist()]

    def _name(self, rkt: int) -> str:
        """Return the name of the topic at this address. Its handle is kept, so that the address stays."""
        name = self.library.topic_name(rkt).decode()
        self.topic(name)
        return self.names.setdefault(rkt, name)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        with _Partitions(self.library, partitions) as listed:
            self.library.check_code(self.library.assign(self.handle, listed))

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        low, high = ctypes.c_int64(), ctypes.c_int64()
        self.library.check_code(
            self.library.query_watermark_offsets(
                self.handle,
                partition.topic.encode(),
                partition.partition,
                ctypes.byref(low),
                ctypes.byref(high),
                math.ceil(timeout * 1000),
            )
        )
        return low.value, high.value


def _copier(lib: Library, topic_of: Callable[[int], str]) -> Any:
    """Return the faster, compiled copier where numba is installed; False where it is not."""
    try:
        from causeway.kafka.native.copying import Copier
    except (ImportError, library.Absent):
        return False
    return Copier(lib, topic_of)


class _Partitions:
    """A partition list in the library's format."""

    def __init__(self, lib: Library, partitions: Iterable[TopicPartition]) -> None:
        self._library = lib
        self._partitions = list(partitions)
        self.added: list[Any] = []  # the library's entries

    def __enter__(self) -> int:
        self._listed = self._library.topic_partition_list_new(len(self._partitions))
        for one in self._partitions:
            added = self._library.topic_partition_list_add(self._listed, one.topic.encode(), one.partition)
            added.contents.offset = one.offset
            self.added.append(added)
            if one.leader_epoch is not None:
                self._library.topic_partition_set_leader_epoch(added, one.leader_epoch)
        return int(self._listed)

    def __exit__(self, *_: object) -> None:
        self._library.topic_partition_list_destroy(self._listed)
