"""Both sides as `verify` must see them if not every record is replicated, or not unchanged.

Records that the ledger declares as skipped, and records in quarantine, are set apart first. The source's
records pass what they pass in the mirror: provenance, then the filters, which decide as they did for the
mirror. From a record on which a filter raises, with `on_error = "stop"`, nothing is replicated. So from there
on no filter is applied: the records are `behind`. On the destination, a mirror with provenance wrote only
marked records; the others are the destination's own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterRecord
from causeway.core.verify_report import Coordinates, Pair, Passage
from causeway.kafka.digest_reader import PartitionReader, differing_fields
from causeway.kafka.records import record_of
from causeway.planning.filters import MadeFilter, make
from causeway.rules.header_names import Headers
from causeway.rules.provenance import HEADER, comes_from, marked
from causeway.verification.source_holes import SourceHoles

ATTEMPTS = 3
"""Retention may delete records while they are read; then the read is retried from the new log start."""


class LeftOut:
    """Records that are not compared, each counted once however often a partition is read."""

    def __init__(self, below: int, keyed: bool) -> None:
        self.count = 0
        self.keys: list[bytes] = []  # of compacted topics
        self._below = below
        self._keyed = keyed
        self._seen = -1

    def take(self, message: Any) -> None:
        offset = message.offset()
        if offset <= self._seen:
            return
        self._seen = offset
        if offset < self._below:
            self.count += 1
        if self._keyed and message.key() is not None:
            self.keys.append(blake2b(message.key(), digest_size=16).digest())


class ExpectedRecords(PartitionReader):
    """A source partition's records, as they should arrive."""

    def __init__(self, cluster: Cluster, pair: Pair, passage: Passage) -> None:
        source = pair.source
        super().__init__(cluster, source.topic, source.partition, pair.source_to, timestamps=pair.timestamps)
        self._passage = passage
        self._origin = source.cluster.encode()
        self.left_out, self.skipped, self.quarantined = (
            LeftOut(pair.settled, pair.compacted) for _ in range(3)
        )
        self._apart = sorted(
            (*one, goes)
            for ranges, goes in ((pair.skipped, False), (pair.quarantined, True))
            for one in ranges
        )
        self.stop: tuple[int, str] | None = None  # where a filter raised, and its error
        self.holes = None if pair.source_compacted else SourceHoles(cluster, pair)

    @property
    def unseen(self) -> list[bytes]:
        """Keys of all records that are not compared, for compacted topics."""
        return [*self.left_out.keys, *self.skipped.keys, *self.quarantined.keys]

    def _messages(self, start: int) -> Iterator[list[Any]]:
        batches = super()._messages(start)
        if self.holes is not None:
            batches = self.holes.watched(batches, start)
        if self._apart:
            batches = self._without_what_is_apart(batches)
        if self._passage.open:
            yield from batches
            return
        filters = [make(spec) for spec in self._passage.filters]
        for messages in batches:
            if kept := self._sifted(messages, filters):
                yield kept

    def log_start(self) -> int:
        start = super().log_start()
        if self.holes is not None:
            self.holes.begin_at(start)
        return start

    @property
    def lost(self) -> int:
        """Offsets that the source lost."""
        return self.holes.lost if self.holes is not None else 0

    def _passed_over(self, offset: int) -> int:
        return next((end for begin, end, goes in self._apart if begin <= offset < end and not goes), -1)

    def _without_what_is_apart(self, batches: Iterable[list[Any]]) -> Iterator[list[Any]]:
        begins = [begin for begin, _, _ in self._apart]
        for messages in batches:
            first, last = messages[0].offset(), messages[-1].offset()
            at = max(0, bisect_right(begins, first) - 1)
            if all(end <= first or begin > last for begin, end, _ in self._apart[at : at + 2]):
                yield messages
                continue
            kept = []
            for message in messages:
                begin, end, quarantined = self._apart[max(0, bisect_right(begins, message.offset()) - 1)]
                if begin <= message.offset() < end:
                    (self.quarantined if quarantined else self.skipped).take(message)
                else:
                    kept.append(message)
            if kept:
                yield kept

    def _sifted(self, messages: Sequence[Any], filters: Sequence[MadeFilter]) -> list[Any]:
        back = self._passage.not_back_to
        dropped: set[int] = set()
        if back is not None:
            origin = back.encode()
            dropped = {
                one.offset() for one in messages if not one.unreadable and comes_from(one.headers(), origin)
            }
        returned = frozenset(dropped)
        if filters:
            kept = [
                record_of(one)
                for one in messages
                if one.offset() not in dropped and not self._behind(one) and not one.unreadable
            ]
            for one in filters:
                kept = self._asked(one, kept, dropped)
        result = []
        for message in messages:
            offset = message.offset()
            if offset in returned or (offset in dropped and not self._behind(message)):
                self.left_out.take(message)
            else:
                result.append(message if back is None else _Marked(message, self._origin))
        return result

    def _behind(self, message: Any) -> bool:
        """Whether the partition stops at or before the message."""
        return self.stop is not None and message.offset() >= self.stop[0]

    def _asked(self, one: MadeFilter, records: list[FilterRecord], dropped: set[int]) -> list[FilterRecord]:
        kept = []
        for record, verdict in zip(records, one.judge(records), strict=True):
            if isinstance(verdict, str):
                if one.on_error == "stop" and (self.stop is None or record.offset < self.stop[0]):
                    self.stop = record.offset, f"the filter {one.name} raised there: {verdict}"
                verdict = one.on_error != "drop"
            if verdict:
                kept.append(record)
            else:
                dropped.add(record.offset)
        return kept

    def notes(self, pair: Pair) -> list[str]:
        """Notes for the report, once everything was read; the pair has the ledger's counts."""
        holes = self.holes.notes() if self.holes is not None else []
        return [*holes, *self._notes_on_filters(pair)]

    def _notes_on_filters(self, pair: Pair) -> list[str]:
        if self.stop is not None:
            return ["from offset {} on nothing is carried: {}".format(*self.stop)]
        found, counted = self.left_out.count, pair.declared.get("filtered", 0)
        # Some records that were filtered may be gone, or were filtered twice.
        partly = pair.source_trimmed or pair.compacted or pair.repeats
        if pair.place is None or found == counted or (partly and found < counted):
            return []
        return [
            f"{found:,} records of what was carried would be left out now, the ledger counted {counted:,}:"
            " the filters are not what they were"
        ]


