"""The largest batch that each destination topic accepts, and what follows for topics that share a producer.

A broker compares a whole batch with `max.message.bytes` and `segment.bytes` of the topic; a producer has one
batch size for all topics. So the batch size follows the topics that accept batches of an ordinary size. A
topic that accepts only small ones gets fewer records at a time: at most one batch, until it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.core.position import Position
from causeway.core.task_order import Lane
from causeway.rules.integrity import Finding

LARGEST = 1_000_000
SMALL = 64 * 1024
"""A smaller batch size than this would slow down the other topics of the shard."""
LEAST = 100
"""A topic with a lower limit gets no records. A transaction marker is a batch of 78 bytes: if brokers cannot
write it, the transaction never ends, and no other can begin under its id (seen with Kafka 4.3.1)."""
DEFAULT_MAX_BYTES = 1_048_588

BATCH_OVERHEAD = 70
RECORD_OVERHEAD = 40
HEADER_OVERHEAD = 10


def limit_of(config: Mapping[str, str]) -> int:
    """The largest batch that a topic with these settings accepts."""
    largest = int(config.get("max.message.bytes", DEFAULT_MAX_BYTES))
    return min(largest, int(config.get("segment.bytes", largest)))


def batch_bytes(limits: Iterable[int]) -> int:
    """The batch size of a producer for topics with these limits."""
    return min([LARGEST, *(limit for limit in limits if limit >= SMALL)])


def small(limit: int) -> int | None:
    """The limit of a topic that accepts only small batches; None for all others."""
    return limit if limit < SMALL else None


def takes_nothing(lane: Lane, position: Position | None) -> Finding | None:
    """The finding for a place that nothing may be produced to; None for all others."""
    if lane.batch_limit is None or lane.batch_limit >= LEAST:
        return None
    offset = position.offset if position else -1
    return Finding(
        "refused",
        f"topic {lane.place.topic} accepts no record: its max.message.bytes is {lane.batch_limit}",
        f"raise max.message.bytes of topic {lane.place.topic}",
        offset,
    )


def wire_size(value: int, key: int, headers: Iterable[tuple[int, int]]) -> int:
    """An upper bound of the bytes that a record of this size takes in a batch."""
    return RECORD_OVERHEAD + value + key + sum(name + size + HEADER_OVERHEAD for name, size in headers)


class Room:
    """Bytes in flight to places that accept only small batches, by place."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, int], int] = {}

    def fits(self, place: tuple[str, int], size: int, limit: int) -> bool:
        """Whether a record may be sent before what was sent is acknowledged. The first one always may."""
        sent = self._sent.get(place, 0)
        return not sent or sent + size <= limit

    def sent(self, place: tuple[str, int], size: int) -> None:
        self._sent[place] = self._sent.get(place, BATCH_OVERHEAD) + size

    def acknowledged(self) -> None:
        """Everything that was sent is acknowledged."""
        self._sent.clear()
