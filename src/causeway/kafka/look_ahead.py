"""Finds offsets without records among consumed records, before any of them is produced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from causeway.kafka.partition_state import PartitionState
from causeway.rules.holes import Hole


class RecordRun(NamedTuple):
    """Contiguous records: source topic and partition, first offset, count."""

    at: tuple[str, int]
    first: int
    length: int


def runs_of(messages: Iterable[Any]) -> Iterator[RecordRun]:
    run: RecordRun | None = None
    for message in messages:
        at, offset = (message.topic(), message.partition()), message.offset()
        if run is not None and run.at == at and run.first + run.length == offset:
            run = run._replace(length=run.length + 1)
            continue
        if run is not None:
            yield run
        run = RecordRun(at, offset, 1)
    if run is not None:
        yield run


def holes_ahead(
    runs: Iterable[RecordRun],
    ends: Iterable[tuple[PartitionState, int]],
    states: Mapping[tuple[str, int], PartitionState],
) -> Iterator[tuple[PartitionState, Hole]]:
    """Yield the offsets that partitions will pass without a record; `ends` apply after the records."""
    reached: dict[tuple[str, int], int] = {}
    reads = ((state.lane.source, offset) for state, offset in ends)
    marks = (RecordRun((source.topic, source.partition), offset, 0) for source, offset in reads)
    for at, first, length in chain(runs, marks):
        state = states.get(at)
        if state is None or state.finding is not None:
            continue
        if at not in reached and state.awaited and first >= state.next:
            reached[at] = -1  # the last record seen does not come: the partition stops
        upto = reached.get(at, state.next)
        if upto < 0:
            continue
        if state.hole is not None and first > state.hole_start:
            reached[at] = -1  # the partition stops at the wall; what lies after it is known
            if upto < state.hole_start:
                yield state, Hole(upto, state.hole_start)
            continue
        if first > upto:
            yield state, Hole(upto, first)
        reached[at] = max(upto, first + length)
