"""A shard's intake in the native lane: the same lanes and the same looks, messages by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from causeway.kafka.intake import KNOW_SECONDS, NOTHING, Intake, Taken
from causeway.kafka.lane import OpenLane
from causeway.kafka.native import loop
from causeway.kafka.native.consumer import NativeConsumer, NativeMessage
from causeway.kafka.native.library import Message

MOST = 10_000


class Batch:
    """Messages that were consumed; whoever carries them destroys them."""

    def __init__(self, consumer: NativeConsumer, addresses: Any, count: int) -> None:
        self.consumer = consumer
        self.addresses = addresses
        self.count = count

    def __len__(self) -> int:
        return self.count

    def at(self, index: int) -> NativeMessage:
        return NativeMessage(self.consumer.library, int(self.addresses[index]))


class NativeIntake(Intake):
    _consumer: NativeConsumer
    make = staticmethod(NativeConsumer)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._found = np.zeros(MOST + 1, np.int64)
        self._errors = np.zeros(MOST + 1, np.int64)

    def _ask_for(self, topics: set[str]) -> None:
        self._consumer.ask_for(topics, KNOW_SECONDS)

    def take(self, most: int, seconds: float) -> Taken:
        count = self._consumer.fill(self._found, most, seconds)
        if not count:
            return NOTHING
        errors = loop.take_out_errors(self._found, count, self._errors)
        return Taken(Batch(self._consumer, self._found, count - errors), *self._told(errors))

    def _told(self, count: int) -> tuple[list[tuple[OpenLane, int]], list[tuple[OpenLane, str, bool]]]:
        """What messages say that are no records. Under light load most are ends, so those go a short way."""
        ends, others = [], []
        for address in self._errors[:count].tolist():
            fields = Message.from_address(address)
            name = self._consumer.names.get(fields.rkt)
            if fields.err != KafkaError._PARTITION_EOF or name is None:
                others.append(NativeMessage(self._consumer.library, address))
            else:
                lane = self.open.get((name, fields.partition))
                if lane is not None:
                    ends.append((lane, fields.offset))
                self._consumer.library.message_destroy(address)
        if not others:
            return ends, []
        more, lost = self._heard(others)
        for message in others:
            message.destroy()
        return ends + more, lost
