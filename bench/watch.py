"""Polls the destination while a contender runs, until all records have arrived.

Log ends are cheap to request, but count transaction markers too. So when there are as many offsets as
records, the last record of each partition decides: records contain their number.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from bench.child import Child, Failed
from bench.course import Sight
from bench.load import number_of
from bench.stage import Side

LOOK_SECONDS = 0.025
PATIENCE_SECONDS = 120.0
"""A contender fails after this long without progress."""
_BACK = 64  # the last record is in this many offsets before the end; after it are only markers
_TAIL_SECONDS = 10.0


def last_numbers(counts: Sequence[int]) -> list[int]:
    """The number of each partition's last record, -1 if it is empty."""
    return [partition + (count - 1) * len(counts) if count else -1 for partition, count in enumerate(counts)]


def until_arrived(
    child: Child, side: Side, topic: str, counts: Sequence[int], *, patience: float = PATIENCE_SECONDS
) -> list[Sight]:
    """Return the course of a run, from the command until the last record can be read. Raises Failed."""
    total, course = sum(counts), list[Sight]()
    arrived, moved = 0, time.monotonic()
    with _Tails(side.servers, topic, last_numbers(counts)) as tails:
        while True:
            ends = side.ends(topic, len(counts))
            at, usage = child.seconds, child.usage()
            seen = max(arrived, min(total, sum(ends)))
            moved = time.monotonic() if seen > arrived else moved
            arrived = seen
            course.append(Sight(at, arrived, usage.cpu, usage.memory))
            enough = all(end >= count for end, count in zip(ends, counts, strict=True))
            if enough and tails.all_there(ends):
                return course
            child.must_live()
            if time.monotonic() - moved > patience:
                raise Failed(f"nothing came for {patience:.0f} s: {arrived:,} of {total:,} are there")
            time.sleep(LOOK_SECONDS)


class _Tails:
    """Reads the last records of partitions."""

    def __init__(self, servers: str, topic: str, wanted: Sequence[int]) -> None:
        self._topic = topic
        self._wanted = {partition: number for partition, number in enumerate(wanted) if number >= 0}
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": servers, "group.id": "bench-tails", "enable.auto.commit": False,
                "isolation.level": "read_committed", "auto.offset.reset": "earliest",
                "enable.partition.eof": True, "fetch.wait.max.ms": 10, "queued.min.messages": _BACK,
            }
        )  # fmt: skip

    def __enter__(self) -> _Tails:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def all_there(self, ends: Sequence[int]) -> bool:
        """Whether each partition ends with its last record; those that do are not read again."""
        numbers = self._last({partition: ends[partition] for partition in self._wanted})
        for partition, number in numbers.items():
            if number >= self._wanted[partition]:
                del self._wanted[partition]
        return not self._wanted

    def _last(self, ends: dict[int, int]) -> dict[int, int]:
        places = [
            TopicPartition(self._topic, partition, max(0, end - _BACK)) for partition, end in ends.items()
        ]
        self._consumer.assign(places)
        numbers: dict[int, int] = {}
        unread = set(ends)
        deadline = time.monotonic() + _TAIL_SECONDS
        while unread and time.monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            if message.error() is None:
                numbers[message.partition()] = number_of(message.value())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
        self._consumer.unassign()
        return numbers
