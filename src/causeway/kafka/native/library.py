"""Direct calls to the librdkafka that the confluent-kafka wheel ships.

This package creates its own handles: a callback of the client's Python classes, served inside a loop that
does not hold the GIL, would end the process. Those classes also cannot distinguish a record without headers
from one whose headers the client cannot parse; they cut header names at a NUL, and fail on names that are not
UTF-8. So every consumer of records is one of ours.

The code relies on public structs and functions, and on one private field: the size of a header's name, which
the public functions do not return (`HEADER_PREFIX`). `load` checks all of it before it returns a library. The
compiled loop also needs a version that it was tried with (`tried`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p, string_at
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, cimpl

KNOWN = frozenset({(2, 16)})
"""Versions whose structs are known to match those here."""

HEADER_PREFIX = Struct("@NNNP")
"""The memory before a header's name: serialized size, value's size, name's size, value's address."""

PRODUCER, CONSUMER = 0, 1
NO_CONSUMER_CLOSE, IMMEDIATE = 0x8, 0x4
PURGE_QUEUE, PURGE_INFLIGHT = 0x1, 0x2
UNASSIGNED = -1  # partition number: the client's partitioner chooses


class Absent(Exception):
    """No library can be used; the message gives the reason."""


class Message(ctypes.Structure):
    _fields_ = (
        ("err", c_int32),
        ("rkt", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("len", c_size_t),
        ("key", c_void_p),
        ("key_len", c_size_t),
        ("offset", c_int64),
        ("opaque", c_void_p),
    )


class NativePartition(ctypes.Structure):
    _fields_ = (
        ("topic", c_char_p),
        ("partition", c_int32),
        ("offset", c_int64),
        ("metadata", c_void_p),
        ("metadata_size", c_size_t),
        ("opaque", c_void_p),
        ("err", c_int32),
        ("private", c_void_p),
    )


ON_ERROR = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
ON_LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
ON_THROTTLE = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int32, c_int, c_void_p)
ON_TOKEN = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)

_P = c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "version": (c_int, ()),
    "err2str": (c_char_p, (c_int,)),
    "conf_new": (_P, ()),
    "conf_destroy": (None, (_P,)),
    "conf_set": (c_int, (_P, c_char_p, c_char_p, c_char_p, c_size_t)),
    "conf_set_dr_msg_cb": (None, (_P, _P)),
    "conf_set_error_cb": (None, (_P, ON_ERROR)),
    "conf_set_log_cb": (None, (_P, ON_LOG)),
    "conf_set_throttle_cb": (None, (_P, ON_THROTTLE)),
    "conf_set_oauthbearer_token_refresh_cb": (None, (_P, ON_TOKEN)),
    "conf_enable_sasl_queue": (None, (_P, c_int)),
    "sasl_background_callbacks_enable": (_P, (_P,)),
    "oauthbearer_set_token": (
        c_int,
        (_P, c_char_p, c_int64, c_char_p, POINTER(c_char_p), c_size_t, c_char_p, c_size_t),
    ),
    "oauthbearer_set_token_failure": (c_int, (_P, c_char_p)),
    "new": (_P, (c_int, _P, c_char_p, c_size_t)),
    "destroy_flags": (None, (_P, c_int)),
    "set_log_queue": (c_int, (_P, _P)),
    "fatal_error": (c_int, (_P, c_char_p, c_size_t)),
    "poll": (c_int, (_P, c_int)),
    "flush": (c_int, (_P, c_int)),
    "purge": (c_int, (_P, c_int)),
    "outq_len": (c_int, (_P,)),
    "metadata": (c_int, (_P, c_int, _P, POINTER(_P), c_int)),
    "metadata_destroy": (None, (_P,)),
    "init_transactions": (_P, (_P, c_int)),
    "begin_transaction": (_P, (_P,)),
    "commit_transaction": (_P, (_P, c_int)),
    "abort_transaction": (_P, (_P, c_int)),
    "error_code": (c_int, (_P,)),
    "error_string": (c_char_p, (_P,)),
    "error_is_fatal": (c_int, (_P,)),
    "error_is_retriable": (c_int, (_P,)),
    "error_txn_requires_abort": (c_int, (_P,)),
    "error_destroy": (None, (_P,)),
    "topic_new": (_P, (_P, c_char_p, _P)),
    "topic_destroy": (None, (_P,)),
    "topic_name": (c_char_p, (_P,)),
    "produceva": (_P, (_P, _P, c_size_t)),
    "headers_new": (_P, (c_size_t,)),
    "headers_destroy": (None, (_P,)),
    "header_add": (c_int, (_P, c_char_p, c_ssize_t, c_char_p, c_ssize_t)),
    "poll_set_consumer": (c_int, (_P,)),
    "queue_get_consumer": (_P, (_P,)),
    "queue_destroy": (None, (_P,)),
    "consumer_poll": (_P, (_P, c_int)),
    "consume_batch_queue": (c_ssize_t, (_P, c_int, _P, c_size_t)),
    "message_errstr": (c_char_p, (_P,)),
    "query_watermark_offsets": (c_int, (_P, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64), c_int)),
    "incremental_assign": (_P, (_P, _P)),
    "incremental_unassign": (_P, (_P, _P)),
    "assign": (c_int, (_P, _P)),
    "seek_partitions": (_P, (_P, _P, c_int)),
    "topic_partition_list_new": (_P, (c_int,)),
    "topic_partition_list_add": (POINTER(NativePartition), (_P, c_char_p, c_int32)),
    "topic_partition_list_destroy": (None, (_P,)),
    "topic_partition_set_leader_epoch": (None, (_P, c_int32)),
}
_QUICK: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "message_destroy": (None, (_P,)),
    "message_timestamp": (c_int64, (_P, _P)),
    "message_leader_epoch": (c_int32, (_P,)),
    "message_headers": (c_int, (_P, _P)),
    "header_get_all": (c_int, (_P, c_size_t, _P, _P, _P)),
}
"""Called for each record, and too short to release the GIL for."""


class Library:
    """librdkafka's functions by their names without `rd_kafka_`; all but those in _QUICK release the GIL."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            for found, signatures in (
                (ctypes.CDLL(str(path)), _SIGNATURES),
                (ctypes.PyDLL(str(path)), _QUICK),
            ):
                for name, (result, arguments) in signatures.items():
                    function = getattr(found, f"rd_kafka_{name}")
                    function.restype, function.argtypes = result, arguments
                    setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise Absent(f"{path.name}: {error}") from None

    def __getattr__(self, name: str) -> Any:  # the loop above sets the functions
        raise AttributeError(name)

    def check(self, error: int | None, doing: str = "") -> None:
        """Raise an error object as the client's classes would."""
        if error:
            raised = KafkaError(
                self.error_code(error),
                self.error_string(error).decode(errors="replace"),
                bool(self.error_is_fatal(error)),
                bool(self.error_is_retriable(error)),
                bool(self.error_txn_requires_abort(error)),
            )
            self.error_destroy(error)
            raise KafkaException(raised)

    def check_code(self, code: int) -> None:
        if code:
            raise KafkaException(KafkaError(code))


