"""AlterPartitionReassignments, which the client has no call for: one request on a connection of its own."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence

_API, _VERSION = 45, 0
_PATIENCE_SECONDS = 30


def reassign(servers: str, topic: str, wanted: Mapping[int, Sequence[int]]) -> None:
    """Partition → its replicas from now on, the preferred leader first. Any broker accepts it."""
    host, _, port = servers.partition(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), _PATIENCE_SECONDS) as connection:
        request = _request(topic, wanted)
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        response = _exactly(connection, size)
    (code,) = struct.unpack_from(">h", response, 9)  # after correlation, tags and throttle time
    assert code == 0, f"the brokers do not reassign {topic}: error {code}"


def _request(topic: str, wanted: Mapping[int, Sequence[int]]) -> bytes:
    """Compact strings and arrays: their length plus one, as one byte; a zero ends each structure."""
    name = topic.encode()
    assert max(len(name), len(wanted), *map(len, wanted.values())) < 127, "lengths of one byte"
    head = struct.pack(">hhih", _API, _VERSION, 1, -1) + b"\0"
    partitions = b"".join(
        struct.pack(f">ib{len(replicas)}ib", number, len(replicas) + 1, *replicas, 0)
        for number, replicas in wanted.items()
    )
    topics = bytes([len(name) + 1]) + name + bytes([len(wanted) + 1]) + partitions + b"\0"
    return head + struct.pack(">i", _PATIENCE_SECONDS * 1000) + b"\x02" + topics + b"\0"


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        assert part, "the broker hung up"
        received += part
    return received
