"""Compares the records of both sides: a hash of each partition, over all records in their order.

A count alone is not enough: empty records are copied fast too. The comparison is pure; reading is not.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

PATIENCE_SECONDS = 60.0
_ABSENT = -1
_BATCH = 10_000


@dataclass(frozen=True)
class Digest:
    """A partition's content."""

    records: int
    hash: str


class Fingerprint:
    """A hash over a partition's records in order; each field is preceded by its length.

    `whole` includes timestamps and headers: some programs do not keep them.
    """

    def __init__(self, *, whole: bool = True) -> None:
        self._whole = whole
        self._hash = hashlib.blake2b(digest_size=16)
        self._records = 0
        self._waiting: list[bytes] = []

    def add(
        self, timestamp: int, key: bytes | None, value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
    ) -> None:  # fmt: skip
        self._records += 1
        if not self._whole:
            timestamp, headers = 0, None
        lengths = (_ABSENT if key is None else len(key), _ABSENT if value is None else len(value))
        self._waiting += (
            struct.pack("<qiii", timestamp, *lengths, len(headers or ())), key or b"", value or b""
        )  # fmt: skip
        for name, content in headers or ():
            encoded = name.encode()
            length = _ABSENT if content is None else len(content)
            self._waiting += (struct.pack("<ii", len(encoded), length), encoded, content or b"")

    def settle(self) -> None:
        """Hash the records added so far, in one step."""
        self._hash.update(b"".join(self._waiting))
        self._waiting.clear()

    def digest(self) -> Digest:
        self.settle()
        return Digest(self._records, self._hash.hexdigest())


def difference(source: Mapping[int, Digest], destination: Mapping[int, Digest]) -> str:
    """The differences of a copy in one line; empty if there are none."""
    nothing = Fingerprint().digest()
    differences = []
    for partition in sorted(source.keys() | destination.keys()):
        here, there = source.get(partition, nothing), destination.get(partition, nothing)
        if here.records != there.records:
            differences.append(f"partition {partition}: {here.records} records became {there.records}")
        elif here.hash != there.hash:
            differences.append(f"partition {partition}: {here.records} records, but not the same")
    if not sum(digest.records for digest in source.values()):
        differences.append("there was nothing to copy")
    more = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
    return "; ".join(differences[:3]) + more


class Original:
    """A source topic that does not change any more: read once for each way of comparing."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._place = servers, topic, partitions
        self._known: dict[bool, dict[int, Digest]] = {}

    def read(self, *, whole: bool = True) -> dict[int, Digest]:
        if whole not in self._known:
            self._known[whole] = read(*self._place, whole=whole)
        return self._known[whole]

    def difference(self, servers: str, topic: str, *, whole: bool) -> str:
        """The differences of a copy in one line; empty if there are none."""
        return difference(self.read(whole=whole), read(servers, topic, self._place[2], whole=whole))


def read(servers: str, topic: str, partitions: int, *, whole: bool = True) -> dict[int, Digest]:
    """Read a topic up to its current log end, read_committed, with one process per core."""
    workers = min(os.cpu_count() or 1, partitions)
    shares = [list(range(worker, partitions, workers)) for worker in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_read, servers, topic, share, whole) for share in shares]
        return {partition: digest for job in jobs for partition, digest in job.result().items()}


def _read(servers: str, topic: str, partitions: list[int], whole: bool) -> dict[int, Digest]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "group.id": "bench-content", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed",
            "enable.partition.eof": True, "fetch.wait.max.ms": 20, "fetch.queue.backoff.ms": 5,
            "queued.max.messages.kbytes": 128 * 1024, "queued.min.messages": 1_000_000,
        }
    )  # fmt: skip
    try:
        return _fingerprints(consumer, topic, {number: Fingerprint(whole=whole) for number in partitions})
    finally:
        consumer.close()


def _fingerprints(consumer: Any, topic: str, fingerprints: dict[int, Fingerprint]) -> dict[int, Digest]:
    consumer.assign([TopicPartition(topic, partition, 0) for partition in fingerprints])
    unread = set(fingerprints)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while unread:
        batch = consumer.consume(_BATCH, 0.2)
        for message in batch:
            error = message.error()
            if error is None:
                fingerprints[message.partition()].add(
                    message.timestamp()[1], message.key(), message.value(), message.headers()
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
            else:
                raise OSError(f"{topic} cannot be read: {error.str()}")
        for fingerprint in fingerprints.values():
            fingerprint.settle()
        if batch:
            deadline = time.monotonic() + PATIENCE_SECONDS
        elif time.monotonic() > deadline:
            raise TimeoutError(f"{topic} could not be read to its end: partitions {sorted(unread)}")
    return {partition: fingerprint.digest() for partition, fingerprint in fingerprints.items()}
