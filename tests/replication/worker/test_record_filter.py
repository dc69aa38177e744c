"""Filtering between consumer and producer: every offset is accounted for, whatever filters do."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from causeway.core.filtering import FilterSpec
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.kafka.delivery_reports import Stretch
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.record_findings import no_timestamp
from causeway.replication.worker.record_filter import RecordFilter
from causeway.rules.integrity import Finding
from causeway.rules.provenance import HEADER

CODE = """
class Filter:
    def __init__(self, config):
        self.verdicts = config["verdicts"]

    def keep(self, record):
        verdict = self.verdicts[record.offset % len(self.verdicts)]
        if verdict == "raise":
            raise ValueError(record.offset)
        return {"keep": True, "drop": False, "none": None}[verdict]

class Batches(Filter):
    keep_all = lambda self, records: [self.keep(record) for record in records]
"""


@dataclass
class Message:
    """The parts of a client's message that the record filter uses."""

    at: int
    mark: bytes | None = None
    stamp: int = 1_000
    unreadable: str = ""

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at

    def leader_epoch(self) -> int:
        return 3

    def timestamp(self) -> tuple[int, int]:
        return (1, self.stamp)

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return b"v"

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return None if self.mark is None else [(HEADER, self.mark)]


def open_partition(barrier: int | None = None) -> PartitionState:
    source = SourcePartition("c", "t", 0)
    place = Place("t", "id", 0)
    position = Position(source, "id", 0, 0, -1, place, 0, -1, 1, 0)
    poison = {barrier: Finding("poison", "refused", "")} if barrier is not None else {}
    return PartitionState(Lane(source, "id", place, None), position, poison=poison)


def produce(messages: list[Message], state: PartitionState) -> list[int]:
    """As the producer does: in order, up to the barrier or to a record without a timestamp."""
    replicated: list[int] = []
    for message in messages:
        if state.finding is not None or message.at < state.next:
            continue
        if message.at >= state.barrier or message.stamp <= 0:
            barrier = state.barrier <= message.at
            why = state.poison[state.barrier] if barrier else no_timestamp(state.lane.source, message.at, 0)
            state.stop(message.at, why)
            continue
        stretch = Stretch(message.at)
        stretch.length = 1
        stretch.first = stretch.last = 100 + len(replicated)
        state.add_stretch(stretch, message.at + 1, 0, 1)
        replicated.append(message.at)
    return replicated


verdicts = st.lists(st.sampled_from(["keep", "keep", "drop", "raise", "none"]), min_size=1, max_size=9)
policies = st.sampled_from(["stop", "keep", "drop"])
filters = st.lists(st.tuples(verdicts, policies, st.sampled_from(["Filter", "Batches"])), max_size=2)


def spec(which: list[str], policy: str, name: str) -> FilterSpec:
    return FilterSpec(f"f.py:{name}", {"verdicts": which}, policy, CODE)  # type: ignore[arg-type]


@given(
    filters,
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([None, b"here", b"there"])), max_size=40),
    st.integers(1, 10),
    st.none() | st.integers(0, 40),
    st.booleans(),
    st.none() | st.integers(0, 40),
    st.booleans(),
)
def test_every_offset_is_accounted_for(
    chosen: list[tuple[list[str], str, str]],
    steps: list[tuple[int, bytes | None]],
    chunk: int,
    barrier: int | None,
    provenance: bool,
    timeless: int | None,
    ends: bool,
) -> None:
    record_filter = RecordFilter([spec(*choice) for choice in chosen], "there" if provenance else None)
    state = open_partition(barrier)
    messages, at = [], 0
    for step, mark in steps:  # steps over 1 are holes
        at += step
        messages.append(Message(at, mark, 0 if at == timeless else 1_000))
    replicated: list[int] = []
    while messages:
        batch, messages = messages[:chunk], messages[chunk:]
        replicated += produce(record_filter.apply(batch, {("t", 0): state}), state)
        record_filter.finish()
        if ends:  # the partition ended there, as the client reports
            state.advance_to(batch[-1].at + 1)
    position, _ = state.next_position(at=0)
    expected, dropped, stopped = fate(chosen, steps, provenance, barrier, timeless)

    assert replicated == expected
    assert position.tally.delivered == len(expected)
    assert position.tally.filtered == dropped
    assert position.offset - position.start == position.tally.offsets
    if stopped is None:
        assert state.finding is None
        assert position.offset == (at + 1 if steps else 0)
    else:
        assert state.finding is not None
        assert position.offset == stopped


def fate(
    chosen: list[tuple[list[str], str, str]],
    steps: list[tuple[int, bytes | None]],
    provenance: bool,
    barrier: int | None,
    timeless: int | None,
) -> tuple[list[int], int, int | None]:
    """The same, record by record: the replicated offsets, the number dropped, the offset of the stop."""
    replicated: list[int] = []
    dropped, at = 0, 0
    for step, mark in steps:
        at += step
        if barrier is not None and at >= barrier:
            return replicated, dropped, at
        result = "drop" if provenance and mark == b"there" else "keep"
        for which, policy, _ in chosen if result == "keep" else ():
            result = which[at % len(which)]
            result = policy if result in ("raise", "none") else result
            if result != "keep":
                break
        if result == "stop" or (result == "keep" and at == timeless):
            return replicated, dropped, at
        replicated += [at] if result == "keep" else []
        dropped += result == "drop"
    return replicated, dropped, None


def test_an_unreadable_record_is_not_filtered_and_keeps_its_place() -> None:
    """No filter may judge by headers that were not read; the producer rejects such a record."""
    record_filter = RecordFilter([spec(["drop", "keep", "drop"], "stop", "Filter")], "there")
    state = open_partition()
    messages = [Message(0), Message(1, unreadable="why"), Message(2), Message(3, b"there"), Message(4)]
    assert [message.at for message in record_filter.apply(messages, {("t", 0): state})] == [1, 4]
