"""Between source consumer and producer: drops and counts records that must not be replicated.

Filters decide, and provenance: a record that originated at the destination is not sent back there. A dropped
record leaves a gap in the offsets, which the producer takes for a hole. So the partition states get the
dropped offsets afterwards, and advance past those after the last record produced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from causeway.core.filtering import FilterRecord, FilterSpec
from causeway.kafka.partition_state import PartitionState, PartitionStates
from causeway.kafka.records import record_of
from causeway.planning.filters import MadeFilter, make
from causeway.rules.integrity import Finding
from causeway.rules.provenance import comes_from
from causeway.rules.record_admission import Admission


class RecordFilter:
    def __init__(self, specs: Sequence[FilterSpec], not_back_to: str | None) -> None:
        self._filters = [make(spec) for spec in specs]
        self._not_back_to = not_back_to.encode() if not_back_to is not None else None
        self._dropped: dict[PartitionState, list[tuple[int, int | None, int]]] = {}  # offset, epoch and size
        self._stops: dict[PartitionState, tuple[int, Finding]] = {}

    def close(self) -> None:
        for made_filter in self._filters:
            made_filter.close()

    @property
    def active(self) -> bool:
        return bool(self._filters) or self._not_back_to is not None

    def apply(self, messages: Sequence[Any], states: PartitionStates) -> list[Any]:
        """The messages to replicate, in their order."""
        kept = []
        for message in messages:
            state = states.get((message.topic(), message.partition()))
            if state is None:
                continue
            offset = message.offset()
            if state.finding is not None or not state.recognized or not state.next <= offset < state.barrier:
                decision = state.admission(offset, message.leader_epoch(), state.limit)
                if decision is Admission.IGNORE:
                    continue
                if decision is Admission.BARRIER and not state.lift_hole(offset):
                    self._stop(state, *state.stop_before(offset))  # filters do not see these
                    continue
            if message.unreadable:
                kept.append((state, message))  # the producer refuses it: its headers cannot be judged here
            elif self._not_back_to is not None and comes_from(message.headers(), self._not_back_to):
                self._drop(state, message)
            else:
                kept.append((state, message))
        if self._filters and kept:
            kept = self._asked(kept)
        return [
            message
            for state, message in kept
            if state not in self._stops or message.offset() < self._stops[state][0]
        ]

    def _asked(self, kept: list[tuple[PartitionState, Any]]) -> list[tuple[PartitionState, Any]]:
        """The messages that all filters keep, and the unreadable ones, which no filter sees, in order."""
        asked = [pair for pair in kept if not pair[1].unreadable]
        records = [record_of(message) for _, message in asked]
        for made_filter in self._filters:
            asked, records = self._ask(made_filter, asked, records)
        passed = {id(message) for _, message in asked}
        return [pair for pair in kept if pair[1].unreadable or id(pair[1]) in passed]

    def finish(self) -> None:
        """After the rest was produced: apply the dropped records and the stops to the partition states."""
        for state, dropped in self._dropped.items():
            limit = state.next if state.finding is not None else state.limit
            if state in self._stops:
                limit = min(limit, self._stops[state][0])
            before = sorted(record for record in dropped if record[0] < limit)
            size = sum(record[2] for record in before)
            state.add_filtered([record[0] for record in before], before[-1][1] if before else None, size)
        for state, (offset, finding) in self._stops.items():
            state.stop(offset, finding)
        self._dropped, self._stops = {}, {}

    def _ask(
        self, made_filter: MadeFilter, kept: list[tuple[PartitionState, Any]], records: list[FilterRecord]
    ) -> tuple[list[tuple[PartitionState, Any]], list[FilterRecord]]:
        passed: list[tuple[PartitionState, Any]] = []
        passed_records: list[FilterRecord] = []
        for (state, message), record, verdict in zip(kept, records, made_filter.judge(records), strict=True):
            if isinstance(verdict, str):
                if made_filter.on_error == "stop":
                    self._stop(state, record.offset, _raised(made_filter.name, record, verdict))
                    continue
                verdict = made_filter.on_error == "keep"
            if verdict:
                passed.append((state, message))
                passed_records.append(record)
            else:
                self._drop(state, message)
        return passed, passed_records

    def _drop(self, state: PartitionState, message: Any) -> None:
        self._dropped.setdefault(state, []).append(
            (
                message.offset(),
                message.leader_epoch(),
                len(message.value() or b"") + len(message.key() or b""),
            )
        )

    def _stop(self, state: PartitionState, offset: int, finding: Finding) -> None:
        known = self._stops.get(state)
        if known is None or offset < known[0]:
            self._stops[state] = (offset, finding)


def _raised(name: str, record: FilterRecord, why: str) -> Finding:
    at = f"{record.topic}[{record.partition}] offset {record.offset}"
    return Finding(
        "filter",
        f"the filter {name} raised on the record at {at}: {why}",
        'correct the filter and start again, or choose on_error = "keep" or "drop" for it',
        record.offset,
    )
