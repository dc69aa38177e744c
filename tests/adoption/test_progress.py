"""The progress of reading both sides, without a cluster: the consumer is made of lists."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.topic import Spot
from causeway.kafka import range_reader
from causeway.kafka.range_reader import read_spans


class Message:
    def __init__(self, spot: Spot, offset: int, end: bool = False) -> None:
        self._spot, self._offset = spot, offset
        self._error = KafkaError(KafkaError._PARTITION_EOF) if end else None

    def topic(self) -> str:
        return self._spot[0]

    def partition(self) -> int:
        return self._spot[1]

    def offset(self) -> int:
        return self._offset

    def error(self) -> Any:
        return self._error


class Lists:
    """A consumer that has the batches of its partitions ready."""

    def __init__(self, batches: dict[Spot, list[list[Message]]]) -> None:
        self._batches = batches
        self._waiting: list[list[Message]] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._waiting += self._batches[partition.topic, partition.partition]

    def consume(self, _count: int, _seconds: float) -> list[Message]:
        return self._waiting.pop(0)

    def incremental_unassign(self, _partitions: list[TopicPartition]) -> None:
        return

    def close(self) -> None:
        return


def test_offsets_count_with_and_without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    first, other, empty = ("orders", 0), ("orders", 1), ("orders", 2)
    batches = {
        first: [
            [Message(first, 10), Message(first, 11)],
            [Message(first, 17)],
            [Message(first, 20, end=True)],
        ],
        other: [[Message(other, 4), Message(other, 5), Message(other, 6)]],
    }
    monkeypatch.setattr("causeway.kafka.clients.consumer", lambda *_, **__: Lists(batches))
    monkeypatch.setattr(range_reader, "record_of", lambda message: message)
    monkeypatch.setattr(range_reader, "AT_ONCE", 1)
    progress: list[tuple[int, int]] = []

    offsets = read_spans(
        Cluster("a", {}),
        {first: (10, 20), empty: (7, 7), other: (4, 6)},
        lambda record: record.offset(),  # type: ignore[operator]
        progress=lambda done, total: progress.append((done, total)),
    )

    assert offsets == {first: [10, 11, 17], other: [4, 5], empty: []}
    assert progress == [(2, 12), (8, 12), (10, 12), (12, 12)]
