"""What is made of the messages that a client hands over, in their order: records, ends, lanes that failed."""

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
"""A partition that is not open: it was dropped a moment ago."""


class Told(NamedTuple):
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


def lanes() -> dict[tuple[str, int], PartitionState]:
    place = Place("t", "id", 0)
    found = {}
    for number in range(CLOSED):
        source = SourcePartition("c", "t", number)
        position = Position(source, "id", 0, 0, -1, place, 0, -1, 1, 0)
        found["t", number] = PartitionState(Lane(source, "id", place, None), position)
    return found


def outcome(polled: Polled, records: list[tuple[int, int]]) -> Outcome:
    return Outcome(
        records,
        [(lane.lane.source.partition, offset) for lane, offset in polled.ends],
        [(one.state.lane.source.partition, one.truncated, one.corrupt) for one in polled.failed],
    )


def by_objects(told: list[Told]) -> Outcome:
    consumer: Any = SourceConsumer.__new__(SourceConsumer)
    consumer.open, consumer.trouble = lanes(), ""
    consumer._consumer = Handed(told)
    polled = consumer.poll(MOST, 0)
    return outcome(polled, [(one.number, one.at) for one in polled.records])


class Handed:
    """A client that hands over these, by whichever of its ways; and what is done with them."""

    def __init__(self, told: list[Told]) -> None:
        self.told = told
        self.names = {1: "t"}
        self.messages = [
            Message(err=one.code, rkt=1, partition=one.number, offset=one.at) for one in told
        ]  # kept: their addresses are all that the native carrier has of them
        self.addresses = [ctypes.addressof(one) for one in self.messages]
        self.destroyed: list[int] = []
        self.library = self

    def consume(self, _most: int, _seconds: float) -> list[Told]:
        return self.told

    def fill(self, found: Any, _most: int, _seconds: float) -> int:
        found[: len(self.addresses)] = self.addresses
        return len(self.addresses)

    def message_destroy(self, address: int) -> None:
        self.destroyed.append(address)

    def message_errstr(self, address: int) -> bytes:
        return str(KafkaError(Message.from_address(address).err).str()).encode()

    def topic_name(self, rkt: int) -> bytes:
        return self.names[rkt].encode()


def by_addresses(told: list[Told]) -> Outcome:
    consumer: Any = NativeSourceConsumer.__new__(NativeSourceConsumer)
    consumer.open, consumer.trouble = lanes(), ""
    consumer._consumer = handed = Handed(told)
    consumer._addresses, consumer._errors, consumer._places = (np.zeros(MOST + 1, np.int64) for _ in range(3))
    polled = consumer.poll(MOST, 0)
    kept = [int(polled.records.addresses[n]) for n in range(len(polled.records))] if told else []
    assert sorted([*kept, *handed.destroyed]) == sorted(handed.addresses), "each is handed on or destroyed"
    records = [Message.from_address(address) for address in kept]
    return outcome(polled, [(one.partition, one.offset) for one in records])


CARRIERS = pytest.mark.parametrize("take", [by_objects, by_addresses])


@CARRIERS
def test_what_came_before_a_batch_that_cannot_be_read_counts_and_nothing_behind_it(take: Any) -> None:
    """What the client brings from behind leaves the batch out; what came before must not be lost with it."""
    told = [Told(0, 0), Told(0, 1), Told(1, 0), Told(0, 1, BAD), Told(0, 5), Told(1, 1), Told(0, 6, EOF)]
    assert take(told) == Outcome([(0, 0), (0, 1), (1, 0), (1, 1)], [], [(0, False, True)])


@CARRIERS
def test_the_first_failure_says_what_is_wrong(take: Any) -> None:
    """Behind it the client reads on somewhere inside the batch, and complains of what it finds there."""
    told = [Told(0, 20, BAD), Told(0, 1 << 60, KafkaError._NOT_IMPLEMENTED), Told(0, 1 << 60, AWAY)]
    assert take(told) == Outcome([], [], [(0, False, True)])
    assert take([Told(0, 20, AWAY), Told(0, 20, BAD)]) == Outcome([], [], [(0, False, False)])


def plainly(told: list[Told]) -> Outcome:
    """The rule in plain words: of each partition, what came before the first failure."""
    found = Outcome([], [], [])
    failed = set()
    for one in told:
        if one.number in failed:
            continue
        if not one.code:
            found.records.append((one.number, one.at))
        elif one.number != CLOSED and one.code == EOF:
            found.ends.append((one.number, one.at))
        elif one.number != CLOSED:
            failed.add(one.number)
            found.lost.append((one.number, one.code == CUT, one.code == BAD))
    return found


@given(
    st.lists(
        st.builds(
            Told, st.integers(0, CLOSED), st.integers(0, 9), st.sampled_from((0, 0, 0, EOF, BAD, CUT, AWAY))
        ),
        max_size=20,
    )
)
def test_both_carriers_make_the_same_of_it(told: list[Told]) -> None:
    assert by_objects(told) == by_addresses(told) == plainly(told)
