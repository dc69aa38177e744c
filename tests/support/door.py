"""A compat command as its users run it, and a reader that follows the replicated records."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from support.process import Causeway


@contextlib.contextmanager
def door(directory: Path, *arguments: str | Path, env: Mapping[str, str]) -> Iterator[Causeway]:
    """`causeway` with these arguments and variables; it is stopped at the end in every case."""
    process = Causeway(*arguments, log=directory / f"door-{uuid.uuid4().hex[:8]}.log", env=env)
    try:
        yield process
    finally:
        if process.alive:
            process.kill()


class Follower:
    """Reads the committed records of a topic from its beginning, and continues."""

    def __init__(self, servers: str, topic: str) -> None:
        self._servers, self._topic = servers, topic
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self._consumer: Consumer | None = None
        self.values: set[bytes | None] = set()

    def has(self, *values: bytes) -> bool:
        """Whether records with these values have arrived by now."""
        if self._consumer is None:
            topic = self._admin.list_topics(timeout=10).topics.get(self._topic)
            if topic is None or not topic.partitions:
                return False
            self._consumer = Consumer(
                {
                    "bootstrap.servers": self._servers,
                    "group.id": f"follower-{uuid.uuid4().hex}",
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 20,
                }
            )
            self._consumer.assign([TopicPartition(self._topic, number, 0) for number in topic.partitions])
        for message in self._consumer.consume(5000, 0.05):
            assert message.error() is None, message.error()
            self.values.add(message.value())
        return self.values.issuperset(values)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()


def committed(servers: str, group: str, topic: str, partitions: int) -> dict[int, int]:
    """The committed offsets of a consumer group, as lag tools read them."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    try:
        asked = [TopicPartition(topic, number) for number in range(partitions)]
        return {partition.partition: partition.offset for partition in consumer.committed(asked, timeout=10)}
    finally:
        consumer.close()
