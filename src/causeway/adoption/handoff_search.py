"""Finds the handoffs: compares each source partition with all partitions of its destination topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from causeway.adoption.cross_check import check_handoffs, search_before_tails
from causeway.adoption.destination_topic import DestinationTopic, SearchResult
from causeway.adoption.handoff_advice import advise
from causeway.adoption.resume_hints import AdoptOptions, Hint
from causeway.adoption.rules import placement
from causeway.adoption.rules.advice import SEARCHED
from causeway.adoption.rules.handoff import find_handoff
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import Tail
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.range_reader import Ending

Endings = Mapping[Spot, Ending[bytes]]


class HandoffSearch:
    """Finds a handoff for each lane, then checks all of them against each other."""

    def __init__(self, options: AdoptOptions, sides: AdoptionSides, destination: ClusterView) -> None:
        self._options = options
        self._sides = sides
        self._destination = destination

    def run(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> dict[SourcePartition, SearchResult]:
        topics = self._topics(lanes, hints, endings)
        results: dict[SourcePartition, SearchResult] = {}
        for topic in topics:
            results |= self._find_handoffs(topic, hints)
        size = self._options.window
        searched = search_before_tails(self._sides, SEARCHED * size, topics, hints, results)
        for topic in topics:
            check_handoffs(topic, hints, results, searched.get(topic.name))
        advise(self._sides, size, topics, hints, results)
        return results

    def _topics(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> list[DestinationTopic]:
        """What was read, with windows as wide as the old tool's placement requires."""
        partitions = {name: len(self._sides.spots(name)) for name in {lane.place.topic for lane in lanes}}
        windows = self._sides.windows(
            lanes,
            hints,
            lambda lane: partitions[lane.place.topic] if lane.place.partition == BY_KEY else 1,
            by_key=True,
        )
        compacted, destination_id = self._sides.compacted(lanes), self._destination.cluster_id()
        by_name: dict[str, list[Lane]] = {}
        for lane in lanes:
            by_name.setdefault(lane.place.topic, []).append(lane)
        topics = []
        for name, topic_lanes in by_name.items():
            tails = [
                Tail(ending.seen, ending.begin, ending.end, ending.log_start)
                for ending in (endings[spot] for spot in self._sides.spots(name))
            ]
            places = [
                None if lane.place.partition == BY_KEY else lane.place.partition for lane in topic_lanes
            ]
            topic = DestinationTopic(
                name,
                topic_lanes,
                tails,
                windows,
                lambda lane: not compacted.isdisjoint((lane.source[:2], (destination_id, lane.place.topic))),
                placement.is_scattered([windows[lane.source] for lane in topic_lanes], places, tails),
            )
            topics.append(topic)
        # Each partition holds records of many: what the tails hold reaches further back on the source.
        scattered = [lane for topic in topics if topic.scattered for lane in topic.lanes]
        if scattered:
            windows |= self._sides.windows(
                scattered, hints, lambda lane: partitions[lane.place.topic], by_key=False
            )
        return topics

    def _find_handoffs(
        self, topic: DestinationTopic, hints: Mapping[SourcePartition, Hint]
    ) -> dict[SourcePartition, SearchResult]:
        results = {}
        for group in _sharing(topic):
            windows = [topic.windows[lane.source] for lane in group]
            window_counts = Counter(
                digest for window in windows for digest in {record.digest for record in window.records}
            )
            complete = all(window.start == 0 for window in windows)
            for lane, window in zip(group, windows, strict=True):
                hint = hints[lane.source]
                offset = hint.offset
                if topic.scattered and self._options.origin == "destination-end":
                    offset = min(offset, window.log_end)  # that end counts records of many partitions
                handoff = find_handoff(
                    window,
                    topic.places(lane),
                    offset,
                    hinted=hint.known,
                    exclusive=not lane.shared and not topic.scattered,
                    compacted=topic.is_compacted(lane),
                    complete=complete,
                    window_counts=window_counts,
                )
                results[lane.source] = SearchResult(window, topic.places(lane), handoff)
        return results


def _sharing(topic: DestinationTopic) -> list[list[Lane]]:
    """Groups of lanes: those whose records may share a partition together, others alone."""
    groups: dict[object, list[Lane]] = {}
    for lane in topic.lanes:
        groups.setdefault("" if lane.shared or topic.scattered else lane.source, []).append(lane)
    return list(groups.values())
