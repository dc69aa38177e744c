"""Records written and read through plain sockets, byte by byte, without a client library.

Batches of version 2, not compressed. The writer of what is read back must not compress it either. (And the
topic must not require it: a broker that compresses reads names of headers as UTF-8, and writes U+FFFD where
they are not.)
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from support.process import eventually

Header = tuple[bytes, bytes | None]

_PRODUCE, _FETCH = 0, 1
_NOT_YET = (3, 6)  # a broker that does not know the topic, or that it leads it, yet
_VERSIONS = {_PRODUCE: 3, _FETCH: 4}


class Raw(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def produce(servers: str, topic: str, records: Sequence[Raw], timestamp: int, partition: int = 0) -> None:
    batch = _batch(records, timestamp)
    body = struct.pack(">hhi", -1, -1, 30_000)  # no transactional id; all replicas
    body += struct.pack(">i", 1) + _text(topic)
    body += struct.pack(">iii", 1, partition, len(batch)) + batch

    def written() -> bool:
        response = _ask(servers, _PRODUCE, body)
        (error,) = struct.unpack_from(">h", response, 4 + 2 + len(topic) + 4 + 4)
        assert not error or error in _NOT_YET, f"{topic}: error {error}"
        return not error

    eventually(written, f"{topic} has a leader")


def read(servers: str, topic: str, partition: int = 0) -> list[Raw]:
    """All records, including those of aborted transactions."""
    records_read: list[Raw] = []
    at = 0
    while True:
        body = struct.pack(">iiiib", -1, 500, 1, 1 << 26, 0) + struct.pack(">i", 1) + _text(topic)
        body += struct.pack(">iiqi", 1, partition, at, 1 << 26)
        response = _ask(servers, _FETCH, body)
        start = 4 + 4 + 2 + len(topic) + 4  # throttling, topics, the name, partitions
        _, error, _, _, aborted = struct.unpack_from(">ihqqi", response, start)
        assert not error, f"{topic}: error {error}"
        start += 26 + 16 * max(0, aborted)
        (size,) = struct.unpack_from(">i", response, start)
        batches = response[start + 4 : start + 4 + size]
        if not batches:
            return records_read
        for base, last, records in _batches(batches):
            if base >= at:
                records_read += records
            at = max(at, last + 1)


def _batch(records: Sequence[Raw], timestamp: int) -> bytes:
    encoded = b"".join(_record(number, record) for number, record in enumerate(records))
    count = len(records)
    after_crc = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp, -1, -1, -1, count) + encoded
    crc = _crc32c(after_crc)
    return struct.pack(">qiibI", 0, 4 + 1 + 4 + len(after_crc), -1, 2, crc) + after_crc


def _record(number: int, record: Raw) -> bytes:
    headers = b"".join(_sized(name) + _sized(value) for name, value in record.headers)
    count = _varint(len(record.headers))
    body = b"\0" + _varint(0) + _varint(number) + _sized(record.key) + _sized(record.value) + count + headers
    return _varint(len(body)) + body


def _batches(data: bytes) -> Iterator[tuple[int, int, list[Raw]]]:
    at = 0
    while at + 61 <= len(data):
        base, length = struct.unpack_from(">qi", data, at)
        if at + 12 + length > len(data):
            return
        attributes, last = struct.unpack_from(">hi", data, at + 21)
        assert not attributes & 7, "compressed"
        (count,) = struct.unpack_from(">i", data, at + 57)
        is_marker = bool(attributes & 32)
        yield base, base + last, [] if is_marker else _records(data, at + 61, count)
        at += 12 + length


def _records(data: bytes, at: int, count: int) -> list[Raw]:
    records = []
    for _ in range(count):
        _, at = _read_varint(data, at)
        at += 1
        _, at = _read_varint(data, at)
        _, at = _read_varint(data, at)
        key, at = _read_sized(data, at)
        value, at = _read_sized(data, at)
        size, at = _read_varint(data, at)
        headers = []
        for _ in range(size):
            name, at = _read_sized(data, at)
            content, at = _read_sized(data, at)
            headers.append((name or b"", content))
        records.append(Raw(key, value, tuple(headers)))
    return records


def _sized(part: bytes | None) -> bytes:
    return _varint(-1) if part is None else _varint(len(part)) + part


def _read_sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _varint(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    written = bytearray()
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*written, left))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _ask(servers: str, api: int, body: bytes) -> bytes:
    """One request to a cluster of one broker."""
    host, _, port = servers.partition(",")[0].rpartition(":")
    head = struct.pack(">hhi", api, _VERSIONS[api], 1) + _text("raw")
    with socket.create_connection((host, int(port)), 30) as line:
        line.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        with line.makefile("rb") as reader:
            (size,) = struct.unpack(">i", reader.read(4))
            return bytes(reader.read(size)[4:])


@cache
def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


def _crc32c(data: bytes) -> int:
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
