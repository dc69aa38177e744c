"""The loops that replicate records agree with the rule (`rules/record_admission.py`), whatever comes.

The compiled loop has conditions of its own, in machine code; the object carrier's loop and the record filter
repeat some of them so that an ordinary record costs no call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from confluent_kafka import TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, Limits
from causeway.kafka import clients
from causeway.kafka.delivery_guarantee import AtLeastOnce
from causeway.kafka.native import loop
from causeway.kafka.native.consumer_handle import NativeConsumer
from causeway.kafka.native.messages import Consumed, NativeMessage
from causeway.kafka.native.partition_table import PartitionTable
from causeway.kafka.native.producer_handle import NativeProducer, arguments
from causeway.kafka.native.schema_table import SchemaTable
from causeway.kafka.native.source_consumer import NativeBatch
from causeway.kafka.partition_state import NEVER, PartitionState
from causeway.kafka.producer import OBJECT, DestinationProducer
from causeway.kafka.record_findings import no_timestamp
from causeway.kafka.transaction import Transaction
from causeway.replication.worker.record_filter import RecordFilter
from causeway.rules.header_names import MOST_HEADERS
from causeway.rules.integrity import Finding
from causeway.rules.provenance import HEADER
from causeway.rules.record_admission import Admission, content_admission, offset_admission
from support.mock_cluster import MockCluster
from support.process import eventually
from support.raw import Header, Raw, produce

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("to", "id", 0)
STAMPS = (-1, 0, 1_700_000_000_000)
COUNT = 18
LIMITS = Limits(1_000, 1 << 20, 1, 10, 1 << 20, 1_000, 100_000, 10)
CLUSTER = Cluster("there", {"bootstrap.servers": "127.0.0.1:1"})


class TooMany(tuple[Header, ...]):
    """Reports more headers than the client parses, and contains none."""

    __slots__ = ()

    def __len__(self) -> int:
        return MOST_HEADERS + 1


HEADERS: tuple[tuple[Header, ...], ...] = ((), ((b"h\0", b"v"),), TooMany())


def stamp_at(offset: int) -> int:
    return STAMPS[offset % 3]


def headers_at(offset: int) -> tuple[Header, ...]:
    return HEADERS[offset // 3 % 3]


def readable_at(offset: int) -> bool:
    return not isinstance(headers_at(offset), TooMany)


def open_partition(
    next_offset: int = 0,
    *,
    recognized: bool = True,
    rejected: frozenset[int] = frozenset(),
    lost_at: int | None = None,
    quarantine: str = "",
) -> PartitionState:
    position = Position(SOURCE, "id", 0, next_offset, -1 if recognized else 3, PLACE, 0, -1, 1, 0)
    poison = {offset: Finding("poison", "rejected", "", offset) for offset in rejected}
    hole = None if lost_at is None else Finding("gap", "lost", "", lost_at, lost_at + 3, 3)
    fetch_from = None if recognized else (max(0, next_offset - 1), 3)
    lane = Lane(SOURCE, "id", PLACE, None)
    return PartitionState(lane, position, False, poison, quarantine, fetch_from, hole)


class Bench:
    """The compiled loop between a consumer and a producer; each message is read again for each example."""

    def __init__(self, cluster: MockCluster) -> None:
        topic, to = cluster.topic(SOURCE.topic), cluster.topic(PLACE.topic)
        for offset in range(COUNT):
            produce(cluster.servers, topic, [Raw(b"k", b"v", headers_at(offset))], stamp_at(offset))
        there = Cluster("mock", {"bootstrap.servers": cluster.servers})
        self.consumer: NativeConsumer = clients.consumer(
            there, "g", make=NativeConsumer, enable_partition_eof=False
        )
        self.producer: NativeProducer = clients.producer(there, make=NativeProducer)
        self.producer.topic(to)
        self.start = TopicPartition(topic, 0, 0)
        self.consumer.incremental_assign([self.start])
        self.rows, self.slots = np.zeros((COUNT, 3), np.int64), np.zeros((COUNT, 2), np.int64)
        self.arguments, self.out = arguments(), np.zeros(loop.OUT, np.int64)

    def read(self) -> Any:
        """Addresses of all messages, in the order of their offsets."""
        addresses, filled_count = np.zeros(COUNT, np.int64), 0

        def filled() -> bool:
            nonlocal filled_count
            filled_count += self.consumer.fill(addresses[filled_count:], COUNT - filled_count, 0.01)
            return filled_count == COUNT

        self.consumer.seek(self.start)
        eventually(filled, "all messages are read")
        return addresses

    def decisions(self, state: PartitionState, chosen: list[int], capacity: int) -> list[Admission | None]:
        """What the loop does with each of these messages; None: it leaves the message to Python."""
        addresses = self.read()
        batch = NativeBatch(self.consumer, addresses, COUNT)
        table = PartitionTable({(SOURCE.topic, 0): state}, batch, self.producer, 0)
        table.write(state)
        decisions: list[Admission | None] = []
        row = 0
        for index in chosen:
            began = row
            end = loop.replicate(
                addresses, index, index + 1, table.rows, self.rows[:capacity], row, self.slots.ctypes.data,
                self.arguments, self.producer.handle, self.out, SchemaTable(None).context(),
            )  # fmt: skip
            row = int(self.out[1])
            if end == index:
                assert self.out[0] == loop.EXCEPTIONAL
                batch.at(index).destroy()
                decisions.append(None)
            else:
                decisions.append(Admission.REPLICATE if row > began else Admission.IGNORE)
        for index in set(range(COUNT)) - set(chosen):
            batch.at(index).destroy()
        self.producer.flush(5)
        return decisions

    def close(self) -> None:
        self.consumer.unassign()
        self.consumer.close()
        self.producer.purge()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with MockCluster() as cluster:
        made = Bench(cluster)
        yield made
        made.close()


def test_the_messages_have_the_properties_that_this_module_assumes(bench: Bench) -> None:
    read = []
    for address in bench.read().tolist():
        message = NativeMessage(bench.consumer.library, address)
        read.append((message.offset(), message.timestamp()[1], bool(message.unreadable)))
        message.destroy()
    assert [(offset, stamp) for offset, stamp, _ in read] == [(n, stamp_at(n)) for n in range(COUNT)]
    assert [not unreadable for *_, unreadable in read] == [readable_at(n) for n in range(COUNT)]


@settings(deadline=None, max_examples=120)
@given(
    st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=COUNT, unique=True),
    st.sampled_from([(False, True)] * 4 + [(False, False)] * 3 + [(True, True), (True, False)]),
    st.integers(0, COUNT),
    st.none() | st.integers(0, COUNT),
    st.integers(0, COUNT),
)
def test_the_compiled_loop_takes_what_the_rule_admits(
    bench: Bench,
    chosen: list[int],
    state: tuple[bool, bool],
    next_offset: int,
    barrier: int | None,
    capacity: int,
) -> None:
    stopped, recognized = state
    partition = open_partition(next_offset, recognized=recognized)
    partition.barrier = NEVER if barrier is None else barrier
    if stopped:
        partition.stop(next_offset, Finding("poison", "stopped", ""))
    expected: list[Admission | None] = []
    for offset in chosen:
        decision = offset_admission(
            offset, stopped=stopped, recognized=recognized, next_offset=next_offset, barrier=partition.barrier
        )
        if decision is Admission.REPLICATE:
            decision = content_admission(stamp_at(offset), headers_usable=readable_at(offset))
        if decision is Admission.REPLICATE and expected.count(Admission.REPLICATE) == capacity:
            expected.append(None)  # the transaction is full
        elif decision is Admission.REPLICATE:
            expected.append(decision)
            next_offset = offset + 1
        else:
            expected.append(decision if decision is Admission.IGNORE else None)

    assert bench.decisions(partition, chosen, capacity) == expected


class Written(NamedTuple):
    """Where records were produced, and the state of their partition."""

    replicated: list[int]
    quarantined: list[int]
    next_offset: int
    seen: int
    recognized: bool
    finding: Finding | None


class Client:
    """A producer handle that accepts everything and sends nothing."""

    def __init__(self, _properties: Any) -> None:
        self.written: list[tuple[str, int]] = []

    def produce(self, topic: str, value: bytes, *_record: Any) -> None:
        self.written.append((topic, int(value)))

    def flush(self, _seconds: float) -> int:
        return 0

    def __getattr__(self, _name: str) -> Any:
        return lambda *_given, **_named: 0


def written(client: Client, state: PartitionState) -> Written:
    offsets: dict[str, list[int]] = {PLACE.topic: [], "quarantine": []}
    for topic, offset in client.written:
        offsets[topic].append(offset)
    return Written(
        offsets[PLACE.topic], offsets["quarantine"], state.next, state.seen, state.recognized, state.finding
    )


def by_rule(messages: list[Consumed], state: PartitionState) -> Written:
    """Apply the rule to each record, and the decision to its partition."""
    client = Client({})
    for message in messages:
        offset, epoch, stamp = message.offset(), message.leader_epoch(), message.timestamp()[1]
        decision = state.admit(offset, epoch, stamp, headers_usable=message.plain)
        if decision is Admission.REPLICATE:
            client.produce(PLACE.topic, message.value() or b"")
            state.add_produced(1, offset + 1, epoch, 1)
        elif decision is not Admission.IGNORE and state.quarantine:
            client.produce(state.quarantine, message.value() or b"")
            state.add_quarantined(offset, epoch, 1)
        elif decision is Admission.BARRIER:
            state.stop(offset, state.poison[state.barrier])
        elif decision is Admission.NO_TIMESTAMP:
            state.stop(offset, no_timestamp(SOURCE, offset, stamp))
        elif decision is Admission.HEADERS:
            state.stop(offset, Finding("poison", "headers", "", offset))
    return written(client, state)


def same(result: Written, expected: Written) -> bool:
    """The text of a finding on headers is not the rule's."""
    verdicts = [
        (finding.verdict, finding.expected) if finding else None
        for finding in (result.finding, expected.finding)
    ]
    return result[:5] == expected[:5] and verdicts[0] == verdicts[1]