class Arrived(PartitionReader):
    """A destination partition's records, without the destination's own."""

    def __init__(
        self,
        cluster: Cluster,
        place: tuple[str, int],
        end: int,
        passage: Passage,
        *,
        timestamps: bool,
        compacted: bool,
    ) -> None:
        super().__init__(cluster, *place, end, timestamps=timestamps)
        self._marked_alone = passage.not_back_to is not None
        self.left_out = LeftOut(end, compacted)

    def notes(self) -> list[str]:
        count = self.left_out.count
        if not count:
            return []
        return [f"{count:,} records without a mark of origin are the destination's own, and not compared"]

    def _messages(self, start: int) -> Iterator[list[Any]]:
        for messages in super()._messages(start):
            if not self._marked_alone:
                yield messages
            elif kept := [message for message in messages if self._is_marked(message)]:
                yield kept

    def _is_marked(self, message: Any) -> bool:
        if message.unreadable or any(name == HEADER for name, _ in message.headers() or ()):
            return True
        self.left_out.take(message)
        return False


class _Marked:
    """A message with the mark of origin that the mirror added."""

    __slots__ = ("_headers", "key", "offset", "timestamp", "unreadable", "value")

    def __init__(self, message: Any, origin: bytes) -> None:
        self.offset, self.timestamp = message.offset, message.timestamp
        self.key, self.value = message.key, message.value
        self.unreadable = message.unreadable
        self._headers = () if self.unreadable else marked(message.headers(), origin)

    def headers(self) -> Headers:
        return self._headers


def with_fields(
    one: Coordinates, here: PartitionReader, there: PartitionReader, timestamps: bool
) -> Coordinates:
    """A changed record, with the fields that differ; both sides are read again."""
    assert one.source is not None
    assert one.destination is not None
    before, after = here.record_at(one.source), there.record_at(one.destination)
    return replace(one, fields=differing_fields(before, after, timestamps=timestamps))
