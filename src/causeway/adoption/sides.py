"""Reads what `adopt` compares: the last records of the destination, and the source around the hints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from causeway.adoption.resume_hints import AdoptOptions, Hint
from causeway.adoption.rules.handoff import window_around
from causeway.adoption.rules.hashing import partition_of
from causeway.config import MirrorSettings
from causeway.core.filtering import FilterRecord
from causeway.core.handoff import SourceRecord, Window
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.log_ends import offsets_of
from causeway.kafka.range_reader import (
    Ending,
    OffsetRange,
    ReadProgress,
    fingerprint,
    last_records,
    no_progress,
    read_spans,
    visit_spans,
)
from causeway.planning.clusters import filters_of
from causeway.planning.filters import make


class AdoptionSides:
    """Both sides of a mirror's lanes."""

    def __init__(
        self,
        options: AdoptOptions,
        mirror: MirrorSettings,
        sources: Mapping[str, ClusterView],
        destination: ClusterView,
        partitions: Mapping[str, int],  # of the destination's topics
        progress: ReadProgress = no_progress,
    ) -> None:
        self._progress = progress
        self._options = options
        self._mirror = mirror
        self._sources = sources
        self._destination = destination
        self._partitions = partitions
        self._filters = [make(spec) for spec in filters_of(mirror)]

    def spots(self, topic: str) -> list[Spot]:
        """All partitions of a destination topic: an old tool may have written to any."""
        return [(topic, n) for n in range(self._partitions[topic])]

    def endings(self, topics: Iterable[str]) -> dict[Spot, Ending[bytes]]:
        """The destination's last records."""
        spots = sorted({spot for topic in topics for spot in self.spots(topic)})
        return last_records(self._destination, spots, self._options.window, self._digest, self._progress)

    def windows(
        self,
        lanes: Sequence[Lane],
        hints: Mapping[SourcePartition, Hint],
        places: Callable[[Lane], int],
        *,
        by_key: bool,
    ) -> dict[SourcePartition, Window]:
        """The source around the hints; `places`: in how many partitions a lane's records may be.

        `by_key`: records have the partition that their key chooses, for lanes where keys choose.
        """
        windows = {}
        for view in self._sources.values():
            lanes_by_source = {
                lane.source: lane for lane in lanes if lane.source.cluster == view.cluster_id()
            }
            starts, ends = (
                offsets_of(view, lanes_by_source, "earliest"),
                offsets_of(view, lanes_by_source, "latest"),
            )
            spans = {
                (source.topic, source.partition): window_around(
                    hints[source].offset, self._options.window, places(lane), starts[source], ends[source]
                )
                for source, lane in lanes_by_source.items()
            }
            keyed = {
                source.topic: self._partitions[lane.place.topic]
                for source, lane in lanes_by_source.items()
                if by_key and lane.place.partition == BY_KEY
            }
            # Most tools read uncommitted records too, so all records are read.
            records = read_spans(
                view.cluster,
                spans,
                partial(self._source_record, keyed),
                committed=False,
                progress=self._progress,
            )
            self._mark_uncommitted(view, spans, records)
            for source in lanes_by_source:
                spot = source.topic, source.partition
                windows[source] = Window(records[spot], *spans[spot], starts[source], ends[source])
        return windows

    def found_before(self, wanted: Mapping[Spot, tuple[int, Collection[bytes]]]) -> dict[Spot, set[bytes]]:
        """Which of these contents the destination's partitions hold before these offsets."""
        starts = self._destination.all_offsets(wanted, "earliest")
        spans = {spot: (starts[spot], upto) for spot, (upto, _) in wanted.items()}
        found: dict[Spot, set[bytes]] = {spot: set() for spot in wanted}

        def compare(spot: Spot, record: FilterRecord) -> None:
            digest = self._digest(record)
            if digest in wanted[spot][1]:
                found[spot].add(digest)

        visit_spans(self._destination.cluster, spans, compare, progress=self._progress)
        return found

    def last_found(
        self, wanted: Mapping[SourcePartition, tuple[Window, Collection[bytes]]]
    ) -> dict[SourcePartition, int]:
        """For each source partition, the last offset outside the window whose contents are wanted."""
        found: dict[SourcePartition, int] = {}
        for view in self._sources.values():
            by_spot = {
                (source.topic, source.partition): (source, window, digests)
                for source, (window, digests) in wanted.items()
                if source.cluster == view.cluster_id()
            }

            def compare(spot: Spot, record: FilterRecord, by_spot: Mapping[Spot, Any] = by_spot) -> None:
                source, _, digests = by_spot[spot]
                if self._digest(record) in digests:
                    found[source] = record.offset

            later = {spot: (window.end, window.log_end) for spot, (_, window, _) in by_spot.items()}
            visit_spans(view.cluster, later, compare, committed=False, progress=self._progress)
            earlier = {
                spot: (window.log_start, window.start)
                for spot, (source, window, _) in by_spot.items()
                if source not in found
            }
            visit_spans(view.cluster, earlier, compare, committed=False, progress=self._progress)
        return found

    def compacted(self, lanes: Iterable[Lane]) -> set[tuple[str, str]]:
        """Compacted topics, by cluster id and name."""
        topics = {(lane.source.cluster, lane.source.topic) for lane in lanes}
        topics |= {(self._destination.cluster_id(), lane.place.topic) for lane in lanes}
        return {
            (view.cluster_id(), name)
            for view in (*self._sources.values(), self._destination)
            for name, config in view.configs(
                name for cluster, name in topics if cluster == view.cluster_id()
            ).items()
            if "compact" in config.get("cleanup.policy", "")
        }

    def _mark_uncommitted(
        self, view: ClusterView, spans: Mapping[Spot, OffsetRange], records: dict[Spot, list[SourceRecord]]
    ) -> None:
        """Mark records of aborted or open transactions as optional: the old tool may have skipped them."""
        gaps = [spot for spot, (begin, end) in spans.items() if len(records[spot]) < end - begin]
        stable = view.all_offsets(spans, "stable")
        unstable = [spot for spot, (_, end) in spans.items() if stable[spot] < end]
        to_check = {spot: (spans[spot][0], min(spans[spot][1], stable[spot])) for spot in {*gaps, *unstable}}
        for spot, offsets in read_spans(view.cluster, to_check, lambda record: record.offset).items():
            committed = set(offsets)
            records[spot] = [
                record if record.offset in committed else replace(record, optional=True)
                for record in records[spot]
            ]

    def _digest(self, record: FilterRecord) -> bytes:
        return fingerprint(None if self._options.values_only else record.key, record.value)

    def _source_record(self, by_key: Mapping[str, int], record: FilterRecord) -> SourceRecord:
        """`by_key`: for topics whose keys choose a partition, the number of partitions."""
        filtered = any(made.judge([record])[0] is not True for made in self._filters)
        place = None
        if record.topic in by_key and record.key is not None:
            place = partition_of(record.key, by_key[record.topic], self._mirror.partitioner)
        return SourceRecord(record.offset, self._digest(record), filtered, place)
