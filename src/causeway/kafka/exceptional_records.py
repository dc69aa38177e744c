"""Records that a produce loop does not take by itself: admits them, quarantines them or stops before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from causeway.kafka.partition_state import PartitionState
from causeway.kafka.producer_client import ProducerClient, RecordOrigin
from causeway.kafka.record_findings import no_timestamp
from causeway.rules.integrity import Finding
from causeway.rules.quarantine import Label, labelled
from causeway.rules.record_admission import Admission
from causeway.rules.unwritable import unreadable_headers


@dataclass(slots=True)
class ProducedCounts:
    """What was produced in the open transaction, to the quarantine too."""

    records: int = 0
    bytes: int = 0


class ExceptionalRecords:
    def __init__(
        self,
        client: ProducerClient,
        counts: ProducedCounts,
        unwritable: Callable[[PartitionState, Any], Finding | None],
        *,
        escape_names: bool,
    ) -> None:
        self._client = client
        self._counts = counts
        self._unwritable = unwritable  # why the loop's client cannot write the headers unchanged
        self._escape_names = escape_names

    def admits(self, state: PartitionState, message: Any, stamp: int) -> bool:
        """Whether a record may be replicated; otherwise quarantines it or stops its partition if need be."""
        usable = self._headers_finding(state, message) is None
        decision = state.admit(message.offset(), message.leader_epoch(), stamp, headers_usable=usable)
        if decision is Admission.REPLICATE:
            return True
        if decision is Admission.BARRIER and state.waits_at(message.offset()):
            return False
        if decision is not Admission.IGNORE:
            finding = self._finding(decision, state, message, stamp)
            if state.quarantine:
                self._quarantine(state, message, finding)
            else:
                state.stop(message.offset(), finding)
        return False

    def _finding(self, decision: Admission, state: PartitionState, message: Any, stamp: int) -> Finding:
        if decision is Admission.BARRIER:
            return state.poison[state.barrier]
        headers = self._headers_finding(state, message) if decision is Admission.HEADERS else None
        return headers or no_timestamp(state.lane.source, message.offset(), stamp)

    def _headers_finding(self, state: PartitionState, message: Any) -> Finding | None:
        """Return why the headers of a record cannot be written unchanged; None where they can."""
        if message.unreadable:
            return unreadable_headers(state.lane.source, message.offset(), message.unreadable)
        return self._unwritable(state, message)

    def _quarantine(self, state: PartitionState, message: Any, finding: Finding) -> None:
        """Produce a record to the quarantine, labelled with its source data, in the same transaction."""
        offset, value, key = message.offset(), message.value(), message.key()
        stamp = message.timestamp()[1]
        label = Label(state.lane.source, state.position.topic_id, offset, stamp, finding.what)
        size = len(value or b"") + len(key or b"")
        report = state.add_quarantined(offset, message.leader_epoch(), size)
        if message.unreadable:
            headers = labelled((), replace(label, lacks="headers"))
        else:
            headers = labelled(message.headers(), label, escape=self._escape_names)
        # The timestamp may be why it was rejected: the label has it, and the client sets the current time.
        record = RecordOrigin(state.lane.source, offset)
        self._client.send(
            "quarantining", record, state.quarantine, value, key, 0, report.report, None, 0, headers
        )
        self._counts.records += 1
        self._counts.bytes += size
