"""Records that are produced before a run: generated from their number, written fast."""

from __future__ import annotations

import functools
import os
import random
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from confluent_kafka import Producer

from bench.shapes import Shape
from bench.stage import Side

DIGITS = 12
_POOL = 1 << 20
_STRIDE = 7919  # prime: adjacent records use different parts of the text
_FLUSH_SECONDS = 120
_POLL_EVERY = 10_000

PRODUCER = {
    "linger.ms": 50,
    "batch.size": 1_000_000,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "acks": "all",
}


@dataclass(frozen=True)
class Filled:
    """A topic full of records: number n is in partition n modulo their number, in the order of numbers."""

    topic: str
    shape: Shape
    records: int


@functools.cache
def text() -> bytes:
    """Words: lz4 compresses them to two thirds, like typical payloads."""
    chance = random.Random(7)
    words = [bytes(chance.choices(range(97, 123), k=chance.randint(3, 9))) for _ in range(2048)]
    return b" ".join(chance.choices(words, k=_POOL // 4))[:_POOL]


def value(number: int, size: int) -> bytes:
    """A record's value: its number, then text."""
    rest = size - DIGITS
    start = number * _STRIDE % (_POOL - rest)
    return b"%012d" % number + text()[start : start + rest]


def number_of(value: bytes) -> int:
    return int(value[:DIGITS])


def headers(number: int) -> list[tuple[str, bytes]]:
    return [("trace-id", b"%016x" % number), ("content-type", b"application/json"), ("version", b"1")]


def fill(side: Side, topic: str, shape: Shape, records: int, transaction: int = 0) -> Filled:
    """Create a topic and write its records, with one process per core.

    `transaction`: records per transaction and process; 0 writes without transactions.
    """
    side.create({topic: shape.partitions})
    workers = min(os.cpu_count() or 1, shape.partitions)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(_write, side.servers, topic, shape, records, worker, workers, transaction)
            for worker in range(workers)
        ]
        for job in jobs:
            job.result()
    return Filled(topic, shape, records)


def _write(
    servers: str, topic: str, shape: Shape, records: int, worker: int, workers: int, transaction: int
) -> None:  # fmt: skip
    """One process's share: whole partitions, so that each is in the order of the numbers."""
    conf: dict[str, Any] = {**PRODUCER, "bootstrap.servers": servers, "compression.type": shape.compression}
    if transaction:
        # A coordinator that has just started needs a retry, which the client would log.
        conf |= {"transactional.id": uuid.uuid4().hex, "log_level": 0}
    producer = Producer(conf)
    if transaction:
        producer.init_transactions(_FLUSH_SECONDS)
        producer.begin_transaction()
    for count, (number, partition) in enumerate(_share(records, shape.partitions, worker, workers)):
        more = {"headers": headers(number)} if shape.headers else {}
        while True:
            try:
                producer.produce(topic, value(number, shape.size), partition=partition, **more)
                break
            except BufferError:
                producer.poll(0.05)
        if count % _POLL_EVERY == 0:
            producer.poll(0)
        if transaction and count % transaction == transaction - 1:
            producer.commit_transaction(_FLUSH_SECONDS)
            producer.begin_transaction()
    left = producer.flush(_FLUSH_SECONDS)
    if left:
        raise TimeoutError(f"{left} records could not be written within {_FLUSH_SECONDS} s")
    if transaction:
        producer.commit_transaction(_FLUSH_SECONDS)


def _share(records: int, partitions: int, worker: int, workers: int) -> Iterator[tuple[int, int]]:
    mine = range(worker, partitions, workers)
    for base in range(0, records, partitions):
        for partition in mine:
            if base + partition < records:
                yield base + partition, partition
