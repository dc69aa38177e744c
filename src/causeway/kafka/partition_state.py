"""State of one source partition while a task serves it: its position, its part of the open transaction."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError

from causeway.core.position import KnownRecord, Position
from causeway.core.schema import SchemaUse
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.delivery_reports import ProducedRecords, QuarantineReport, Stretch
from causeway.kafka.task_errors import Again
from causeway.rules.holes import Hole, holes_between
from causeway.rules.integrity import Finding, absent, contradicts, diverged
from causeway.rules.offset_runs import OffsetRun
from causeway.rules.positions import Replicated, Waits, advance, seen
from causeway.rules.record_admission import Admission, content_admission, offset_admission

NEVER = sys.maxsize


class PartitionState:
    """State of a partition that is being served. `next` is after `position` until a transaction commits."""

    __slots__ = (
        "absent", "barrier", "bytes", "delivered", "digests", "epoch", "fetch_from", "fetched", "filtered",
        "filtered_bytes", "filtered_ranges", "finding", "hole", "hole_start", "lane", "next", "poison",
        "position", "produced", "proof", "quarantine", "quarantined", "read", "recognized", "report_each",
        "schemas_needed", "schemas_needed_at", "seen",
    )  # fmt: skip

    def __init__(
        self,
        lane: Lane,
        position: Position,
        report_each: bool = False,
        poison: Mapping[int, Finding] | None = None,
        quarantine: str = "",
        fetch_from: tuple[int, int] | None = None,
        hole: Finding | None = None,
        proof: KnownRecord | None = None,
    ) -> None:
        self.lane = lane
        self.position = position
        self.next = position.offset
        self.seen = seen(position)  # offset after the last record seen, which has this epoch
        self.epoch = position.epoch
        self.fetch_from = fetch_from or (position.offset, -1)  # offset, and epoch of what is there or -1
        # Only for a source pool: a record that must come first, with this content, and those of recent polls.
        self.proof = proof
        self.digests: list[KnownRecord] = []
        # Whether that epoch, or the content, was checked, if there is something to check.
        self.recognized = self.fetch_from[1] < 0 and proof is None
        self.absent = False  # stopped as the last record seen did not come: the source must be asked
        self.read = False  # whether anything was read from the position on
        self.delivered = 0
        self.filtered = self.filtered_bytes = 0
        self.filtered_ranges: list[tuple[int, int]] = []  # first offset and length of what filters removed
        self.bytes = 0
        self.fetched = 0  # when the transaction's first record came, if that is recorded; milliseconds
        self.produced: list[ProducedRecords] = []
        self.report_each = report_each  # every record reports, not only the ends of a stretch
        self.quarantined: list[QuarantineReport] = []
        # Records that the destination rejected, by offset; the first of them must not be produced.
        self.poison: dict[int, Finding] = dict(poison or {})
        self.hole = hole  # offsets that the source lost: nothing from there on may be replicated
        self.hole_start = NEVER if hole is None else hole.expected
        # Schemas that the record at this offset names and the ledger does not map yet: it must wait.
        self.schemas_needed: tuple[SchemaUse, ...] = ()
        self.schemas_needed_at = NEVER
        self.barrier: int = self._first_barrier()
        self.quarantine = quarantine  # the topic where such records go; "": the partition stops before them
        self.finding: Finding | None = None

    @property
    def done(self) -> bool:
        """Whether an order with an end is fulfilled for this partition."""
        if self.finding is not None:
            return not self.absent and not self.waits_for_schemas
        return self.recognized and self.lane.until is not None and self.next >= self.lane.until

    @property
    def limit(self) -> int:
        """The first offset that must not be passed."""
        return min(self.hole_start, self.schemas_needed_at) if self.quarantine else self.barrier

    @property
    def validated(self) -> bool:
        """Whether the client must validate the epoch before it fetches: the record itself may be gone."""
        return self.fetch_from[1] >= 0 and self.fetch_from[0] >= seen(self.position)

    @property
    def awaited(self) -> bool:
        """Whether the last record seen must come before anything else."""
        return not self.recognized and not self.validated

    def advance_to(self, offset: int) -> None:
        """The fetch position reached this offset, after transaction markers and aborted records.

        Ignored where the partition has stopped. The client keeps fetching until the next commit drops the
        partition, so an end may be reported after a record that was not replicated, in the same take or a
        later one: to pass it would count the record that stopped the partition, and all after it, as holes.
        """
        if self.finding is not None:
            return
        if self.awaited:
            # An end at that record's offset proves nothing: after an election the end may lag for a moment.
            if offset >= self.seen:
                self._truncated(
                    absent(self.seen, f"the log goes on to offset {offset} without it"), absent=True
                )
            return
        self.recognized = self.read = True
        self.next = max(self.next, min(offset, self.limit))
        if self.hole is not None and offset > self.hole_start == self.next:
            self.stop(self.hole_start, self.hole)

    def add_stretch(self, stretch: Stretch, offset: int, epoch: int | None, size: int) -> None:
        """A stretch was produced; `offset` is the next one to replicate."""
        self.produced.append(stretch)
        self.add_produced(stretch.length, offset, epoch, size)

    def add_produced(self, records: int, offset: int, epoch: int | None, size: int) -> None:
        """This many records were produced; `offset` is the next one to replicate."""
        self.next = offset
        self._record_seen(offset, epoch)
        self.delivered += records
        self.bytes += size

    def update_barrier(self, offset: int) -> int:
        """Return the barrier from here on: with a quarantine, rejected records that are gone do not count.

        A record after a hole stops the partition before the hole.
        """
        if self.quarantine:
            self._forget_poison(offset)
        if self.hole is not None and offset > self.hole_start:
            self.stop(self.hole_start, self.hole)
        self.lift_hole(offset)
        return self.barrier

    def _forget_poison(self, offset: int) -> None:
        self.poison = {at: finding for at, finding in self.poison.items() if at >= offset}
        self.barrier = self._first_barrier()

    def _first_barrier(self) -> int:
        return min([self.hole_start, self.schemas_needed_at, *self.poison])

    def add_poison(self, offset: int, finding: Finding) -> None:
        """The record at this offset must not be produced: it is quarantined, or the partition stops."""
        self.poison[offset] = finding
        self.barrier = self._first_barrier()

    def need_schemas(self, offset: int, schemas: tuple[SchemaUse, ...]) -> None:
        """The record at this offset, and all after it, must wait for these schemas."""
        self.schemas_needed, self.schemas_needed_at = schemas, offset
        self.barrier = self._first_barrier()

    @property
    def waits_for_schemas(self) -> bool:
        """Whether everything before a record that needs schemas is done, and the partition ends there."""
        return self.finding is not None and self.finding.verdict == "schema"

    def waits_at(self, offset: int) -> bool:
        """Stop before this record if it must wait for schemas; returns whether it must."""
        if self.finding is None and offset >= self.schemas_needed_at:
            named = ", ".join(map(str, self.schemas_needed))
            at = self.schemas_needed_at
            self.stop(at, Finding("schema", f"{self.lane.source} waits at offset {at}: {named}", "", at))
        return self.waits_for_schemas

    def lift_hole(self, offset: int) -> bool:
        """Remove the hole where a record comes at its first offset: the source has it again.

        Returns whether the record may pass now.
        """
        if offset == self.hole_start:
            self.hole, self.hole_start = None, NEVER
            self.barrier = self._first_barrier()
        return offset < self.limit

    def stop_before(self, offset: int) -> tuple[int, Finding]:
        """Return where the partition stops, and why, when a record comes at its limit or after it."""
        if self.hole is not None and offset > self.hole_start:
            return self.hole_start, self.hole
        return offset, self.poison[self.limit]

    def add_quarantined(self, offset: int, epoch: int | None, size: int) -> QuarantineReport:
        """A record goes to the quarantine; the next offset to replicate is after it."""
        report = QuarantineReport(offset, size)
        self.quarantined.append(report)
        self.next = offset + 1
        self._record_seen(offset + 1, epoch)
        self._forget_poison(offset + 1)
        return report

    def add_filtered(self, offsets: Sequence[int], epoch: int | None, size: int) -> None:
        """The record filter removed these offsets, which are in order; the epoch is the last one's."""
        self.filtered += len(offsets)
        self.filtered_bytes += size
        for offset in offsets:
            if self.filtered_ranges and sum(self.filtered_ranges[-1]) == offset:
                self.filtered_ranges[-1] = (self.filtered_ranges[-1][0], self.filtered_ranges[-1][1] + 1)
            else:
                self.filtered_ranges.append((offset, 1))
        if offsets and self.finding is None:
            self.advance_to(offsets[-1] + 1)
            if offsets[-1] >= self.seen:
                self._record_seen(offsets[-1] + 1, epoch)

    def _record_seen(self, offset: int, epoch: int | None) -> None:
        self.read = True
        self.seen = offset
        self.epoch = -1 if epoch is None else epoch

    def recognize(self, offset: int, epoch: int | None) -> None:
        """Check by a record before `next`, or by the first one that comes, that the log is still the same.

        Where it is not, the log was truncated and written again, and what it holds now up to our position
        would never be replicated; so the partition stops.
        """
        awaited = self.awaited
        why = contradicts(self.seen, self.next, self.epoch, offset, epoch, awaited=awaited)
        if why:
            self._truncated(why, absent=awaited and offset >= self.seen)
        else:
            self.recognized = True

    def admission(self, offset: int, epoch: int | None, barrier: int) -> Admission:
        """Whether a record may be replicated, as far as its offset shows; checks the log by it first."""
        decision = self._offset_admission(offset, barrier)
        if decision is not Admission.CHECK_LOG:
            return decision
        self.recognize(offset, epoch)
        decision = self._offset_admission(offset, barrier)
        return Admission.IGNORE if decision is Admission.CHECK_LOG else decision

    def admit(self, offset: int, epoch: int | None, timestamp: int, *, headers_usable: bool) -> Admission:
        """Whether the next record may be replicated; all before it were produced, or dropped.

        Never returns CHECK_LOG. A record after a lost range stops the partition before the range.
        """
        decision = self.admission(offset, epoch, self.barrier)
        if decision is Admission.BARRIER:
            self.update_barrier(offset)
            decision = self._offset_admission(offset, self.barrier)
        if decision is Admission.REPLICATE:
            return content_admission(timestamp, headers_usable=headers_usable)
        return decision

    def _offset_admission(self, offset: int, barrier: int) -> Admission:
        return offset_admission(
            offset,
            stopped=self.finding is not None,
            recognized=self.recognized,
            next_offset=self.next,
            barrier=barrier,
        )

    def proved(self) -> None:
        """The node of a pool has the record that was read from another node."""
        self.proof, self.recognized = None, True

    def _truncated(self, why: str, *, absent: bool) -> None:
        self.absent = absent
        self.stop(self.next, diverged(self.lane.source, self.next, why))

    def stop(self, offset: int, finding: Finding) -> None:
        """Stop the partition: everything before this offset is done, nothing from it on may be replicated."""
        if self.finding is None:
            self.next = max(self.next, offset)
            self.finding = finding

    def rejected(self) -> list[tuple[int, KafkaError]]:
        """Return the records that were rejected, at their place or by the quarantine, as far as reported."""
        quarantined = [
            (report.source, report.error) for report in self.quarantined if report.error is not None
        ]
        return [rejected for records in self.produced for rejected in records.rejected()] + quarantined

    def quarantine_errors(self) -> list[KafkaError]:
        """Return the errors of records that the quarantine rejected."""
        return [report.error for report in self.quarantined if report.error is not None]

    def next_position(self, at: int) -> tuple[Position, dict[int, list[OffsetRun]]]:
        """Return the position after what was replicated, and the map's runs by destination partition.

        All reports are in. Raises Unmapped where they do not show where each record landed.
        """
        place = self.lane.place.partition
        runs: dict[int, list[OffsetRun]] = {}
        waits = Waits()
        for records in self.produced:
            records.collect(place, at, runs, waits)
        mapped = sum(run.length for its_runs in runs.values() for run in its_runs)
        if mapped != self.delivered:
            raise Again(f"{self.lane.source}: {mapped} of {self.delivered} records were acknowledged")
        replicated = Replicated(
            offset=self.next,
            epoch=self.epoch,
            delivered=self.delivered,
            filtered=self.filtered,
            quarantined=len(self.quarantined),
            bytes=self.bytes,
            place_end=runs[place][-1].destination + runs[place][-1].length if place in runs else -1,
            waits=waits,
            seen=self.seen,
            filtered_bytes=self.filtered_bytes,
            quarantined_bytes=sum(report.size for report in self.quarantined),
            known=self._known_record(),
        )
        return advance(self.position, replicated, at), runs

    def _known_record(self) -> KnownRecord | None:
        """The latest record before the position of which the content is known."""
        before = [known for known in self.digests if known.offset < self.next]
        return before[-1] if before else None

    def holes(self, runs: Mapping[int, Sequence[OffsetRun]]) -> list[Hole]:
        """Return offsets of the open transaction without a record; `runs` are those of `next_position`."""
        accounted = [(run.source, run.length) for its_runs in runs.values() for run in its_runs]
        accounted += [(report.source, 1) for report in self.quarantined]
        return holes_between(self.position.offset, self.next, [*accounted, *self.filtered_ranges])

    def committed(self, position: Position) -> None:
        self.position = position
        self.delivered = self.filtered = self.bytes = self.filtered_bytes = self.fetched = 0
        self.produced = []
        self.quarantined = []
        self.filtered_ranges = []
        self.digests = [known for known in self.digests if known.offset >= self.next]


PartitionStates = Mapping[Spot, PartitionState]
"""Open partitions, by source topic and partition."""
