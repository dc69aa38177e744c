"""Which offsets of a log hold a batch: records, aborted or not, and transaction markers.

Consumers never get markers, and no client interface shows batches. But librdkafka logs each batch that a
fetch returned (`debug=msg`), with its last offset, its count and how many of them are markers:

    CONSUME […]: paris-1:9092/1: Enqueue 1 message(s) (0 bytes, 1 ops) on orders [0] fetch queue (qlen 1, v4,
    last_offset 15, 1 ctrl msgs, 0 aborted msgsets, uncompressed)

A fetch of one byte returns exactly one batch. So the log is read batch by batch, with every security protocol
that the client itself can speak. For short ranges: each batch takes a request.
"""

from __future__ import annotations

import re
import time
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.model.cluster import Cluster
from causeway.policy.holes import Batch

PATIENCE_SECONDS = 5.0
GROUP = "causeway.batches"
"""Consumers must name a group; this one is never joined and never written to."""

_ENQUEUED = re.compile(r"CONSUME .*?: Enqueue (\d+) message\(s\) .* last_offset (-?\d+), (\d+) ctrl msgs,")


class Unread(CausewayError):
    """The batches of a range could not be read to its end."""


def batches_between(cluster: Cluster, topic: str, partition: int, begin: int, end: int) -> list[Batch] | None:
    """The batches that have offsets from `begin` up to `end`; None where this client does not log them.

    Raises Unread where the log does not return them, for instance since retention took them meanwhile.
    """
    lines: list[str] = []
    errors: list[KafkaError] = []
    consumer = clients.consumer(
        cluster,
        GROUP,
        on_error=errors.append,
        on_log=lines.append,
        debug="msg",
        isolation_level="read_uncommitted",
        max_partition_fetch_bytes=1,
        queued_min_messages=1,
    )
    try:
        consumer.assign([TopicPartition(topic, partition, begin)])
        heard, heard_at = 0, time.monotonic()
        while True:
            message = consumer.poll(0.1)
            if message is not None and _ended(message, end, f"{topic}[{partition}]"):
                break
            if message is not None or len(lines) > heard:  # of markers only the log tells
                heard, heard_at = len(lines), time.monotonic()
            elif time.monotonic() - heard_at > PATIENCE_SECONDS:
                why = errors[-1].str() if errors else "nothing came"
                raise Unread(f"{topic}[{partition}] from offset {begin} on: {why}")
    finally:
        consumer.close()
    return batches_logged(lines)


def _ended(message: Any, end: int, where: str) -> bool:
    error = message.error()
    if error is None:
        return bool(message.offset() >= end - 1)
    if error.code() == KafkaError._PARTITION_EOF:
        return bool(message.offset() >= end)
    if error.retriable():
        return False
    raise Unread(f"{where} at offset {message.offset()}: {error.str()}")


def batches_logged(lines: list[str]) -> list[Batch] | None:
    """What the client's log says of batches; None where it says nothing."""
    found = [tuple(map(int, match.groups())) for line in lines if (match := _ENQUEUED.match(line))]
    if not found:
        return None
    return [Batch(last - count + 1, last, markers > 0) for count, last, markers in found if count > 0]
