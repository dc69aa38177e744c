"""One source partition while a shard serves it: its position, and its part in the open transaction."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError

from causeway.model.order import Lane
from causeway.model.position import NO_LATENCY, Position
from causeway.model.route import BY_KEY
from causeway.policy.integrity import Finding
from causeway.policy.positions import Carried, advance, latency_bucket
from causeway.policy.runs import Run, contiguous, join

NEVER = sys.maxsize


class Stretch:
    """Records of one lane, side by side on the source; the first and the last report where they landed."""

    __slots__ = ("error", "first", "first_at", "last", "last_at", "length", "partition", "source")

    def __init__(self, source: int) -> None:
        self.source = source
        self.length = 0
        self.partition = -1  # where it landed, as far as a single record told
        self.first = -1
        self.last = -1
        self.first_at = 0
        self.last_at = 0
        self.error: KafkaError | None = None

    def report_first(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.first = message.offset()

    def report_last(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.last = message.offset()

    def report_only(self, error: KafkaError | None, message: Any) -> None:
        self.error = error or self.error
        self.first = self.last = message.offset()
        self.partition = message.partition()


class Unmapped(Exception):
    """Somebody else wrote between our records: report each one to know where it landed."""


class OpenLane:
    """A lane that is being served. `next` runs ahead of `position` until a transaction commits."""

    __slots__ = (
        "barrier", "barrier_finding", "bytes", "careful", "delivered", "epoch", "filtered", "finding",
        "lane", "next", "position", "stretches",
    )  # fmt: skip

    def __init__(
        self,
        lane: Lane,
        position: Position,
        careful: bool = False,
        barrier: tuple[int, Finding] | None = None,
    ) -> None:
        self.lane = lane
        self.position = position
        self.next = position.offset
        self.epoch = position.epoch
        self.delivered = 0
        self.filtered = 0
        self.bytes = 0
        self.stretches: list[Stretch] = []
        self.careful = careful  # every record reports, not only the ends of a stretch
        # The first offset that must not be carried, and why: a record that the destination refused.
        self.barrier: int = barrier[0] if barrier else NEVER
        self.barrier_finding: Finding | None = barrier[1] if barrier else None
        self.finding: Finding | None = None

    @property
    def done(self) -> bool:
        """Whether an order with an end is fulfilled for this lane."""
        return self.finding is not None or (self.lane.until is not None and self.next >= self.lane.until)

    def passed(self, offset: int) -> None:
        """The fetch position reached here: transaction markers and aborted records lie behind us."""
        self.next = max(self.next, min(offset, self.barrier))

    def took(self, stretch: Stretch, offset: int, epoch: int | None, size: int) -> None:
        """A stretch was produced; the next offset to carry lies behind it."""
        self.stretches.append(stretch)
        self.next = offset
        self.epoch = -1 if epoch is None else epoch
        self.delivered += stretch.length
        self.bytes += size

    def sifted(self, offsets: Sequence[int]) -> None:
        """Records that were taken out between intake and delivery, in order."""
        self.filtered += len(offsets)
        if offsets and self.finding is None:
            self.passed(offsets[-1] + 1)

    def stop(self, offset: int, finding: Finding) -> None:
        """Everything before this record is done, and nothing from it on may be carried."""
        if self.finding is None:
            self.next = max(self.next, offset)
            self.finding = finding

    def stop_before(self, offset: int, stamp: int) -> None:
        """This record must not be carried, so nothing behind it may be."""
        self.next = max(self.next, offset)
        if stamp <= 0:
            self.finding = Finding(
                "poison",
                f"the record at {self.lane.source} offset {offset} has timestamp {stamp},"
                " which the client would replace with the current time",
                "records without a timestamp cannot be carried unchanged",
            )
        elif self.finding is None:
            self.finding = self.barrier_finding

    def refused(self) -> tuple[int, KafkaError] | None:
        """The first record that the destination did not take, as far as the reports tell."""
        for stretch in self.stretches:
            if stretch.error is not None:
                return stretch.source, stretch.error
        return None

    def settled(self, at: int) -> tuple[Position, dict[int, list[Run]]]:
        """The position behind what was carried, and the map's runs by the partition they landed in.

        All reports are in. Raises Unmapped where they do not say where each record landed.
        """
        place = self.lane.place.partition
        runs: dict[int, list[Run]] = {}
        latency = list(NO_LATENCY)
        for stretch in self.stretches:
            if not contiguous(stretch.first, stretch.last, stretch.length):
                raise Unmapped
            landed = stretch.partition if place == BY_KEY else place
            runs.setdefault(landed, []).append(Run(stretch.source, stretch.first, stretch.length))
            # Two records stand for the stretch: a report for each would cost more than carrying it.
            half = stretch.length // 2
            latency[latency_bucket(at - stretch.first_at)] += half
            latency[latency_bucket(at - stretch.last_at)] += stretch.length - half
        carried = Carried(
            offset=self.next,
            epoch=self.epoch,
            delivered=self.delivered,
            filtered=self.filtered,
            bytes=self.bytes,
            place_end=runs[place][-1].destination + runs[place][-1].length if place in runs else -1,
            latency=latency,
        )
        return advance(self.position, carried, at), {number: join(found) for number, found in runs.items()}

    def committed(self, position: Position) -> None:
        self.position = position
        self.delivered = self.filtered = self.bytes = 0
        self.stretches = []
