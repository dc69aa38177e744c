"""Which offsets of a log hold a batch: records, aborted or not, and transaction markers.

Consumers never get markers, and no client interface shows batches. But librdkafka logs each batch that a
fetch returned (`debug=msg`), with its last offset, its count and how many of them are markers:

    CONSUME […]: paris-1:9092/1: Enqueue 1 message(s) (0 bytes, 1 ops) on orders [0] fetch queue (qlen 1, v4,
    last_offset 15, 1 ctrl msgs, 0 aborted msgsets, uncompressed)

A fetch of one byte returns exactly one batch. So the log is read batch by batch, with every security
protocol that the client itself can speak. Each batch takes a request: of a longer range the records are read
in ordinary fetches first, aborted ones too, and only what they leave out is read batch by batch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.model.cluster import Cluster
from causeway.policy.holes import FEW, Batch, Hole, unexplained

PATIENCE_SECONDS = 5.0
QUEUE_KBYTES = 4_096
GROUP = "causeway.batches"
"""Consumers must name a group; this one is never joined and never written to."""

_ENQUEUED = re.compile(r"CONSUME .*?: Enqueue (\d+) message\(s\) .* last_offset (-?\d+), (\d+) ctrl msgs,")


class Unread(CausewayError):
    """The batches of a range could not be read to its end."""


def batches_between(cluster: Cluster, topic: str, partition: int, begin: int, end: int) -> list[Batch] | None:
    """The batches that have offsets from `begin` up to `end`; None where this client does not log them.

    Raises Unread where the log does not return them, for instance since retention took them meanwhile.
    """
    hole = Hole(begin, end)
    records: list[Batch] = []
    if hole.size > FEW:
        with _Log(cluster, topic, partition) as log:
            records = log.records(hole)
    rest = unexplained(hole, records)
    if not rest:
        return records
    with _Log(
        cluster, topic, partition, debug="msg", max_partition_fetch_bytes=1, queued_min_messages=1
    ) as log:
        for part in rest:
            for _ in log.messages(part):
                pass
        batches = batches_logged(log.lines)
    return None if batches is None else records + batches


class _Log:
    """One partition, read_uncommitted, by a consumer that lives as long as the block."""

    def __init__(self, cluster: Cluster, topic: str, partition: int, **properties: Any) -> None:
        self._at = (topic, partition)
        self.lines: list[str] = []
        self._errors: list[KafkaError] = []
        self._consumer = clients.consumer(
            cluster,
            GROUP,
            on_error=self._errors.append,
            on_log=self.lines.append,
            isolation_level="read_uncommitted",
            queued_max_messages_kbytes=QUEUE_KBYTES,
            **properties,
        )

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def records(self, hole: Hole) -> list[Batch]:
        """The offsets that have records, side by side ones together."""
        found: list[Batch] = []
        for offset in self.messages(hole):
            if found and found[-1].last + 1 == offset:
                found[-1] = found[-1]._replace(last=offset)
            else:
                found.append(Batch(offset, offset, False))
        return found

    def messages(self, hole: Hole) -> Iterator[int]:
        """Offsets of the records from where a hole begins, until its end was reached. Raises Unread."""
        topic, partition = self._at
        self._consumer.assign([TopicPartition(topic, partition, hole.begin)])
        heard, heard_at = len(self.lines), time.monotonic()
        while True:
            message = self._consumer.poll(0.1)
            if message is not None:
                if message.error() is None:
                    yield message.offset()
                if _ended(message, hole.end, self._errors):
                    return
            if message is not None or len(self.lines) > heard:  # of markers only the log tells
                heard, heard_at = len(self.lines), time.monotonic()
            elif time.monotonic() - heard_at > PATIENCE_SECONDS:
                why = self._errors[-1].str() if self._errors else "nothing came"
                raise Unread(f"{topic}[{partition}] from offset {hole.begin} on: {why}")


def _ended(message: Any, end: int, errors: list[KafkaError]) -> bool:
    """Whether the end was reached. Errors that name no partition are not of this one, and are kept.

    A group that this user may not describe is one of them: the client looks for its coordinator all the same.
    """
    error = message.error()
    if error is None:
        return bool(message.offset() >= end - 1)
    if error.code() == KafkaError._PARTITION_EOF:
        return bool(message.offset() >= end)
    if error.retriable() or message.topic() is None:
        errors.append(error)
        return False
    raise Unread(f"{message.topic()}[{message.partition()}] at offset {message.offset()}: {error.str()}")


def batches_logged(lines: list[str]) -> list[Batch] | None:
    """What the client's log says of batches; None where it says nothing."""
    found = [tuple(map(int, match.groups())) for line in lines if (match := _ENQUEUED.match(line))]
    if not found:
        return None
    return [Batch(last - count + 1, last, markers > 0) for count, last, markers in found if count > 0]
