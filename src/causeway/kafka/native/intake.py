"""A shard's intake in the native lane: the same lanes and the same looks, messages by their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from causeway.kafka.intake import NOTHING, Intake, Taken
from causeway.kafka.native import loop
from causeway.kafka.native.consumer import NativeConsumer
from causeway.kafka.native.library import Message
from causeway.kafka.native.messages import NativeMessage

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
        self._places = np.zeros(MOST + 1, np.int64)

    def take(self, most: int, seconds: float) -> Taken:
        count = self._consumer.fill(self._found, most, seconds)
        if not count:
            return NOTHING
        errors = loop.take_out_errors(self._found, count, self._errors, self._places)
        batch = Batch(self._consumer, self._found, count - errors)
        taken = Taken(batch, [], [])
        failed: dict[tuple[int, int], int] = {}  # and how many records came before
        for number, address in enumerate(self._errors[:errors].tolist()):
            fields = Message.from_address(address)
            at = (fields.rkt, fields.partition)
            if at not in failed and self._told(address, fields, taken):
                failed[at] = int(self._places[number])
            self._consumer.library.message_destroy(address)
        if failed:
            batch.count = self._without_what_came_behind(failed, batch.count)
        return taken

    def release(self, records: Batch) -> None:
        """Each message has to be destroyed by whoever took it."""
        for index in range(records.count):
            records.at(index).destroy()

    def _told(self, address: int, fields: Message, taken: Taken) -> bool:
        """As `_heard`. Under light load most are ends, so those go a short way."""
        name = self._consumer.names.get(fields.rkt)
        if fields.err != KafkaError._PARTITION_EOF or name is None:
            return self._heard(NativeMessage(self._consumer.library, address), taken)
        lane = self.open.get((name, fields.partition))
        if lane is not None:
            taken.ends.append((lane, fields.offset))
        return False

    def _without_what_came_behind(self, failed: Mapping[tuple[int, int], int], count: int) -> int:
        """Leave out records of lanes that had failed; the others move up. Answers how many are left."""
        left = 0
        for index, address in enumerate(self._found[:count].tolist()):
            fields = Message.from_address(address)
            if index >= failed.get((fields.rkt, fields.partition), count):
                self._consumer.library.message_destroy(address)
            else:
                self._found[left] = address
                left += 1
        return left
