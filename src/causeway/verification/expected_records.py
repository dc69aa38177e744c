"""The source as `verify` must see it if not every record is replicated, or not unchanged.

Records that the ledger declares as skipped, and records in quarantine, are left out first. Then provenance
and the filters are applied to the source's records, as in the mirror. From a record on which a filter raises,
with `on_error = "stop"`, nothing is replicated. So from there on no filter is applied: the records are
`lagging`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterRecord
from causeway.core.pair import Filtering, Pair
from causeway.core.plural import counted
from causeway.core.schema import SchemaUse
from causeway.core.verify_report import Coordinates
from causeway.kafka.digest_reader import PartitionReader, differing_fields
from causeway.kafka.records import record_of
from causeway.planning.filters import MadeFilter, make
from causeway.rules.header_names import Headers
from causeway.rules.provenance import comes_from, marked
from causeway.rules.schema_ids import Parts, named_schemas, rewritten
from causeway.verification.record_times import without_times
from causeway.verification.source_holes import SourceHoles

ATTEMPTS = 3
"""Retention may delete records while they are read; then the read is retried from the new log start."""


class OmittedRecords:
    """Records that are not compared, each counted once however often a partition is read."""

    def __init__(self, before: int, keyed: bool) -> None:
        self.count = 0
        self.keys: list[bytes] = []  # of compacted topics
        self._before = before
        self._keyed = keyed
        self._last_offset = -1

    def add(self, message: Any) -> None:
        offset = message.offset()
        if offset <= self._last_offset:
            return
        self._last_offset = offset
        if offset < self._before:
            self.count += 1
        if self._keyed and message.key() is not None:
            self.keys.append(blake2b(message.key(), digest_size=16).digest())


class ExpectedRecords(PartitionReader):
    """A source partition's records, as they should arrive."""

    def __init__(self, cluster: Cluster, pair: Pair, filtering: Filtering) -> None:
        source = pair.source
        super().__init__(cluster, source.topic, source.partition, pair.source_to, timestamps=pair.timestamps)
        self._filtering = filtering
        self._origin = source.cluster.encode()
        self._topic_of_source = source.cluster, source.topic
        self.filtered, self.skipped, self.quarantined = (
            OmittedRecords(pair.position, pair.compacted) for _ in range(3)
        )
        self._omitted_ranges = sorted(
            (begin, end, quarantined)
            for ranges, quarantined in ((pair.skipped, False), (pair.quarantined, True))
            for begin, end in ranges
        )
        self.stopped_at: tuple[int, str] | None = None  # where a filter raised, and its error
        self.holes = None if pair.source_compacted else SourceHoles(cluster, pair)

    @property
    def omitted_keys(self) -> list[bytes]:
        """Keys of all records that are not compared, for compacted topics."""
        return [*self.filtered.keys, *self.skipped.keys, *self.quarantined.keys]

    def _messages(self, start: int) -> Iterator[list[Any]]:
        replicated = self._replicated(start)
        return without_times(replicated) if self._filtering.times else replicated

    def _replicated(self, start: int) -> Iterator[list[Any]]:
        """The records that the mirror replicates, as it does."""
        batches = super()._messages(start)
        if self.holes is not None:
            batches = self.holes.watched(batches, start)
        if self._omitted_ranges:
            batches = self._without_omitted_ranges(batches)
        if not self._filtering.keeps_all:
            batches = self._filtered(batches)
        if self._filtering.schemas:
            batches = ([self._with_ids(message) for message in messages] for messages in batches)
        yield from batches

    def _filtered(self, batches: Iterable[list[Any]]) -> Iterator[list[Any]]:
        with ExitStack() as ending:
            filters = []
            for spec in self._filtering.filters:
                filters.append(make(spec))
                ending.callback(filters[-1].close)
            for messages in batches:
                if kept := self._expected(messages, filters):
                    yield kept

    def _with_ids(self, message: Any) -> Any:
        """The message with the destination's ids of schemas."""
        if message.unreadable:
            return message
        parts = original = Parts(message.key(), message.value(), message.headers())
        for schema in named_schemas(original):
            to = self._filtering.schemas.get(SchemaUse(*self._topic_of_source, schema.part, schema.id))
            if to is not None:
                parts = rewritten(parts, schema, to)
        return message if parts is original else _Rewritten(message, parts)

    def log_start(self) -> int:
        start = super().log_start()
        if self.holes is not None:
            self.holes.begin_at(start)
        return start

    @property
    def lost(self) -> int:
        """Offsets that the source lost."""
        return self.holes.lost if self.holes is not None else 0

    def _skipped_to(self, offset: int) -> int:
        return next(
            (
                end
                for begin, end, quarantined in self._omitted_ranges
                if begin <= offset < end and not quarantined
            ),
            -1,
        )

    def _without_omitted_ranges(self, batches: Iterable[list[Any]]) -> Iterator[list[Any]]:
        begins = [begin for begin, _, _ in self._omitted_ranges]
        for messages in batches:
            first, last = messages[0].offset(), messages[-1].offset()
            at = max(0, bisect_right(begins, first) - 1)
            if all(end <= first or begin > last for begin, end, _ in self._omitted_ranges[at : at + 2]):
                yield messages
                continue
            kept = []
            for message in messages:
                at = max(0, bisect_right(begins, message.offset()) - 1)
                begin, end, quarantined = self._omitted_ranges[at]
                if begin <= message.offset() < end:
                    (self.quarantined if quarantined else self.skipped).add(message)
                else:
                    kept.append(message)
            if kept:
                yield kept

    def _expected(self, messages: Sequence[Any], filters: Sequence[MadeFilter]) -> list[Any]:
        """The messages that the mirror replicates, with its mark of origin; the others are counted."""
        destination_id = self._filtering.not_back_to
        dropped: set[int] = set()
        if destination_id is not None:
            origin = destination_id.encode()
            dropped = {
                message.offset()
                for message in messages
                if not message.unreadable and comes_from(message.headers(), origin)
            }
        returned = frozenset(dropped)
        if filters:
            kept = [
                record_of(message)
                for message in messages
                if message.offset() not in dropped
                and not self._is_stopped(message)
                and not message.unreadable
            ]
            for record_filter in filters:
                kept = self._apply(record_filter, kept, dropped)
        result = []
        for message in messages:
            offset = message.offset()
            if offset in returned or (offset in dropped and not self._is_stopped(message)):
                self.filtered.add(message)
            else:
                result.append(message if destination_id is None else _Marked(message, self._origin))
        return result

    def _is_stopped(self, message: Any) -> bool:
        """Whether the partition stops at or before the message."""
        return self.stopped_at is not None and message.offset() >= self.stopped_at[0]

    def _apply(
        self, record_filter: MadeFilter, records: list[FilterRecord], dropped: set[int]
    ) -> list[FilterRecord]:
        """The records that the filter keeps; the offsets of the others are added to `dropped`."""
        kept = []
        for record, verdict in zip(records, record_filter.judge(records), strict=True):
            if isinstance(verdict, str):
                earlier = self.stopped_at is None or record.offset < self.stopped_at[0]
                if record_filter.on_error == "stop" and earlier:
                    self.stopped_at = record.offset, f"filter {record_filter.name} raised: {verdict}"
                verdict = record_filter.on_error != "drop"
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
        if self.stopped_at is not None:
            return ["not replicated from offset {} on: {}".format(*self.stopped_at)]
        dropped, in_ledger = self.filtered.count, pair.ledger_counts.get("filtered", 0)
        # Some records that were filtered may be gone, or were filtered twice.
        incomplete = pair.source_trimmed or pair.compacted or pair.repeats
        if pair.place is None or dropped == in_ledger or (incomplete and dropped < in_ledger):
            return []
        return [
            f"the filters drop {counted(dropped, 'replicated record')} now, but the ledger counts"
            f" {in_ledger:,}: the filters have changed"
        ]


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


class _Rewritten:
    """A message with ids that the mirror replaced."""

    __slots__ = ("_parts", "offset", "timestamp", "unreadable")

    def __init__(self, message: Any, parts: Parts) -> None:
        self.offset, self.timestamp, self.unreadable = message.offset, message.timestamp, ""
        self._parts = parts

    def key(self) -> bytes | None:
        return self._parts.key

    def value(self) -> bytes | None:
        return self._parts.value

    def headers(self) -> Headers | None:
        return self._parts.headers


def with_fields(
    record: Coordinates, source: PartitionReader, destination: PartitionReader, timestamps: bool
) -> Coordinates:
    """A changed record, with the fields that differ; both sides are read again."""
    assert record.source is not None
    assert record.destination is not None
    original, copy = source.record_at(record.source), destination.record_at(record.destination)
    return replace(record, fields=differing_fields(original, copy, timestamps=timestamps))
