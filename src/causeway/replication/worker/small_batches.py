"""Records for topics that accept only small batches: no more of them in flight than fit into one batch.

The producer puts into a batch whatever waits for a partition, up to its batch size, which suits the other
topics. So nothing may wait there that would not fit: a record that does not fit waits until all before it are
acknowledged. The other topics wait meanwhile, so they get the same time again before the next turn.
"""

from __future__ import annotations

import time
from typing import Any

from causeway.kafka.partition_state import NEVER
from causeway.kafka.polled import Polled
from causeway.kafka.producer import DestinationProducer
from causeway.kafka.source_consumer import SourceConsumer
from causeway.planning.rules.batch_limits import Room, wire_size

TURN_SECONDS = 0.05
TURN_RECORDS = 1_000


class SmallBatches:
    """The source consumer of these partitions, and their turns."""

    def __init__(self, consumer: SourceConsumer, producer: DestinationProducer, added: int) -> None:
        self.consumer = consumer
        self._producer = producer
        self._added = added  # bytes of the headers that are added to each record
        self._room = Room()
        self._begun = self._again_at = 0.0
        self._ends_at = 0.0
        self._waited = False
        self._polled = 0

    def begin(self, *, busy: bool) -> None:
        """Begin a turn if one is due. It always is unless the other topics are `busy`."""
        now = time.monotonic()
        self._begun, self._waited, self._polled = now, False, 0
        self._ends_at = now + TURN_SECONDS if not busy or now >= self._again_at else 0.0

    @property
    def has_turn(self) -> bool:
        return self._polled < TURN_RECORDS and time.monotonic() < self._ends_at

    def end(self) -> None:
        if self._ends_at:
            now = time.monotonic()
            self._again_at = now + (now - self._begun)

    def poll(self) -> Polled:
        """Return the next record, once there is room for it."""
        polled = self.consumer.poll(1, 0)
        if polled.records:
            self._polled += 1
            try:
                self._make_room(polled.records)
            except BaseException:
                self.consumer.release(polled.records)
                raise
        return polled

    def acknowledged(self) -> None:
        """Everything that was produced is acknowledged."""
        self._room.acknowledged()

    def _make_room(self, records: Any) -> None:
        message = records[0] if isinstance(records, list) else records.at(0)
        state = self.consumer.open.get((message.topic(), message.partition()))
        if state is None or state.lane.batch_limit is None:
            return
        place, limit = state.lane.place, state.lane.batch_limit
        spot, size = (place.topic, place.partition), self._size(message)
        if not self._room.fits(spot, size, limit):
            self._producer.drain()
            self._room.acknowledged()
            if not self._waited:
                # The first wait includes what the other topics produced: the turn itself begins now.
                self._waited, self._ends_at = True, time.monotonic() + TURN_SECONDS
        self._room.sent(spot, size)

    def _size(self, message: Any) -> int:
        try:
            sizes = [(len(name.encode()), len(value or b"")) for name, value in message.headers() or ()]
        except Exception:  # noqa: BLE001 - the producer reports what is wrong; this record goes alone
            return NEVER
        return wire_size(len(message.value() or b""), len(message.key() or b""), sizes) + self._added
