"""Reads a topic to its end with an independent consumer, read_committed, also through broker faults."""

from __future__ import annotations

import logging
import time
import uuid
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, TopicPartition

from faults.content import content, token_in
from faults.events import Drained, Seen, Side
from faults.history import Journal
from support.records import end_offsets

_QUIET = logging.Logger("oracle")
_QUIET.addHandler(logging.NullHandler())


def drain(
    servers: str, topic: str, side: Side, journal: Journal, *,
    topic_id: str = "", seconds: float = 60.0, open_transaction: bool = False,
) -> int:  # fmt: skip
    """Add everything that the topic shows now to the journal; returns the number of records.

    The end is the current high watermark: a commit returns before its records can be read. With
    `open_transaction` the end is where an open transaction begins. Raises AssertionError if the end was not
    reached in time; then the journal has no `Drained`.
    """
    deadline = time.monotonic() + seconds
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "group.id": f"oracle-{uuid.uuid4().hex}",
            "isolation.level": "read_committed", "enable.auto.commit": False, "auto.offset.reset": "earliest",
            "enable.partition.eof": True, "fetch.wait.max.ms": 20, "reconnect.backoff.max.ms": 500,
            "logger": _QUIET, "error_cb": lambda _error: None,
        }
    )  # fmt: skip
    try:
        began = journal.now()
        starts, highest = _bounds(consumer, servers, topic, deadline)
        consumer.assign([TopicPartition(topic, partition, start) for partition, start in starts.items()])
        ends: dict[int, int] = {}
        found: list[Seen] = []
        while len(ends) < len(starts):
            assert time.monotonic() < deadline, (
                f"{topic} could not be read to its end: {starts.keys() - ends}"
            )
            for message in consumer.consume(2000, 0.1):
                error = message.error()
                if error is None and message.partition() not in ends:
                    found.append(_seen(message, journal.now(), side, topic_id))
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    if open_transaction or message.offset() >= highest[message.partition()]:
                        ends.setdefault(message.partition(), message.offset())
                elif error is not None and not _passes(error):
                    raise AssertionError(f"{topic}: {error}")
    finally:
        consumer.close()
    now = journal.now()
    journal.add(
        *found,
        *(
            Drained(now, began, side, topic, partition, start, ends[partition], topic_id)
            for partition, start in starts.items()
        ),
    )
    return len(found)


def _bounds(
    consumer: Consumer, servers: str, topic: str, deadline: float
) -> tuple[dict[int, int], dict[int, int]]:
    """Each partition's log start and high watermark."""
    while True:
        try:
            facts = consumer.list_topics(topic, timeout=5).topics[topic]
            if facts.error is not None:
                raise KafkaException(facts.error)
            starts = {
                partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=5)[0]
                for partition in facts.partitions
            }
            return starts, end_offsets(servers, topic, len(starts))
        except KafkaException as error:
            assert time.monotonic() < deadline, f"{topic} cannot be read: {error}"
            assert _passes(error.args[0]), f"{topic}: {error}"


def _passes(error: Any) -> bool:
    """Whether the error may disappear when the brokers are back."""
    return not error.fatal() and error.code() not in (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    )


def _seen(message: Any, at: int, side: Side, topic_id: str) -> Seen:
    key, value, headers = message.key(), message.value(), message.headers() or []
    clock, timestamp = message.timestamp()
    whose = "append" if clock == TIMESTAMP_LOG_APPEND_TIME else "create"
    return Seen(
        at, side, message.topic(), message.partition(), message.offset(), token_in(key, value, headers),
        content(key, value, headers, timestamp, whose), topic_id,
    )  # fmt: skip
