"""Records as they are compared, and a reader that is independent of the code under test."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

Headers = tuple[tuple[str, bytes | None], ...]


class Rec(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


def read_all(
    servers: str, topic: str, *, committed: bool = True, seconds: float = 30.0
) -> dict[int, list[Rec]]:
    """Every record of a topic up to its current log end, by partition."""
    return {
        partition: [rec for _, rec in records]
        for partition, records in read_offsets(servers, topic, committed=committed, seconds=seconds).items()
    }


def read_offsets(
    servers: str, topic: str, *,
    committed: bool = True, seconds: float = 30.0, starts: Mapping[int, int] | None = None,
) -> dict[int, list[tuple[int, Rec]]]:  # fmt: skip
    """The same with offsets; `starts` has the first offset of some partitions."""
    begin = starts or {}
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"oracle-{uuid.uuid4().hex}",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
        }
    )
    try:
        partitions = list(consumer.list_topics(topic, timeout=min(10, seconds)).topics[topic].partitions)
        records: dict[int, list[tuple[int, Rec]]] = {partition: [] for partition in partitions}
        consumer.assign(
            [TopicPartition(topic, partition, begin.get(partition, 0)) for partition in partitions]
        )
        open_partitions = set(partitions)
        deadline = time.monotonic() + seconds
        while open_partitions:
            assert time.monotonic() < deadline, f"{topic} could not be read to its end: {open_partitions}"
            for message in consumer.consume(5000, 0.1):
                error = message.error()
                if error is None:
                    records[message.partition()].append((message.offset(), _rec(message)))
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition())
                else:
                    raise AssertionError(f"{topic}: {error}")
        return records
    finally:
        consumer.close()


def _rec(message: Any) -> Rec:
    return Rec(message.key(), message.value(), tuple(message.headers() or ()), message.timestamp()[1])


def end_offsets(servers: str, topic: str, partitions: int, *, seconds: float = 30.0) -> dict[int, int]:
    """The current log ends. Retries while there is no leader: of a new topic, or after a broker's death."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    wanted = {TopicPartition(topic, n): OffsetSpec.latest() for n in range(partitions)}
    deadline = time.monotonic() + seconds
    while True:
        try:
            asked = admin.list_offsets(wanted)
            ends = {partition.partition: future.result().offset for partition, future in asked.items()}
            assert min(ends.values(), default=0) >= 0, f"{topic}: a leader did not respond"
            return ends
        except (KafkaException, AssertionError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)  # leave the CPU to the leader election
        with contextlib.suppress(KafkaException):
            admin.list_topics(topic, timeout=10)  # else the client keeps using the leader that it knows
