"""How large a batch each destination topic takes, and what follows for those that share a producer.

A broker compares a whole batch with `max.message.bytes` and `segment.bytes` of the topic; a producer has one
batch size for all topics. So the size follows the topics that take batches of an ordinary size. A topic that
takes only small ones gets fewer records at a time: no more than one batch, until those are acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.model.order import Lane
from causeway.model.position import Position
from causeway.policy.integrity import Finding

LARGEST = 1_000_000
SMALL = 64 * 1024
"""A smaller batch size than this would slow down the other topics of the shard."""
LEAST = 100
"""A topic that takes less takes nothing. A transaction's marker is a batch of 78 bytes: where brokers cannot
write that one, the transaction never ends, and nothing can begin under its id (seen with Kafka 4.3.1)."""
DEFAULT_MAX_BYTES = 1_048_588

BATCH_OVERHEAD = 70
RECORD_OVERHEAD = 40
HEADER_OVERHEAD = 10


def limit_of(config: Mapping[str, str]) -> int:
    """The largest batch that a topic with these settings takes."""
    largest = int(config.get("max.message.bytes", DEFAULT_MAX_BYTES))
    return min(largest, int(config.get("segment.bytes", largest)))


def batch_bytes(limits: Iterable[int]) -> int:
    """The batch size of a producer for topics with these limits."""
    return min([LARGEST, *(limit for limit in limits if limit >= SMALL)])


def small(limit: int) -> int | None:
    """The limit of a topic that takes only small batches; None for all others."""
    return limit if limit < SMALL else None


def takes_nothing(lane: Lane, position: Position | None) -> Finding | None:
    """Why nothing may be produced to a lane's place, where that is so."""
    if lane.batch_limit is None or lane.batch_limit >= LEAST:
        return None
    offset = position.offset if position else -1
    return Finding(
        "refused",
        f"topic {lane.place.topic} takes no record: its max.message.bytes is {lane.batch_limit}",
        f"raise max.message.bytes of topic {lane.place.topic}",
        offset,
    )


def wire_size(value: int, key: int, headers: Iterable[tuple[int, int]]) -> int:
    """At least as many bytes as a record of this size takes in a batch."""
    return RECORD_OVERHEAD + value + key + sum(name + size + HEADER_OVERHEAD for name, size in headers)


class Room:
    """What the open batches of small topics may hold on their way; by place."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, int], int] = {}

    def fits(self, place: tuple[str, int], size: int, limit: int) -> bool:
        """Whether a record can go before what was sent is acknowledged. A first one always may."""
        sent = self._sent.get(place, 0)
        return not sent or sent + size <= limit

    def sent(self, place: tuple[str, int], size: int) -> None:
        self._sent[place] = self._sent.get(place, BATCH_OVERHEAD) + size

    def acknowledged(self) -> None:
        """Everything that was sent is."""
        self._sent.clear()
