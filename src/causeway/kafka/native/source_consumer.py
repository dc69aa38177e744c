"""The native carrier's source consumer: the same partitions and checks, messages by their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from causeway.kafka.look_ahead import RecordRun
from causeway.kafka.native import loop
from causeway.kafka.native.consumer_handle import NativeConsumer
from causeway.kafka.native.library import Message
from causeway.kafka.native.messages import NativeMessage
from causeway.kafka.polled import NOTHING, Polled
from causeway.kafka.source_consumer import SourceConsumer

MOST = 10_000


class NativeBatch:
    """Consumed messages; the code that produces them destroys them."""

    def __init__(self, consumer: NativeConsumer, addresses: Any, count: int) -> None:
        self.consumer = consumer
        self.addresses = addresses
        self.count = count

    def __len__(self) -> int:
        return self.count

    def at(self, index: int) -> NativeMessage:
        return NativeMessage(self.consumer.library, int(self.addresses[index]))


class NativeSourceConsumer(SourceConsumer):
    _consumer: NativeConsumer
    make = staticmethod(NativeConsumer)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._addresses = np.zeros(MOST + 1, np.int64)
        self._errors = np.zeros(MOST + 1, np.int64)
        self._places = np.zeros(MOST + 1, np.int64)

    def poll(self, most: int, seconds: float) -> Polled:
        count = self._consumer.fill(self._addresses, most, seconds)
        if not count:
            return NOTHING
        errors = loop.take_out_errors(self._addresses, count, self._errors, self._places)
        batch = NativeBatch(self._consumer, self._addresses, count - errors)
        polled = Polled(batch, [], [])
        failed: dict[tuple[int, int], int] = {}  # and how many records came before the failure
        for number, address in enumerate(self._errors[:errors].tolist()):
            fields = Message.from_address(address)
            at = (fields.rkt, fields.partition)
            if at not in failed and self._handle_error(address, fields, polled):
                failed[at] = int(self._places[number])
            self._consumer.library.message_destroy(address)
        if failed:
            batch.count = self._drop_after_failure(failed, batch.count)
        return polled

    def runs(self, records: NativeBatch) -> Iterator[RecordRun]:
        begins = np.zeros(records.count, np.int64)
        count = loop.runs(records.addresses, records.count, begins)
        for begin, end in pairwise([*begins[:count].tolist(), records.count]):
            fields = Message.from_address(int(records.addresses[begin]))
            name = self._consumer.names.get(fields.rkt, "")
            yield RecordRun((name, fields.partition), fields.offset, end - begin)

    def sizes(self, records: NativeBatch, most: int) -> list[int]:
        return [
            records.at(index).size_in_memory()
            for index in range(0, records.count, max(1, records.count // most))
        ]

    def at(self, records: NativeBatch, index: int) -> NativeMessage:
        return records.at(index)

    def release(self, records: NativeBatch) -> None:
        """Destroy the messages: the code that took them must do so."""
        for index in range(records.count):
            records.at(index).destroy()

    def _handle_error(self, address: int, fields: Message, polled: Polled) -> bool:
        """Like `_handle_event`, with a shortcut for ends: under light load most messages are ends."""
        name = self._consumer.names.get(fields.rkt)
        if fields.err != KafkaError._PARTITION_EOF or name is None:
            return self._handle_event(NativeMessage(self._consumer.library, address), polled)
        state = self.open.get((name, fields.partition))
        if state is not None:
            polled.ends.append((state, fields.offset))
        return False

    def _drop_after_failure(self, failed: Mapping[tuple[int, int], int], count: int) -> int:
        """Drop what came after the failure of its partition; the rest moves up. Returns how many are left."""
        left = 0
        for index, address in enumerate(self._addresses[:count].tolist()):
            fields = Message.from_address(address)
            if index >= failed.get((fields.rkt, fields.partition), count):
                self._consumer.library.message_destroy(address)
            else:
                self._addresses[left] = address
                left += 1
        return left
