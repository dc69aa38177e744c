"""Reads ranges of many partitions, each from one offset to another: what `adopt` and `check` compare.

Each record is passed to a function and not kept: callers need only a fingerprint or a digest of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Any, Generic, TypeVar

from confluent_kafka import KafkaError, TopicPartition

from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterRecord
from causeway.core.position import KnownRecord
from causeway.core.topic import Spot
from causeway.errors import CausewayError, IntegrityError, Unreachable
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.digest_reader import digest_of
from causeway.kafka.failures import as_user_error, is_about_group, is_denied, is_gone
from causeway.kafka.native.consumer_handle import ObjectConsumer
from causeway.kafka.records import record_of

T = TypeVar("T")
OffsetRange = tuple[int, int]  # begin and end offset
ReadProgress = Callable[[int, int], None]  # offsets read so far, and their total

BATCH = 5_000
AT_ONCE = 50
"""Partitions to read at the same time: what is fetched after their ends is dropped."""

SILENCE_SECONDS = 60.0
GROUP = "causeway.adopt"
"""Consumers must name a group; this one is never joined and never written to."""

_NULL = -1
_HEAD = Struct("<ii").pack  # length of key, length of value


@dataclass(frozen=True, slots=True)
class Ending(Generic[T]):
    """The last records of a partition: offsets from `begin` up to `end`."""

    seen: Sequence[T]
    begin: int
    end: int
    log_start: int = 0


def fingerprint(key: bytes | None, value: bytes | None) -> bytes:
    """Hash of key and value; null differs from empty. No timestamps, no headers: not all tools keep them."""
    lengths = (_NULL if part is None else len(part) for part in (key, value))
    return blake2b(_HEAD(*lengths) + (key or b"") + (value or b""), digest_size=16).digest()


def no_progress(done: int, total: int) -> None:
    """Default for `progress`: ignores it."""


def last_records(
    view: ClusterView,
    spots: Sequence[Spot],
    most: int,
    see: Callable[[FilterRecord], T],
    progress: ReadProgress = no_progress,
) -> dict[Spot, Ending[T]]:
    """Return the last committed records of partitions, up to `most` of each.

    Raises IntegrityError where a transaction is open: its producer has not ended.
    """
    starts, ends = view.all_offsets(spots, "earliest"), view.all_offsets(spots, "latest")
    stable = view.all_offsets(spots, "stable")
    for spot in spots:
        if stable[spot] < ends[spot]:
            raise IntegrityError(
                f"a transaction is open in {_name(spot)}, from offset {stable[spot]}",
                where=f'cluster "{view.cluster.alias}"',
                todo="stop the old tool; the brokers abort its open transaction after its timeout, by "
                "default a minute",
            )
    return _last(
        {spot: (starts[spot], ends[spot]) for spot in spots},
        most,
        lambda spans: read_spans(
            view.cluster, spans, lambda record: (record.offset, see(record)), progress=progress
        ),
    )


def last_digests(
    cluster: Cluster, limits: Mapping[Spot, OffsetRange], most: int, progress: ReadProgress = no_progress
) -> dict[Spot, Ending[KnownRecord]]:
    """Return the last committed records within these limits, up to `most` of each partition."""
    return _last(
        limits,
        most,
        lambda spans: {
            spot: [(record.offset, record) for record in records]
            for spot, records in read_digests(cluster, spans, progress).items()
        },
    )


def _last(
    limits: Mapping[Spot, OffsetRange],
    most: int,
    read: Callable[[Mapping[Spot, OffsetRange]], Mapping[Spot, Sequence[tuple[int, T]]]],
) -> dict[Spot, Ending[T]]:
    """The last of what `read` returns, with its offset. Reads further back until it is `most`."""
    found: dict[Spot, Ending[T]] = {}
    waiting = dict.fromkeys(limits, most)  # how many offsets before the end to begin
    while waiting:
        spans = {
            spot: (max(limits[spot][0], limits[spot][1] - back), limits[spot][1])
            for spot, back in waiting.items()
        }
        for spot, seen in read(spans).items():
            begin, end = spans[spot]
            if len(seen) > most:
                seen = seen[-most:]
                begin = seen[0][0]
            found[spot] = Ending([record for _, record in seen], begin, end, limits[spot][0])
        # Markers and compaction leave fewer records than offsets.
        waiting = {
            spot: 4 * back
            for spot, back in waiting.items()
            if len(found[spot].seen) < most and spans[spot][0] > limits[spot][0]
        }
    return found


def read_spans(
    cluster: Cluster,
    spans: Mapping[Spot, OffsetRange],
    see: Callable[[FilterRecord], T],
    *,
    committed: bool = True,
    progress: ReadProgress = no_progress,
) -> dict[Spot, list[T]]:
    """Return what `see` returns for the records in these spans. The logs must reach their ends."""
    found: dict[Spot, list[T]] = {spot: [] for spot in spans}
    visit_spans(
        cluster,
        spans,
        lambda spot, record: found[spot].append(see(record)),
        committed=committed,
        progress=progress,
    )
    return found


def visit_spans(
    cluster: Cluster,
    spans: Mapping[Spot, OffsetRange],
    take: Callable[[Spot, FilterRecord], None],
    *,
    committed: bool = True,
    progress: ReadProgress = no_progress,
) -> None:
    """Call `take` for each record in these spans; keeps none of them."""
    _visit(cluster, spans, lambda spot, message: take(spot, record_of(message)), committed, progress)


def read_digests(
    cluster: Cluster, spans: Mapping[Spot, OffsetRange], progress: ReadProgress = no_progress
) -> dict[Spot, list[KnownRecord]]:
    """Return offsets and digests of the committed records in these spans. The logs must reach their ends."""
    found: dict[Spot, list[KnownRecord]] = {spot: [] for spot in spans}

    def take(spot: Spot, message: Any) -> None:
        found[spot].append(KnownRecord(message.offset(), digest_of(message)))

    _visit(cluster, spans, take, committed=True, progress=progress)
    return found


def _visit(
    cluster: Cluster,
    spans: Mapping[Spot, OffsetRange],
    take: Callable[[Spot, Any], None],
    committed: bool,
    progress: ReadProgress,
) -> None:
    todo = [spot for spot, (begin, end) in spans.items() if begin < end]
    total, before = sum(end - begin for begin, end in (spans[spot] for spot in todo)), 0
    for first in range(0, len(todo), AT_ONCE):
        some = {spot: spans[spot] for spot in todo[first : first + AT_ONCE]}

        def report(done: int, before: int = before) -> None:
            progress(before + done, total)

        _Reading(cluster, some, committed).read(take, report)
        before += sum(end - begin for begin, end in some.values())


class _Reading:
    def __init__(self, cluster: Cluster, spans: Mapping[Spot, OffsetRange], committed: bool) -> None:
        self._cluster = cluster
        self._spans = spans
        self._open = dict(spans)
        self._next = {spot: begin for spot, (begin, _) in spans.items()}
        self._errors: list[KafkaError] = []
        self._consumer: ObjectConsumer = clients.consumer(
            cluster,
            GROUP,
            make=ObjectConsumer,
            on_error=self._errors.append,
            isolation_level="read_committed" if committed else "read_uncommitted",
            queued_max_messages_kbytes=16 * 1024,
        )

    def read(self, take: Callable[[Spot, Any], None], report: Callable[[int], None]) -> None:
        """Read all spans; calls `report` now and then with the number of offsets read."""
        try:
            self._consumer.assign([TopicPartition(*spot, begin) for spot, (begin, _) in self._open.items()])
            received_at = time.monotonic()
            while self._open:
                messages = self._consumer.consume(BATCH, 0.1)
                if messages:
                    received_at = time.monotonic()
                else:
                    self._check(time.monotonic() - received_at)
                for message in messages:
                    self._handle(message, take)
                if messages:
                    report(sum(at - self._spans[spot][0] for spot, at in self._next.items()))
        finally:
            self._consumer.close()

    def _handle(self, message: Any, take: Callable[[Spot, Any], None]) -> None:
        spot = (message.topic(), message.partition())
        error, offset = message.error(), message.offset()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if (not error.retriable() and not is_about_group(error)) or is_gone(error):
                raise self._broken(error, spot)
            return
        if spot not in self._open:
            return
        _, end = self._open[spot]
        if error is None and offset < end:
            take(spot, message)
            self._next[spot] = offset + 1
        if offset >= (end if error is not None else end - 1):
            del self._open[spot]
            self._next[spot] = end  # markers and uncommitted records count as read too
            self._consumer.incremental_unassign([TopicPartition(*spot)])

    def _check(self, silent: float) -> None:
        spot = next(iter(self._open))
        for error in self._errors:
            if is_denied(error) or is_gone(error):
                raise self._broken(error, spot)
        if silent > SILENCE_SECONDS:
            raise Unreachable(
                f"no records for {SILENCE_SECONDS:.0f} s, before offset {self._open[spot][1]}",
                where=f'{_name(spot)} on cluster "{self._cluster.alias}"',
                why=self._errors[-1].str() if self._errors else "",
            )

    def _broken(self, error: KafkaError, spot: Spot) -> CausewayError:
        where = f'{_name(spot)} on cluster "{self._cluster.alias}"'
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE) or is_gone(error):
            return IntegrityError(
                "records were deleted while they were read",
                where=where,
                why=error.str(),
                todo="run the command again",
            )
        return as_user_error(error, self._cluster, f"reading {where}")


def _name(spot: Spot) -> str:
    return f"{spot[0]}[{spot[1]}]"
