"""Warms up the brokers, so that their JVMs have compiled the code that the contenders' requests need.

A broker that was just started takes ten times as long for a small transaction as one that has seen ten
thousand of them; without this the first contender would warm them up for the others. No contender's own
requests are used for it: plain clients produce, consume and describe, as all contenders do.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer, TopicCollection, TopicPartition

from bench import content
from bench.load import fill, value
from bench.shapes import CENTRE
from bench.stage import Side, Stage

WRITERS = 4
READERS = 2
LARGE = 50_000
_TIMEOUT_SECONDS = 30.0

Stopped = Callable[[], bool]


def warm(stage: Stage, records: int, seconds: float) -> None:
    """Write `records` in large transactions at full speed, then small ones for `seconds`, on both sides."""
    sides = stage.source, stage.destination
    topic = stage.name("warm")
    for side in sides:
        filled = fill(side, topic, CENTRE, records, transaction=LARGE)
        content.read(side.servers, filled.topic, CENTRE.partitions)
    stage.say(f"  warming up: small transactions for {seconds:.0f} s")
    with _threads([(_transactions, WRITERS), (_fetches, READERS)], sides, topic):
        time.sleep(seconds)
    stage.clean()


@contextmanager
def _threads(
    work: list[tuple[Callable[[Side, str, Stopped], None], int]], sides: tuple[Side, ...], topic: str
) -> Iterator[None]:
    stop = threading.Event()
    threads = [
        threading.Thread(target=do, args=(side, topic, stop.is_set), daemon=True)
        for side in sides
        for do, number in work
        for _ in range(number)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _transactions(side: Side, topic: str, stopped: Stopped) -> None:
    """Transactions of a few records, with a describe request in each."""
    producer = Producer(
        {
            "bootstrap.servers": side.servers, "transactional.id": uuid.uuid4().hex, "linger.ms": 0,
            "compression.type": "lz4", "retry.backoff.ms": 1, "log_level": 0,
        }
    )  # fmt: skip
    number = 0
    try:
        producer.init_transactions(_TIMEOUT_SECONDS)
        while not stopped():
            producer.begin_transaction()
            for partition in range(CENTRE.partitions):
                producer.produce(topic, value(number, CENTRE.size), partition=partition)
                number += 1
            for future in side.admin.describe_topics(TopicCollection([topic])).values():
                future.result()
            producer.commit_transaction(_TIMEOUT_SECONDS)
    except KafkaException as error:
        print(f"bench: warming up: {error.args[0].str()}")


def _fetches(side: Side, topic: str, stopped: Stopped) -> None:
    """Consume everything as it arrives."""
    consumer = Consumer(
        {
            "bootstrap.servers": side.servers, "group.id": "bench-warm", "enable.auto.commit": False,
            "isolation.level": "read_committed", "auto.offset.reset": "latest", "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, partition) for partition in range(CENTRE.partitions)])
    while not stopped():
        consumer.consume(100, 0.1)
    consumer.close()
