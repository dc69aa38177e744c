"""Reading both sides around the hints, and finding the seams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from causeway.config import MirrorSettings
from causeway.kafka.admin import ClusterView
from causeway.kafka.tails import Ending, Progress, Spot, fingerprint, last_records, read_spans, unwatched
from causeway.mirror.clusters import filters_of
from causeway.mirror.ends import offsets_of
from causeway.mirror.hints import Asked, Hint
from causeway.model.filtering import Record
from causeway.model.order import Lane
from causeway.model.position import SourcePartition
from causeway.model.route import BY_KEY
from causeway.model.seam import Seam, Seen, Tail, Window
from causeway.pipeline.filters import make
from causeway.policy.hashing import partition_of
from causeway.policy.seam import find_seam, neighbourhood

Endings = Mapping[Spot, Ending[bytes]]


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of one source partition, and the seam in it."""

    window: Window
    tails: Sequence[Tail]
    seam: Seam


class Comparison:
    """Both sides of a mirror's lanes; each lane's places are partitions of one destination topic."""

    def __init__(
        self,
        asked: Asked,
        mirror: MirrorSettings,
        sources: Mapping[str, ClusterView],
        destination: ClusterView,
        partitions: Mapping[str, int],  # of the destination's topics
        progress: Progress = unwatched,
    ) -> None:
        self._progress = progress
        self._asked = asked
        self._mirror = mirror
        self._sources = sources
        self._destination = destination
        self._partitions = partitions
        self._filters = [make(spec) for spec in filters_of(mirror)]

    def spots(self, lane: Lane) -> list[Spot]:
        """The partitions where a lane's records may be."""
        topic, number = lane.place.topic, lane.place.partition
        return [(topic, n) for n in range(self._partitions[topic])] if number == BY_KEY else [(topic, number)]

    def endings(self, lanes: Sequence[Lane]) -> dict[Spot, Ending[bytes]]:
        """The destination's last records."""
        spots = sorted({spot for lane in lanes for spot in self.spots(lane)})
        return last_records(self._destination, spots, self._asked.window, self._print, self._progress)

    def compare(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> dict[SourcePartition, Found]:
        windows = self._windows(lanes, hints)
        compacted, there = self._compacted(lanes), self._destination.cluster_id()
        found = {}
        for group in _sharing(lanes):
            prints = [{seen.print for seen in windows[lane.source].records} for lane in group]
            windows_with = Counter(print for some in prints for print in some)
            complete = all(windows[lane.source].start == 0 for lane in group)
            for lane in group:
                hint, window = hints[lane.source], windows[lane.source]
                some = [endings[spot] for spot in self.spots(lane)]
                tails = [Tail(ending.seen, ending.begin, ending.end) for ending in some]
                seam = find_seam(
                    window,
                    tails,
                    hint.offset,
                    hinted=hint.known,
                    exclusive=not lane.shared,
                    lenient=not compacted.isdisjoint((lane.source[:2], (there, lane.place.topic))),
                    complete=complete,
                    windows_with=windows_with,
                )
                found[lane.source] = Found(window, tails, seam)
            if any(found[lane.source].seam.found for lane in group):
                for lane in group:
                    found[lane.source] = _never_carried(found[lane.source], hints[lane.source])
        return found

    def _windows(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint]
    ) -> dict[SourcePartition, Window]:
        windows = {}
        for view in self._sources.values():
            mine = {lane.source: lane for lane in lanes if lane.source.cluster == view.cluster_id()}
            starts, ends = offsets_of(view, mine, "earliest"), offsets_of(view, mine, "latest")
            spans = {
                (one.topic, one.partition): neighbourhood(
                    hints[one].offset, self._asked.window, len(self.spots(lane)), starts[one], ends[one]
                )
                for one, lane in mine.items()
            }
            by_key = {
                one.topic: len(self.spots(lane))
                for one, lane in mine.items()
                if lane.place.partition == BY_KEY
            }
            # Most tools read what is not committed too, so all of it is looked at.
            read = read_spans(
                view.cluster,
                spans,
                partial(self._seen, by_key),
                committed=False,
                progress=self._progress,
            )
            self._mark_uncommitted(view, spans, read)
            for one in mine:
                (begin, end), seen = spans[one.topic, one.partition], read[one.topic, one.partition]
                windows[one] = Window(seen, begin, end, starts[one], ends[one])
        return windows

    def _mark_uncommitted(
        self, view: ClusterView, spans: Mapping[Spot, tuple[int, int]], read: dict[Spot, list[Seen]]
    ) -> None:
        """Records of transactions that were aborted, or are open: the old tool may have left them out."""
        gaps = [spot for spot, (begin, end) in spans.items() if len(read[spot]) < end - begin]
        stable = view.all_offsets(spans, "stable")
        behind = [spot for spot, (_, end) in spans.items() if stable[spot] < end]
        some = {spot: (spans[spot][0], min(spans[spot][1], stable[spot])) for spot in {*gaps, *behind}}
        for spot, kept in read_spans(view.cluster, some, lambda record: record.offset).items():
            committed = set(kept)
            read[spot] = [
                one if one.offset in committed else Seen(one.offset, one.print, True, one.place)
                for one in read[spot]
            ]

    def _compacted(self, lanes: Iterable[Lane]) -> set[tuple[str, str]]:
        """Topics that lose records by key, by their clusters' ids."""
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

    def _print(self, record: Record) -> bytes:
        return fingerprint(None if self._asked.values_only else record.key, record.value)

    def _seen(self, by_key: Mapping[str, int], record: Record) -> Seen:
        """`by_key`: for topics whose keys choose a partition, among how many."""
        filtered = any(one.judge([record])[0] is not True for one in self._filters)
        place = None
        if record.topic in by_key and record.key is not None:
            place = partition_of(record.key, by_key[record.topic], self._mirror.partitioner)
        return Seen(record.offset, self._print(record), filtered, place)


def _never_carried(found: Found, hint: Hint) -> Found:
    """A partition of which nothing is known, and nothing is there, where all that there is was read."""
    window, whole = found.window, all(tail.begin == 0 for tail in found.tails)
    read = (window.start, window.end) == (window.log_start, window.log_end)
    if hint.known or found.seam.verdict != "unmatched" or not (whole and read):
        return found
    return replace(found, seam=Seam("clean", hint.offset, hint.offset, "nothing was carried yet"))


def _sharing(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Lanes whose records may meet in one partition, together; others alone."""
    groups: dict[object, list[Lane]] = {}
    for lane in lanes:
        groups.setdefault(lane.place.topic if lane.shared else lane.source, []).append(lane)
    return list(groups.values())