@cache
def load() -> Library:
    """Return the library that the client uses. Raises Absent where its structs differ from those here."""
    # Where it is not in the wheel, its functions are found through the extension module that is linked to it.
    beside = _beside()
    library = Library(beside[0] if len(beside) == 1 else Path(cimpl.__file__))
    _check_structs(library)
    return library


@cache
def tried() -> Library:
    """Return the wheel's library. Raises Absent where the compiled loop was not tried with its version."""
    beside = _beside()
    if len(beside) != 1:
        raise Absent(f"{len(beside)} libraries beside confluent_kafka")
    library = load()
    number = library.version()
    version = (number >> 24, number >> 16 & 0xFF)
    if version not in KNOWN:
        raise Absent(f"librdkafka {version[0]}.{version[1]} was never tried")
    return library


def _beside() -> list[Path]:
    beside = Path(confluent_kafka.__file__).parent.parent
    return [
        *beside.glob("confluent_kafka.libs/librdkafka-*.so*"),
        *beside.glob("confluent_kafka/.dylibs/librdkafka*"),
    ]


def _check_structs(library: Library) -> None:
    partitions = library.topic_partition_list_new(1)
    added = library.topic_partition_list_add(partitions, b"causeway", 7).contents
    as_known = (added.topic, added.partition, added.offset, added.err) == (b"causeway", 7, -1001, 0)
    library.topic_partition_list_destroy(partitions)
    if not as_known or ctypes.sizeof(Message) != 72 or not _reads_headers(library):
        raise Absent("its structs are laid out in another way")


def _reads_headers(library: Library) -> bool:
    """Whether headers are read as they were written, including names with a NUL and all kinds of values."""
    written = [
        (b"a\0b\xff", b"\0value"),
        (b"", b""),
        (b"name", None),
        (b"\0", b"x" * 300),
        (b"n" * 300, None),
    ]
    made = library.headers_new(len(written))
    try:
        found = (c_size_t * 3)()
        at = ctypes.addressof(found)
        for number, (name, value) in enumerate(written):
            library.header_add(made, name, len(name), value, len(value or b""))
            library.header_get_all(made, number, at, at + 8, at + 16)
            prefix = HEADER_PREFIX.unpack(string_at(found[0] - HEADER_PREFIX.size, HEADER_PREFIX.size))
            if prefix[1:] != (len(value or b""), len(name), found[1]):
                return False  # before an address that may be invalid is followed
        return list(headers_in(library, made)) == written
    finally:
        library.headers_destroy(made)


def headers_in(library: Library, headers: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield names and values, byte for byte."""
    found = (c_size_t * 3)()
    at = ctypes.addressof(found)
    get, read, before = library.header_get_all, string_at, HEADER_PREFIX.size
    number = 0
    while not get(headers, number, at, at + 8, at + 16):
        name, value, size = found
        name_size = HEADER_PREFIX.unpack(read(name - before, before))[2]
        yield read(name, name_size), read(value, size) if value else None
        number += 1
