"""Both carriers compute the same from the destination's reports."""

from __future__ import annotations

import numpy as np
import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.route import BY_KEY
from causeway.kafka.delivery_reports import ProducedRecords, Stretch, Unmapped
from causeway.kafka.native import loop
from causeway.kafka.native.delivery_reports import Stretches
from causeway.rules.offset_runs import OffsetRun
from causeway.rules.positions import Waits

Record = tuple[int, int, int, int]  # source offset, partition, destination offset, timestamp
AT = 100_000


@st.composite
def records(draw: st.DrawFn, partitions: int) -> list[Record]:
    """In source order, each at the next offset of its partition, with jumps on both sides."""
    source, ends = 0, [0] * partitions
    jumps = st.sampled_from([1, 1, 1, 3])
    written = []
    for _ in range(draw(st.integers(1, 40))):
        source += draw(jumps)
        partition = draw(st.integers(0, partitions - 1))
        ends[partition] += draw(jumps)
        written.append((source, partition, ends[partition], draw(st.integers(0, AT))))
    return written


def single(record: Record) -> Stretch:
    stretch = Stretch(record[0])
    stretch.length, stretch.partition = 1, record[1]
    stretch.first = stretch.last = record[2]
    stretch.first_at = stretch.last_at = record[3]
    return stretch


def reported(written: list[Record], errors: dict[int, int]) -> tuple[Stretches, int]:
    """The native carrier's reports of these records, and the number of their rows."""
    rows = np.array([(0, source, stamp) for source, _, _, stamp in written], np.int64)
    slots = np.array(
        [(offset, errors.get(n, 0) << 32 | place) for n, (_, place, offset, _) in enumerate(written)],
        np.int64,
    )
    out = np.zeros((len(written), loop.REPORT_COLUMNS), np.int64)
    count = loop.stretches(rows, slots, len(written), np.zeros(1, np.int64), out)
    return Stretches(out[:count]), count


def settled(landed: list[ProducedRecords], place: int) -> tuple[dict[int, list[OffsetRun]], Waits]:
    runs: dict[int, list[OffsetRun]] = {}
    waits = Waits()
    for produced in landed:
        produced.collect(place, AT, runs, waits)
    return runs, waits


@given(st.data(), st.sampled_from([1, 3]))
def test_runs_are_the_same_and_everything_is_counted(data: st.DataObject, partitions: int) -> None:
    written = data.draw(records(partitions))
    place = BY_KEY if partitions > 1 else 0
    native, rows = reported(written, {})
    one_by_one = settled([single(record) for record in written], place)
    runs, waits = settled([native], place)
    assert runs == one_by_one[0]
    assert sum(waits.counts) == sum(one_by_one[1].counts) == len(written)
    assert sum(map(len, runs.values())) == rows, "as few as possible"


def test_a_rejected_record_is_a_row_of_its_own() -> None:
    written = [(source, 0, source, 5) for source in range(4)]
    native, rows = reported(written, {1: KafkaError.MSG_SIZE_TOO_LARGE, 2: KafkaError._PURGE_QUEUE})
    rejected = [(offset, error.code()) for offset, error in native.rejected()]
    assert rejected == [(1, KafkaError.MSG_SIZE_TOO_LARGE), (2, KafkaError._PURGE_QUEUE)]
    assert rows == 4


def test_a_record_of_unknown_place_is_not_mapped() -> None:
    native, _ = reported([(0, 0, -1001, 5)], {})
    with pytest.raises(Unmapped):
        settled([native], 0)
