"""How polled messages are sorted, in their order: records, ends, partitions that failed."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.kafka.native.library import Message
from causeway.kafka.native.source_consumer import MOST, NativeSourceConsumer
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.polled import Polled
from causeway.kafka.source_consumer import SourceConsumer

EOF, BAD, CUT, AWAY = (
    KafkaError._PARTITION_EOF, KafkaError._BAD_MSG, KafkaError._LOG_TRUNCATION, KafkaError._TRANSPORT,
)  # fmt: skip
CLOSED = 2
"""A partition that is not open: it was just dropped."""


class FakeMessage(NamedTuple):
    number: int
    at: int
    code: int = 0

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return KafkaError(self.code) if self.code else None


class Outcome(NamedTuple):
    records: list[tuple[int, int]]
    ends: list[tuple[int, int]]
    lost: list[tuple[int, bool, bool]]  # partition, truncated, corrupt


def partition_states() -> dict[tuple[str, int], PartitionState]:
    place = Place("t", "id", 0)
    states = {}
    for number in range(CLOSED):
        source = SourcePartition("c", "t", number)
        position = Position(source, "id", 0, 0, -1, place, 0, -1, 1, 0)
        states["t", number] = PartitionState(Lane(source, "id", place, None), position)
    return states


def outcome(polled: Polled, records: list[tuple[int, int]]) -> Outcome:
    return Outcome(
        records,
        [(state.lane.source.partition, offset) for state, offset in polled.ends],
        [
            (failure.state.lane.source.partition, failure.truncated, failure.corrupt)
            for failure in polled.failed
        ],
    )


def by_objects(messages: list[FakeMessage]) -> Outcome:
    consumer: Any = SourceConsumer.__new__(SourceConsumer)
    consumer.open, consumer.trouble = partition_states(), ""
    consumer._consumer = Handed(messages)
    polled = consumer.poll(MOST, 0)
    return outcome(polled, [(record.number, record.at) for record in polled.records])


class Handed:
    """A client that returns these messages, as objects or addresses, and records what is destroyed."""

    def __init__(self, messages: list[FakeMessage]) -> None:
        self.polled = messages
        self.names = {1: "t"}
        self.messages = [
            Message(err=message.code, rkt=1, partition=message.number, offset=message.at)
            for message in messages
        ]  # kept: the native carrier has only their addresses
        self.addresses = [ctypes.addressof(message) for message in self.messages]
        self.destroyed: list[int] = []
        self.library = self

    def consume(self, _most: int, _seconds: float) -> list[FakeMessage]:
        return self.polled

    def fill(self, addresses: Any, _most: int, _seconds: float) -> int:
        addresses[: len(self.addresses)] = self.addresses
        return len(self.addresses)

    def message_destroy(self, address: int) -> None:
        self.destroyed.append(address)

    def message_errstr(self, address: int) -> bytes:
        return str(KafkaError(Message.from_address(address).err).str()).encode()

    def topic_name(self, rkt: int) -> bytes:
        return self.names[rkt].encode()


def by_addresses(messages: list[FakeMessage]) -> Outcome:
    consumer: Any = NativeSourceConsumer.__new__(NativeSourceConsumer)
    consumer.open, consumer.trouble = partition_states(), ""
    consumer._consumer = handed = Handed(messages)
    consumer._addresses, consumer._errors, consumer._places = (np.zeros(MOST + 1, np.int64) for _ in range(3))
    polled = consumer.poll(MOST, 0)
    kept = [int(polled.records.addresses[n]) for n in range(len(polled.records))] if messages else []
    assert sorted([*kept, *handed.destroyed]) == sorted(handed.addresses), "each is returned or destroyed"
    records = [Message.from_address(address) for address in kept]
    return outcome(polled, [(record.partition, record.offset) for record in records])


CARRIERS = pytest.mark.parametrize("take", [by_objects, by_addresses])


@CARRIERS
def test_messages_before_an_unreadable_batch_count_and_none_after_it(take: Any) -> None:
    """Later messages skip the batch, so they do not count; earlier ones must not be lost with it."""
    messages = [
        FakeMessage(0, 0),
        FakeMessage(0, 1),
        FakeMessage(1, 0),
        FakeMessage(0, 1, BAD),
        FakeMessage(0, 5),
        FakeMessage(1, 1),
        FakeMessage(0, 6, EOF),
    ]
    assert take(messages) == Outcome([(0, 0), (0, 1), (1, 0), (1, 1)], [], [(0, False, True)])


@CARRIERS
def test_the_first_failure_is_the_one_reported(take: Any) -> None:
    """After it the client continues somewhere inside the batch, and reports further errors."""
    messages = [
        FakeMessage(0, 20, BAD),
        FakeMessage(0, 1 << 60, KafkaError._NOT_IMPLEMENTED),
        FakeMessage(0, 1 << 60, AWAY),
    ]
    assert take(messages) == Outcome([], [], [(0, False, True)])
    assert take([FakeMessage(0, 20, AWAY), FakeMessage(0, 20, BAD)]) == Outcome([], [], [(0, False, False)])


def plainly(messages: list[FakeMessage]) -> Outcome:
    """The rule: of each partition, what came before the first failure."""
    result = Outcome([], [], [])
    failed = set()
    for message in messages:
        if message.number in failed:
            continue
        if not message.code:
            result.records.append((message.number, message.at))
        elif message.number != CLOSED and message.code == EOF:
            result.ends.append((message.number, message.at))
        elif message.number != CLOSED:
            failed.add(message.number)
            result.lost.append((message.number, message.code == CUT, message.code == BAD))
    return result


@given(
    st.lists(
        st.builds(
            FakeMessage,
            st.integers(0, CLOSED),
            st.integers(0, 9),
            st.sampled_from((0, 0, 0, EOF, BAD, CUT, AWAY)),
        ),
        max_size=20,
    )
)
def test_both_carriers_sort_messages_in_the_same_way(messages: list[FakeMessage]) -> None:
    assert by_objects(messages) == by_addresses(messages) == plainly(messages)
