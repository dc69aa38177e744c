"""A producer with a fixed rate, and a consumer at the destination that measures each record's latency.

Each is a process of its own, so that neither waits for the other's interpreter. A value contains its
number and the sender's timestamp.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.load import DIGITS, value
from bench.stage import Side

CLOCK = 19  # digits of nanoseconds since 1970
TICK_SECONDS = 0.001
READ_SECONDS = 60.0
START_SECONDS = 60.0
_FLUSH_SECONDS = 60

PRODUCER = {"linger.ms": 1, "acks": "all", "compression.type": "lz4"}
"""Settings for low latency; the sender's own delay is part of every contender's figures."""


@dataclass(frozen=True)
class Flow:
    """First record number, rate, maximum duration; spread over the first partitions."""

    topic: str
    partitions: int
    start: int
    rate: int
    seconds: float
    size: int = 200


@dataclass(frozen=True)
class Trip:
    sent: int  # nanoseconds since 1970
    took: int  # nanoseconds until it was read


def due(elapsed: float, rate: int, seconds: float) -> int:
    """How many records should have been sent by now."""
    return int(min(elapsed, seconds) * rate)


def stamped(number: int, size: int, clock: int) -> bytes:
    plain = value(number, size)
    return plain[:DIGITS] + b"%019d" % clock + plain[DIGITS + CLOCK :]


def clock_of(value: bytes) -> int:
    return int(value[DIGITS : DIGITS + CLOCK])


class Sender:
    """A running producer. `finish` ends it early; returns how many records it has sent."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds

    def wait(self) -> int:
        """Wait until its time is over; return the number of records sent."""
        return int(_received(self._connection, self._seconds + _FLUSH_SECONDS, "the sender"))

    def finish(self) -> int:
        self._connection.send(None)
        return self.wait()


class Reader:
    """A running consumer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def trips(self, count: int) -> list[Trip]:
        """The trips of all records, as soon as `count` were read."""
        self._connection.send(count)
        pairs = array("q")
        pairs.frombytes(_received(self._connection, 2 * READ_SECONDS, "the reader"))
        return [Trip(sent, took) for sent, took in zip(pairs[::2], pairs[1::2], strict=True)]


@contextmanager
def sending(side: Side, flow: Flow) -> Iterator[Sender]:
    with _started(_send, side.servers, flow) as connection:
        yield Sender(connection, flow.seconds)


@contextmanager
def reading(side: Side, topic: str, starts: Sequence[int]) -> Iterator[Reader]:
    """Consume from these offsets; the consumer is assigned when this returns."""
    with _started(_read, side.servers, topic, list(starts)) as connection:
        _received(connection, START_SECONDS, "the reader")
        yield Reader(connection)


@contextmanager
def _started(target: Any, *arguments: Any) -> Iterator[Connection]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.kill()
        process.join()


def _received(connection: Connection, seconds: float, who: str) -> Any:
    if not connection.poll(seconds):
        raise TimeoutError(f"{who} did not respond within {seconds:.0f} s")
    try:
        return connection.recv()
    except EOFError:
        raise OSError(f"{who} has ended") from None


def _send(connection: Connection, servers: str, flow: Flow) -> None:
    producer = Producer({**PRODUCER, "bootstrap.servers": servers})
    producer.list_topics(flow.topic, timeout=20)  # connected, before the clock starts
    began, sent = time.monotonic(), 0
    tick = max(TICK_SECONDS, 1 / flow.rate)
    while not connection.poll(0):
        elapsed = time.monotonic() - began
        for number in range(flow.start + sent, flow.start + due(elapsed, flow.rate, flow.seconds)):
            content = stamped(number, flow.size, time.time_ns())
            producer.produce(flow.topic, content, partition=number % flow.partitions)
            sent += 1
        producer.poll(0)
        if elapsed >= flow.seconds:
            break
        time.sleep(max(0.0, tick - (time.monotonic() - began - elapsed)))
    left = producer.flush(_FLUSH_SECONDS)
    connection.send(sent - left)


def _read(connection: Connection, servers: str, topic: str, starts: list[int]) -> None:
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers, "group.id": "bench-latency", "enable.auto.commit": False,
            "isolation.level": "read_committed", "auto.offset.reset": "earliest",
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, number, start) for number, start in enumerate(starts)])
    consumer.poll(0.5)
    connection.send(True)
    pairs, wanted, deadline = array("q"), None, float("inf")
    while wanted is None or (len(pairs) < 2 * wanted and time.monotonic() < deadline):
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:
            now, sent = time.time_ns(), clock_of(message.value())
            pairs.extend((sent, now - sent))
        if wanted is None and (message is None or len(pairs) % 200 == 0) and connection.poll(0):
            wanted, deadline = connection.recv(), time.monotonic() + READ_SECONDS
    connection.send(pairs.tobytes())