forms = st.tuples(
    st.sampled_from([1] * 6 + [2]),
    st.sampled_from([1_000] * 20 + [0, -1]),
    st.sampled_from(["plain"] * 20 + ["odd", "bad"]),
)


def record(offset: int, stamp: int, form: str) -> Consumed:
    return Consumed(
        "t", 0, offset, None, None, b"%d" % offset, 1, stamp, 3,
        [("\0", b"")] if form == "odd" else [], form == "plain", "bad" if form == "bad" else "",
    )  # fmt: skip


def records(steps: list[tuple[int, int, str]], first: int) -> list[Consumed]:
    messages, offset = [], first
    for step, stamp, form in steps:
        offset += step
        messages.append(record(offset, stamp, form))
    return messages


@st.composite
def states(draw: st.DrawFn) -> Callable[[], PartitionState]:
    """A partition that replicates from offset 3 on; the same one each time."""
    rejected = draw(st.frozensets(st.integers(3, 20), max_size=3))
    recognized, quarantine = draw(st.booleans()), draw(st.sampled_from(["", "quarantine"]))
    lost_at = draw(st.none() | st.integers(3, 20))
    return lambda: open_partition(
        3, recognized=recognized, rejected=rejected, lost_at=lost_at, quarantine=quarantine
    )


