"""Finds which offsets of a log hold a batch: records, aborted or not, and transaction markers.

Consumers never get markers, and no client API reports batches. But librdkafka logs each batch that a
fetch returned (`debug=msg`), with its last offset, its count and how many of them are markers:

    CONSUME […]: paris-1:9092/1: Enqueue 1 message(s) (0 bytes, 1 ops) on orders [0] fetch queue (qlen 1, v4,
    last_offset 15, 1 ctrl msgs, 0 aborted msgsets, uncompressed)

A longer range is read in ordinary fetches first, aborted records too. Where a fetch returned as many records
and markers as it passed offsets, nothing is missing there (`markers_counted`). The rest is read batch by
batch, with one request for each: a fetch of one byte returns exactly one batch. All of it works with every
security protocol that the client supports.
"""

from __future__ import annotations

import math
import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, TopicPartition

from causeway.core.cluster import Cluster
from causeway.errors import CausewayError
from causeway.kafka import clients
from causeway.rules.holes import FEW, Hole, LogBatch, unexplained

SILENCE_SECONDS = 5.0
QUEUE_KBYTES = 4_096
FETCH_BYTES = 64 << 10
"""Aborted records may be compressed a thousandfold too (rules/fetch_sizes.py)."""
GROUP = "causeway.batches"
"""Consumers must name a group; this one is never joined and never written to."""

_ENQUEUED = re.compile(r"CONSUME .*?: Enqueue (\d+) message\(s\) .* last_offset (-?\d+), (\d+) ctrl msgs,")


class Unread(CausewayError):
    """The batches of a range could not be read to its end."""


class Read(NamedTuple):
    """Batches of a range, complete from its begin up to `end`, exclusive."""

    batches: list[LogBatch]
    end: int


def batches_between(
    cluster: Cluster, topic: str, partition: int, begin: int, end: int, deadline: float = math.inf
) -> Read | None:
    """Return the batches with offsets from `begin` up to `end`; None where this client does not log them.

    After the deadline (of the monotonic clock) it stops before the end, but never where it began. Raises
    Unread where the batches cannot be fetched, for instance since retention deleted them meanwhile.
    """
    hole = Hole(begin, end)
    batches: list[LogBatch] = []
    if hole.size > FEW:
        with _Log(cluster, topic, partition, debug="msg", fetch_bytes=FETCH_BYTES) as log:
            batches, end = log.records(hole, deadline)
        batches += markers_counted(log.lines, begin, batches)
    rest = unexplained(Hole(begin, end), batches)
    if not rest:
        return Read(batches, end)
    with _Log(
        cluster, topic, partition, debug="msg", max_partition_fetch_bytes=1, queued_min_messages=1
    ) as log:
        for number, part in enumerate(rest, 1):
            for _ in log.messages(part):
                pass
            if time.monotonic() > deadline and number < len(rest):
                end = part.end
                break
        more = batches_logged(log.lines)
    return None if more is None else Read(batches + more, end)


class _Log:
    """Reads one partition, read_uncommitted, with a consumer that lives as long as the `with` block."""

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

    def records(self, hole: Hole, deadline: float) -> tuple[list[LogBatch], int]:
        """Return the offsets with records as contiguous ranges, and up to where they were read."""
        runs: list[LogBatch] = []
        for offset in self.messages(hole):
            if runs and runs[-1].last + 1 == offset:
                runs[-1] = runs[-1]._replace(last=offset)
            else:
                runs.append(LogBatch(offset, offset, False))
            if time.monotonic() > deadline and hole.begin <= offset < hole.end - 1:
                return runs, offset + 1
        return runs, hole.end

    def messages(self, hole: Hole) -> Iterator[int]:
        """Yield the offsets of records from the begin of a hole until its end is reached. Raises Unread."""
        topic, partition = self._at
        self._consumer.assign([TopicPartition(topic, partition, hole.begin)])
        logged, received_at = len(self.lines), time.monotonic()
        while True:
            message = self._consumer.poll(0.1)
            if message is not None:
                if message.error() is None:
                    yield message.offset()
                if _ended(message, hole.end, self._errors):
                    return
            if message is not None or len(self.lines) > logged:  # only the log reports markers
                logged, received_at = len(self.lines), time.monotonic()
            elif time.monotonic() - received_at > SILENCE_SECONDS:
                why = self._errors[-1].str() if self._errors else "no response"
                raise Unread(f"{topic}[{partition}] from offset {hole.begin}: {why}")


def _ended(message: Any, end: int, errors: list[KafkaError]) -> bool:
    """Whether the end was reached. Errors that name no partition do not concern this one, and are kept.

    One of them: this user may not describe the group. The client looks up its coordinator all the same.
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


def batches_logged(lines: list[str]) -> list[LogBatch] | None:
    """Return the batches in the client's log; None where it has no line about any."""
    fetches = _fetches(lines)
    if not fetches:
        return None
    return [LogBatch(last - count + 1, last, markers > 0) for count, last, markers in fetches if count > 0]


def markers_counted(lines: list[str], begin: int, records: Sequence[LogBatch]) -> list[LogBatch]:
    """Return the offsets between records that must be markers, by the number of markers in each fetch.

    Fetches follow each other from `begin` on. One with as many messages as it passed offsets, and as many
    markers as there are offsets without a record between, left nothing out. `records` are in offset order.
    """
    found_markers: list[LogBatch] = []
    at, lasts = begin, [batch.last for batch in records]
    for count, last, markers in _fetches(lines):
        if count <= 0 or last < at:
            continue
        span = Hole(at, last + 1)
        within = records[bisect_left(lasts, span.begin) :]
        between = unexplained(span, within[: bisect_left(within, LogBatch(span.end, 0, False))])
        if count == span.size and markers == sum(part.size for part in between):
            found_markers += [LogBatch(part.begin, part.end - 1, True) for part in between]
        at = span.end
    return found_markers


def _fetches(lines: list[str]) -> list[tuple[int, int, int]]:
    """Return message count, last offset and marker count of each fetch that the client logged."""
    matches = (_ENQUEUED.match(line) for line in lines)
    return [(int(match[1]), int(match[2]), int(match[3])) for match in matches if match]
