"""A consumer of our own, with as much of the client's Python class as intake uses."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from causeway.kafka.native import handle, library
from causeway.kafka.native.library import Library, Message

SEEK_MS = 5_000


class NativeConsumer:
    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.handle = 0
        self.library = library.load()
        self._told = handle.Told(properties)
        self._topics: dict[str, int] = {}
        self.names: dict[int, str] = {}  # of topics, by what messages name them by
        self.handle = handle.make(self.library, library.CONSUMER, properties, self._told)
        self.library.poll_set_consumer(self.handle)
        self._queue = self.library.queue_get_consumer(self.handle)

    def topic(self, name: str) -> int:
        """What messages of a topic name it by. Held, so that no other topic can come to that address."""
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.handle, name.encode(), None)
            self.names[self._topics[name]] = name
        return self._topics[name]

    def fill(self, found: Any, most: int, seconds: float) -> int:
        """Messages, at most so many, into an array; waits up to so long for the first."""
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

    def ask_for(self, topics: Iterable[str], timeout: float) -> None:
        """Ask who leads these topics."""
        for topic in topics:
            self.topic(topic)
        handle.ask_metadata(self.library, self.handle, timeout)

    def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None:
        with _Partitions(self.library, partitions) as listed:
            self.library.check(self.library.incremental_assign(self.handle, listed))

    def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None:
        with _Partitions(self.library, partitions) as listed:
            self.library.check(self.library.incremental_unassign(self.handle, listed))

    def seek(self, partition: TopicPartition) -> None:
        """To an offset; where an epoch is given the client validates it before it fetches."""
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


class _Partitions:
    """Partitions as the library takes them."""

    def __init__(self, lib: Library, partitions: Iterable[TopicPartition]) -> None:
        self._library = lib
        self._partitions = list(partitions)
        self.added: list[Any] = []  # as the library has them

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


class NativeMessage:
    """A message at an address, read as the client's Python class is: for the few that are not ordinary."""

    def __init__(self, lib: Library, address: int) -> None:
        self._library = lib
        self._address = address
        self._fields = Message.from_address(address)

    def topic(self) -> str | None:
        return self._library.topic_name(self._fields.rkt).decode() if self._fields.rkt else None

    def partition(self) -> int:
        return int(self._fields.partition)

    def offset(self) -> int:
        return int(self._fields.offset)

    def error(self) -> KafkaError | None:
        if not self._fields.err:
            return None
        text = self._library.message_errstr(self._address) or b""
        return KafkaError(self._fields.err, text.decode(errors="replace"))

    def key(self) -> bytes | None:
        return _bytes(self._fields.key, self._fields.key_len)

    def value(self) -> bytes | None:
        return _bytes(self._fields.payload, self._fields.len)

    def timestamp(self) -> tuple[int, int]:
        kind = ctypes.c_int()
        stamp = self._library.message_timestamp(self._address, ctypes.byref(kind))
        return kind.value, int(stamp)

    def leader_epoch(self) -> int | None:
        epoch = int(self._library.message_leader_epoch(self._address))
        return epoch if epoch >= 0 else None

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        listed = ctypes.c_void_p()
        if self._library.message_headers(self._address, ctypes.byref(listed)):
            return None
        found: list[tuple[str, bytes | None]] = []
        name, value, size = ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
        while not self._library.header_get_all(
            listed, len(found), ctypes.byref(name), ctypes.byref(value), ctypes.byref(size)
        ):
            found.append(((name.value or b"").decode(), _bytes(value.value, size.value)))
        return found

    def destroy(self) -> None:
        self._library.message_destroy(self._address)


def _bytes(address: int | None, size: int) -> bytes | None:
    return ctypes.string_at(address, size) if address else None