many = st.lists(forms, max_size=20)
chunks = st.integers(1, 20)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("exactly_once", [True, False])
@settings(max_examples=300)
@given(many, st.integers(-1, 6), states(), chunks)
def test_the_object_carrier_does_what_the_rule_says(
    exactly_once: bool,
    filtered: bool,
    steps: list[tuple[int, int, str]],
    first: int,
    state: Callable[[], PartitionState],
    chunk: int,
) -> None:
    """Also after a record filter that drops nothing."""
    messages = records(steps, first)
    guarantee = Transaction("x") if exactly_once else AtLeastOnce()
    kind = OBJECT._replace(make_handle=Client)
    producer = DestinationProducer(CLUSTER, LIMITS, "none", guarantee, kind=kind)
    partition, record_filter = state(), RecordFilter([], "elsewhere")
    for begin in range(0, len(messages), chunk):
        some: list[Any] = messages[begin : begin + chunk]
        if filtered:
            some = record_filter.apply(some, {("t", 0): partition})
        producer.replicate(some, {("t", 0): partition})
        if filtered:
            record_filter.finish()

    assert same(written(producer.client.handle, partition), by_rule(messages, state()))


@settings(max_examples=300)
@given(many, st.integers(-1, 6), states(), chunks)
def test_the_record_filter_judges_what_the_rule_admits(
    steps: list[tuple[int, int, str]], first: int, state: Callable[[], PartitionState], chunk: int
) -> None:
    """Each record comes from the destination, so each one that the filter may judge is dropped."""
    messages = [
        Consumed("t", 0, message.offset(), None, None, b"", 1, 1, 3, [(HEADER, b"there")])
        for message in records(steps, first)
    ]
    partition, record_filter = state(), RecordFilter([], "there")
    for begin in range(0, len(messages), chunk):
        assert record_filter.apply(messages[begin : begin + chunk], {("t", 0): partition}) == []
        record_filter.finish()

    expected, dropped = state(), []
    for message in messages:
        offset, epoch = message.offset(), message.leader_epoch()
        decision = expected.admission(offset, epoch, expected.limit)
        if decision is Admission.BARRIER and not expected.lift_hole(offset):
            expected.stop(*expected.stop_before(offset))
        elif decision is not Admission.IGNORE:
            expected.add_filtered([offset], epoch, 0)
            dropped.append(offset)
    assert [first + n for first, length in partition.filtered_ranges for n in range(length)] == dropped
    assert (partition.next, partition.recognized) == (expected.next, expected.recognized)
    assert (partition.finding, partition.filtered) == (expected.finding, len(dropped))
