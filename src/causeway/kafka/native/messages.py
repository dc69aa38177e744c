"""Consumed messages, with the interface of the client's Python class, but with headers byte for byte.

Header names are bytes to Kafka and text to filters: `str` with surrogate escapes for whatever is not
UTF-8, which `rules.header_names.encoded` turns back into the same bytes. Headers that the client cannot
parse are not "no headers": `headers()` raises `UnreadableHeaders`, and `unreadable` holds the reason.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import string_at
from struct import Struct

from confluent_kafka import KafkaError

from causeway.kafka.native.library import Library, Message, headers_in
from causeway.rules.fetch_sizes import size_in_memory
from causeway.rules.header_names import MOST_ADDED, MOST_HEADERS, Headers, as_text, is_plain

_NAMES_KEPT, _LONG_NAME = 1_000, 200
_NO_ERROR = (0, KafkaError._NOENT)  # headers, or none
_FIELDS = Struct("@iPiPNPNqP")  # as in library.Message


class UnreadableHeaders(Exception):
    """The client cannot parse the headers of a record."""


class Consumed:
    """A record, or an error or end of partition in its place; a copy, which outlives the message."""

    __slots__ = (
        "_epoch", "_error", "_headers", "_key", "_kind", "_offset", "_partition", "_stamp", "_topic",
        "_value", "plain", "unreadable",
    )  # fmt: skip

    def __init__(
        self, topic: str | None, partition: int, offset: int, error: KafkaError | None = None,
        key: bytes | None = None, value: bytes | None = None, kind: int = 0, stamp: int = 0, epoch: int = -1,
        headers: Headers | None = None, plain: bool = True, unreadable: str = "",
    ) -> None:  # fmt: skip
        self._topic, self._partition, self._offset, self._error = topic, partition, offset, error
        self._key, self._value = key, value
        self._kind, self._stamp, self._epoch = kind, stamp, epoch
        self._headers = headers
        # Whether any client can write the headers and what a mirror adds; why they cannot be read, or "".
        self.plain = plain
        self.unreadable = unreadable

    def topic(self) -> str | None:
        return self._topic

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def replace(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> None:
        self._key, self._value, self._headers = key, value, headers

    def timestamp(self) -> tuple[int, int]:
        return self._kind, self._stamp

    def leader_epoch(self) -> int | None:
        return self._epoch if self._epoch >= 0 else None

    def headers(self) -> Headers | None:
        if self.unreadable:
            raise UnreadableHeaders(self.unreadable)
        return self._headers


class HeaderNames:
    """Caches header names as text, and whether any client can write them: most names repeat."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, bool]] = {}

    def find(self, name: bytes) -> tuple[str, bool]:
        known = self._known.get(name)
        if known is None:
            text = as_text(name)
            known = text, is_plain(text)
            if len(self._known) < _NAMES_KEPT and len(name) < _LONG_NAME:
                self._known[name] = known
        return known


class MessageReader:
    """Copies messages. Not thread-safe: the library returns values through buffers of this object."""

    def __init__(self, lib: Library, topic_of: Callable[[int], str]) -> None:
        self._library = lib
        self._topic_of = topic_of
        self._topics: dict[int, str] = {}
        self._number = ctypes.c_int()
        self._number_at = ctypes.addressof(self._number)
        self._address = ctypes.c_void_p()
        self._address_at = ctypes.addressof(self._address)
        self._names = HeaderNames()

    def read(self, address: int) -> Consumed:
        lib = self._library
        fields = _FIELDS.unpack(string_at(address, _FIELDS.size))
        error, rkt, partition, payload, size, key, key_size, offset, _ = fields
        topic = self._topics.get(rkt)
        if topic is None and rkt:
            topic = self._topics[rkt] = self._topic_of(rkt)
        if error:
            return Consumed(topic, partition, offset, error_at(lib, address, error))
        stamp = lib.message_timestamp(address, self._number_at)
        code = lib.message_headers(address, self._address_at)
        headers, plain = (None, code == KafkaError._NOENT) if code else self._headers()
        return Consumed(
            topic,
            partition,
            offset,
            None,
            string_at(key, key_size) if key else None,
            string_at(payload, size) if payload else None,
            self._number.value,
            stamp,
            lib.message_leader_epoch(address),
            headers,
            plain,
            "" if code in _NO_ERROR else why_unreadable(code),
        )

    def _headers(self) -> tuple[Headers, bool]:
        found: list[tuple[str, bytes | None]] = []
        plain = True
        for name, value in headers_in(self._library, self._address.value or 0):
            text, is_so = self._names.find(name)
            found.append((text, value))
            plain &= is_so
        return found, plain and len(found) <= MOST_HEADERS - MOST_ADDED


class NativeMessage:
    """A message at an address, for the few that the compiled loop leaves to Python."""

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
        return error_at(self._library, self._address, self._fields.err) if self._fields.err else None

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

    @property
    def unreadable(self) -> str:
        code, _ = self._listed()
        return "" if code in _NO_ERROR else why_unreadable(code)

    def headers(self) -> Headers | None:
        code, listed = self._listed()
        if code == KafkaError._NOENT:
            return None
        if code:
            raise UnreadableHeaders(why_unreadable(code))
        return _headers(self._library, listed)

    def _listed(self) -> tuple[int, int]:
        """Return the client's error code for the headers, and their address."""
        listed = ctypes.c_void_p()
        return self._library.message_headers(self._address, ctypes.byref(listed)), listed.value or 0

    def size_in_memory(self) -> int:
        """Includes headers, where they can be read."""
        code, listed = self._listed()
        found = () if code else headers_in(self._library, listed)
        headers = [(len(name), len(value or b"")) for name, value in found]
        return size_in_memory(self._fields.len, self._fields.key_len, headers)

    def destroy(self) -> None:
        self._library.message_destroy(self._address)


def _headers(lib: Library, listed: int) -> Headers:
    return [(as_text(name), value) for name, value in headers_in(lib, listed)]


def error_at(lib: Library, address: int, code: int) -> KafkaError:
    text = lib.message_errstr(address) or b""
    return KafkaError(code, text.decode(errors="replace"))


def why_unreadable(code: int) -> str:
    return f"{KafkaError(code).str()}; librdkafka parses up to {MOST_HEADERS:,} headers of a record"


def _bytes(address: int | None, size: int) -> bytes | None:
    return string_at(address, size) if address else None
