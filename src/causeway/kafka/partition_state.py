"""State of one source partition while a task serves it: its position, its part of the open transaction."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaError

from causeway.core.position import Position
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.delivery_reports import ProducedRecords, QuarantineReport, Stretch
from causeway.kafka.failures import refused_by
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
        "absent", "barrier", "bytes", "careful", "delivered", "epoch", "fetch_from", "filtered",
        "filtered_bytes", "finding", "hole", "landed", "lane", "next", "poison", "position", "quarantine",
        "quarantined", "read", "recognized", "seen", "taken_out", "wall",
    )  # fmt: skip

    def __init__(
        self,
        lane: Lane,
        position: Position,
        careful: bool = False,
        poison: Mapping[int, Finding] | None = None,
        quarantine: str = "",
        fetch_from: tuple[int, int] | None = None,
        hole: Finding | None = None,
    ) -> None:
        self.lane = lane
        self.position = position
        self.next = position.offset
        self.seen = seen(position)  # offset after the last record seen, which has this epoch
        self.epoch = position.epoch
        self.fetch_from = fetch_from or (position.offset, -1)  # offset, and epoch of what is there or -1
        self.recognized = self.fetch_from[1] < 0  # whether that epoch was checked, if there is one
        self.absent = False  # stopped as the last record seen did not come: the source must be asked
        self.read = False  # whether anything was read from the position on
        self.delivered = 0
        self.filtered = self.filtered_bytes = 0
        self.taken_out: list[tuple[int, int]] = []  # first offset and length of what filters removed
        self.bytes = 0
        self.landed: list[ProducedRecords] = []
        self.careful = careful  # every record reports, not only the ends of a stretch
        self.quarantined: list[QuarantineReport] = []
        # Records that the destination rejected, by offset; the first of them must not be produced.
        self.poison: dict[int, Finding] = dict(poison or {})
        self.hole = hole  # offsets that the source lost: nothing from there on may be replicated
        self.wall = NEVER if hole is None else hole.expected
        self.barrier: int = min([self.wall, *self.poison])
        self.quarantine = quarantine  # the topic where such records go; "": the partition stops before them
        self.finding: Finding | None = None

    @property
    def done(self) -> bool:
        """Whether an order with an end is fulfilled for this partition."""
        if self.finding is not None:
            return not self.absent
        return self.recognized and self.lane.until is not None and self.next >= self.lane.until

    @property
    def limit(self) -> int:
        """The first offset that must not be passed."""
        return self.wall if self.quarantine else self.barrier

    @property
    def validated(self) -> bool:
        """Whether the client must validate the epoch before it fetches: the record itself may be gone."""
        return self.fetch_from[1] >= 0 and self.fetch_from[0] >= seen(self.position)

    @property
    def awaited(self) -> bool:
        """Whether the last record seen must come before anything else."""
        return not self.recognized and not self.validated

    def passed(self, offset: int) -> None:
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
                self._cut_off(
                    absent(self.seen, f"the log goes on to offset {offset} without it"), absent=True
                )
            return
        self.recognized = self.read = True
        self.next = max(self.next, min(offset, self.limit))
        if self.hole is not None and offset > self.wall == self.next:
            self.stop(self.wall, self.hole)

    def took(self, stretch: Stretch, offset: int, epoch: int | None, size: int) -> None:
        """A stretch was produced; `offset` is the next one to replicate."""
        self.landed.append(stretch)
        self.moved(stretch.length, offset, epoch, size)

    def moved(self, records: int, offset: int, epoch: int | None, size: int) -> None:
        """This many records were produced; `offset` is the next one to replicate."""
        self.next = offset
        self._saw(offset, epoch)
        self.delivered += records
        self.bytes += size

    def reached(self, offset: int) -> int:
        """Return the barrier from here on: with a quarantine, rejected records that are gone do not count.

        A record after a hole stops the partition before the hole.
        """
        if self.quarantine:
            self._forget_poison(offset)
        if self.hole is not None and offset > self.wall:
            self.stop(self.wall, self.hole)
        self.lift(offset)
        return self.barrier

    def _forget_poison(self, offset: int) -> None:
        self.poison = {at: finding for at, finding in self.poison.items() if at >= offset}
        self.barrier = min([self.wall, *self.poison])

    def lift(self, offset: int) -> bool:
        """Remove the hole where a record comes at its first offset: the source has it again.

        Returns whether the record may pass now.
        """
        if offset == self.wall:
            self.hole, self.wall = None, NEVER
            self.barrier = min([self.wall, *self.poison])
        return offset < self.limit

    def barred(self, offset: int) -> tuple[int, Finding]:
        """Return where the partition stops, and why, when a record comes at its limit or after it."""
        if self.hole is not None and offset > self.wall:
            return self.wall, self.hole
        return offset, self.poison[self.limit]

    def add_quarantined(self, offset: int, epoch: int | None, size: int) -> QuarantineReport:
        """A record goes to the quarantine; the next offset to replicate is after it."""
        report = QuarantineReport(offset, size)
        self.quarantined.append(report)
        self.next = offset + 1
        self._saw(offset + 1, epoch)
        self._forget_poison(offset + 1)
        return report

    def sifted(self, offsets: Sequence[int], epoch: int | None, size: int) -> None:
        """The record filter removed these offsets, which are in order; the epoch is the last one's."""
        self.filtered += len(offsets)
        self.filtered_bytes += size
        for offset in offsets:
            if self.taken_out and sum(self.taken_out[-1]) == offset:
                self.taken_out[-1] = (self.taken_out[-1][0], self.taken_out[-1][1] + 1)
            else:
                self.taken_out.append((offset, 1))
        if offsets and self.finding is None:
            self.passed(offsets[-1] + 1)
            if offsets[-1] >= self.seen:
                self._saw(offsets[-1] + 1, epoch)

    def _saw(self, offset: int, epoch: int | None) -> None:
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
            self._cut_off(why, absent=awaited and offset >= self.seen)
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
            self.reached(offset)
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

    def _cut_off(self, why: str, *, absent: bool) -> None:
        self.absent = absent
        self.stop(self.next, diverged(self.lane.source, self.next, why))

    def stop(self, offset: int, finding: Finding) -> None:
        """Stop the partition: everything before this offset is done, nothing from it on may be replicated."""
        if self.finding is None:
            self.next = max(self.next, offset)
            self.finding = finding

    def why_not(self, offset: int, stamp: int) -> Finding:
        """Return why a record cannot be replicated to its place."""
        if self.barrier <= offset:
            return self.poison[self.barrier]
        return Finding(
            "poison",
            f"the record at {self.lane.source} offset {offset} has timestamp {stamp},"
            " which the client would replace with the current time",
            "records without a timestamp cannot be carried unchanged;"
            ' on_poison = "quarantine" sets them aside',
            offset,
        )

    def rejected(self) -> list[tuple[int, KafkaError]]:
        """Return the records that were rejected, at their place or by the quarantine, as far as reported."""
        quarantined = [
            (report.source, report.error) for report in self.quarantined if report.error is not None
        ]
        return [rejected for produced in self.landed for rejected in produced.rejected()] + quarantined

    def rejection(self, offset: int, error: KafkaError) -> Finding:
        """Return the finding for a record that the destination rejects at every retry."""
        return Finding(
            "poison",
            f"the destination refuses the record at {self.lane.source} offset {offset}: {error.str()}",
            f"change {refused_by(error)} of topic {self.lane.place.topic}, or what is written to the source;"
            ' on_poison = "quarantine" sets such records aside',
            offset,
        )

    def quarantine_errors(self) -> list[KafkaError]:
        """Return the errors of records that the quarantine rejected."""
        return [report.error for report in self.quarantined if report.error is not None]

    def settled(self, at: int) -> tuple[Position, dict[int, list[OffsetRun]]]:
        """Return the position after what was replicated, and the map's runs by destination partition.

        All reports are in. Raises Unmapped where they do not show where each record landed.
        """
        place = self.lane.place.partition
        runs: dict[int, list[OffsetRun]] = {}
        waits = Waits()
        for landed in self.landed:
            landed.settle(place, at, runs, waits)
        mapped = sum(run.length for found in runs.values() for run in found)
        if mapped != self.delivered:
            raise Again(f"{self.lane.source}: {mapped} of {self.delivered} records were acknowledged")
        carried = Replicated(
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
        )
        return advance(self.position, carried, at), runs

    def holes(self, runs: Mapping[int, Sequence[OffsetRun]]) -> list[Hole]:
        """Return offsets of the open transaction for which no record came; `runs` are those of `settled`."""
        taken = [(run.source, run.length) for found in runs.values() for run in found]
        taken += [(report.source, 1) for report in self.quarantined]
        return holes_between(self.position.offset, self.next, [*taken, *self.taken_out])

    def committed(self, position: Position) -> None:
        self.position = position
        self.delivered = self.filtered = self.bytes = self.filtered_bytes = 0
        self.landed = []
        self.quarantined = []
        self.taken_out = []


PartitionStates = Mapping[Spot, PartitionState]
"""Open partitions, by source topic and partition."""
