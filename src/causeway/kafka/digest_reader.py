"""Reads one partition from one offset to another, as digests: what `verify` compares.

A digest covers key, value, headers and, unless brokers set it, the timestamp. Each part is hashed with its
length before it, and null has a length of its own, so no two different records have the same input.
Headers that the client cannot parse are not in the digest: such records are kept in `unreadable`, since equal
digests prove nothing about them.

The end is reached with a record at the last offset before it or later, or with an end-of-partition event at
it: transaction markers at the end of a log never appear as records.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.digests import DigestBatch, KeyedDigestBatch
from causeway.errors import CausewayError, IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.failures import (
    as_user_error,
    error_of,
    is_about_group,
    is_corrupt,
    is_denied,
    is_gone,
)
from causeway.kafka.native.consumer_handle import ObjectConsumer
from causeway.rules.header_names import encoded

BATCH = 5_000
SILENCE_SECONDS = 60.0
"""How long a partition may return nothing before its end; the read as a whole has no time limit."""

QUEUE_KBYTES = 16 * 1024
GROUP = "causeway.verify"
"""Consumers must name a group; this one is never joined and never written to."""

FIELDS = ("key", "value", "headers", "timestamp")

_NULL = _UNREAD = -1
_HEAD = Struct("<qiii").pack  # timestamp, length of key, length of value, number of headers
_HEADER = Struct("<ii").pack  # length of name, length of value


class Expired(IntegrityError):
    """Retention deleted records during the read."""

    code = "expired"


class PartitionReader:
    """One partition up to a fixed end; it can be read any number of times."""

    def __init__(self, cluster: Cluster, topic: str, partition: int, end: int, *, timestamps: bool) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._end = end
        self._timestamps = timestamps
        self.unreadable: set[int] = set()  # offsets of records with headers that could not be read

    def digests(self, start: int) -> Iterator[DigestBatch]:
        """Yield offsets and digests of all committed records from `start` on."""
        for messages in self._messages(start):
            yield [message.offset() for message in messages], self._digests(messages)

    def keyed_digests(self, start: int) -> Iterator[KeyedDigestBatch]:
        """The same, with a digest of the key and whether it is a tombstone. Skips records without a key."""
        for messages in self._messages(start):
            keyed = [message for message in messages if message.key() is not None]
            yield (
                [message.offset() for message in keyed],
                [blake2b(message.key(), digest_size=16).digest() for message in keyed],
                self._digests(keyed),
                [message.value() is None for message in keyed],
            )

    def _digests(self, messages: Sequence[Any]) -> list[bytes]:
        self.unreadable.update(message.offset() for message in messages if message.unreadable)
        return record_digests(messages, timestamps=self._timestamps)

    def log_start(self) -> int:
        """Return the current log start offset."""
        consumer = clients.consumer(self._cluster, GROUP, make=ObjectConsumer)
        try:
            low, _ = consumer.get_watermark_offsets(
                TopicPartition(self._topic, self._partition), SILENCE_SECONDS
            )
            return int(low)
        except KafkaException as exception:
            raise self._broken(error_of(exception)) from None
        finally:
            consumer.close()

    def record_at(self, offset: int) -> tuple[Any, ...] | None:
        """Return key, value, headers and timestamp of one record; None where it is gone."""
        for messages in self._messages(offset):
            message = messages[0]
            if message.offset() != offset:
                break
            headers = message.unreadable or list(message.headers() or ())
            return message.key(), message.value(), headers, _timestamp(message)
        return None

    def _messages(self, start: int) -> Iterator[list[Any]]:
        """Yield committed records, in batches that are never empty."""
        if start >= self._end:
            return
        errors: list[KafkaError] = []
        consumer = clients.consumer(
            self._cluster,
            GROUP,
            make=ObjectConsumer,
            on_error=errors.append,
            queued_max_messages_kbytes=QUEUE_KBYTES,
            topic_metadata_propagation_max_ms=5_000,  # the topic was there when its end was captured
        )
        try:
            consumer.assign([TopicPartition(self._topic, self._partition, start)])
            received_at, at = time.monotonic(), start
            while True:
                messages = consumer.consume(BATCH, 0.1)
                if messages:
                    received_at = time.monotonic()
                else:
                    self._check(errors, time.monotonic() - received_at)
                batch, ended = self._upto_end(messages, consumer, at)
                if batch:
                    at = batch[-1].offset() + 1
                    yield batch
                if ended:
                    return
        finally:
            consumer.close()

    def _upto_end(self, messages: list[Any], consumer: ObjectConsumer, at: int) -> tuple[list[Any], bool]:
        """Return the records before the end, and whether it was reached; `at` is the next offset to read."""
        if not messages:
            return messages, False
        last = messages[-1]
        if last.error() is None and last.offset() < self._end - 1 and not _any_error(messages):
            return messages, False  # by far the most frequent case
        batch = []
        for message in messages:
            error = message.error()
            if error is None:
                if message.offset() < self._end:
                    batch.append(message)
                if message.offset() >= self._end - 1:
                    return batch, True
            elif error.code() == KafkaError._PARTITION_EOF:
                if message.offset() >= self._end or self._is_short(consumer):
                    return batch, True
            elif is_corrupt(error):
                at = max(at, batch[-1].offset() + 1 if batch else at, message.offset())
                return batch, self._resume(consumer, at, error)
            elif (not error.retriable() and not is_about_group(error)) or is_gone(error):
                raise self._broken(error)
        return batch, False

    def _resume(self, consumer: ObjectConsumer, at: int, error: KafkaError) -> bool:
        """Resume after an unreadable range that need not be compared. Returns whether that is the end."""
        after = self._skipped_to(at)
        if after < 0:
            raise self._broken(error)
        consumer.assign([TopicPartition(self._topic, self._partition, after)])
        return after >= self._end

    def _skipped_to(self, offset: int) -> int:
        """Return the end of the range at `offset` that need not be compared; -1 where there is none."""
        return -1

    def _is_short(self, consumer: ObjectConsumer) -> bool:
        """Whether the log ends before the end that was captured: it was truncated or recreated."""
        try:
            _, high = consumer.get_watermark_offsets(TopicPartition(self._topic, self._partition), 10.0)
        except KafkaException as exception:
            raise self._broken(error_of(exception)) from None
        return int(high) < self._end

    @property
    def _where(self) -> str:
        return f'{self._topic}[{self._partition}] on cluster "{self._cluster.alias}"'

    def _broken(self, error: KafkaError) -> CausewayError:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return Expired(
                "records were deleted while they were compared", where=self._where, todo="run verify again"
            )
        if is_gone(error):
            return IntegrityError(
                "the topic was deleted while it was compared", where=self._where, why=error.str()
            )
        if is_corrupt(error):
            return IntegrityError(
                "the log cannot be read here, so it cannot be compared",
                where=self._where,
                why=error.str(),
                todo="restore the partition from an intact replica; offsets skipped by `causeway offsets "
                "skip`"
                " are not read",
            )
        cluster = self._cluster
        return as_user_error(error, cluster, f"reading {self._where}")

    def _check(self, errors: list[KafkaError], silent: float) -> None:
        """Nothing came: raise where waiting longer cannot help."""
        for error in errors:
            if is_denied(error) or is_gone(error):
                raise self._broken(error)
        if silent > SILENCE_SECONDS:
            raise Unreachable(
                f"no records for {SILENCE_SECONDS:.0f} s, before the end at offset {self._end}",
                where=self._where,
                why=errors[-1].str() if errors else "",
            )


def differing_fields(
    source: tuple[Any, ...] | None, destination: tuple[Any, ...] | None, *, timestamps: bool
) -> tuple[str, ...]:
    """Names of the fields in which two records differ."""
    if source is None or destination is None:
        return ()
    return tuple(
        name
        for name, here, there in zip(FIELDS, source, destination, strict=True)
        if here != there and (timestamps or name != "timestamp")
    )


def _any_error(messages: Sequence[Any]) -> bool:
    return any(message.error() is not None for message in messages)


def _timestamp(message: Any) -> int:
    kind, milliseconds = message.timestamp()
    return int(milliseconds) if kind else _NULL


def digest_of(message: Any) -> str:
    """The digest of one record, as positions have it of the last record read."""
    return record_digests([message], timestamps=True)[0].hex()


def record_digests(messages: Sequence[Any], *, timestamps: bool) -> list[bytes]:
    """Hot loop: runs for every record of both sides."""
    made: list[bytes] = []
    add, head, hashed = made.append, _HEAD, blake2b
    stamp = 0
    for message in messages:
        key, value = message.key(), message.value()
        unread = message.unreadable
        headers = () if unread else message.headers()
        if timestamps:
            kind, milliseconds = message.timestamp()
            stamp = milliseconds if kind else _NULL
        parts = [
            head(
                stamp,
                _NULL if key is None else len(key),
                _NULL if value is None else len(value),
                _UNREAD if unread else len(headers) if headers else 0,
            )
        ]
        if key:
            parts.append(key)
        if value:
            parts.append(value)
        if headers:
            _add_headers(parts, headers)
        add(hashed(b"".join(parts), digest_size=16).digest())
    return made


def _add_headers(parts: list[bytes], headers: Sequence[tuple[str, bytes | None]]) -> None:
    for name, value in headers:
        raw = encoded(name)
        parts += (_HEADER(len(raw), _NULL if value is None else len(value)), raw, value or b"")
