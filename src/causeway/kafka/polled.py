"""What a poll of a source consumer returns: records, ends of partitions, and partitions that failed."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import KafkaError

from causeway.kafka.failures import is_corrupt
from causeway.kafka.partition_state import PartitionState
from causeway.rules.fetch_sizes import size_in_memory

TRUNCATED = KafkaError(KafkaError._LOG_TRUNCATION).str()
"""With auto.offset.reset = error the client reports truncation under another code: only the text names it."""


class FailedPartition(NamedTuple):
    """A partition that failed, and why; whether its log was truncated before its position, or is damaged."""

    state: PartitionState
    why: str
    truncated: bool = False
    corrupt: bool = False

    @classmethod
    def of(cls, state: PartitionState, error: KafkaError) -> FailedPartition:
        why = str(error.str())
        return cls(state, why, truncated=TRUNCATED in why, corrupt=is_corrupt(error))


class Polled(NamedTuple):
    """Records, and what to apply after them: end-of-partition events and partitions that failed."""

    records: Any  # a list of messages, or the native carrier's batch of them
    ends: list[tuple[PartitionState, int]] = []  # noqa: RUF012
    failed: list[FailedPartition] = []  # noqa: RUF012


NOTHING = Polled([])


def size_of(message: Any) -> int:
    """Return the size of a record in the client's memory."""
    headers = () if message.unreadable else message.headers() or ()
    sizes = [(len(name), len(value or b"")) for name, value in headers]
    return size_in_memory(len(message.value() or b""), len(message.key() or b""), sizes)
