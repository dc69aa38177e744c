"""Finds the handoffs: compares each source partition with all partitions of its destination topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from causeway.adoption.cross_check import DestinationTopic, FoundHandoff, advise, explain, search
from causeway.adoption.resume_hints import Hint, HintRequest
from causeway.adoption.rules import placement
from causeway.adoption.rules.advice import SEARCHED
from causeway.adoption.rules.handoff import find_seam
from causeway.adoption.sides import AdoptionSides
from causeway.core.handoff import Tail
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane
from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.range_reader import Ending

Endings = Mapping[Spot, Ending[bytes]]


class Comparison:
    def __init__(self, asked: HintRequest, sides: AdoptionSides, destination: ClusterView) -> None:
        self._asked = asked
        self._sides = sides
        self._destination = destination

    def compare(
        self, lanes: Sequence[Lane], hints: Mapping[SourcePartition, Hint], endings: Endings
    ) -> dict[SourcePartition, FoundHandoff]:
        topics = self._topics(lanes, hints, endings)
        found: dict[SourcePartition, FoundHandoff] = {}
        for topic in topics:
            found |= self._seams(topic, hints)
        size = self._asked.window
        searched = search(self._sides, SEARCHED * size, topics, hints, found)
        for topic in topics:
            explain(topic, hints, found, searched.get(topic.name))
        advise(self._sides, size, topics, hints, found)
        return found

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
        compacted, there = self._sides.compacted(lanes), self._destination.cluster_id()
        by_name: dict[str, list[Lane]] = {}
        for lane in lanes:
            by_name.setdefault(lane.place.topic, []).append(lane)
        topics = []
        for name, mine in by_name.items():
            tails = [
                Tail(one.seen, one.begin, one.end, one.log_start)
                for one in (endings[spot] for spot in self._sides.spots(name))
            ]
            homes = [None if lane.place.partition == BY_KEY else lane.place.partition for lane in mine]
            topic = DestinationTopic(
                name,
                mine,
                tails,
                windows,
                lambda lane: not compacted.isdisjoint((lane.source[:2], (there, lane.place.topic))),
                placement.is_elsewhere([windows[lane.source] for lane in mine], homes, tails),
            )
            topics.append(topic)
        # Each partition holds records of many: what the tails hold reaches further back on the source.
        scattered = [lane for topic in topics if topic.scattered for lane in topic.lanes]
        if scattered:
            windows |= self._sides.windows(
                scattered, hints, lambda lane: partitions[lane.place.topic], by_key=False
            )
        return topics

    def _seams(
        self, topic: DestinationTopic, hints: Mapping[SourcePartition, Hint]
    ) -> dict[SourcePartition, FoundHandoff]:
        found = {}
        for group in _sharing(topic):
            windows = [topic.windows[lane.source] for lane in group]
            windows_with = Counter(print for one in windows for print in {seen.print for seen in one.records})
            complete = all(window.start == 0 for window in windows)
            for lane, window in zip(group, windows, strict=True):
                hint = hints[lane.source]
                offset = hint.offset
                if topic.scattered and self._asked.origin == "destination-end":
                    offset = min(offset, window.log_end)  # that end counts records of many partitions
                seam = find_seam(
                    window,
                    topic.places(lane),
                    offset,
                    hinted=hint.known,
                    exclusive=not lane.shared and not topic.scattered,
                    lenient=topic.lenient(lane),
                    complete=complete,
                    windows_with=windows_with,
                )
                found[lane.source] = FoundHandoff(window, topic.places(lane), seam)
        return found


def _sharing(topic: DestinationTopic) -> list[list[Lane]]:
    """Groups of lanes: those whose records may share a partition together, others alone."""
    groups: dict[object, list[Lane]] = {}
    for lane in topic.lanes:
        groups.setdefault("" if lane.shared or topic.scattered else lane.source, []).append(lane)
    return list(groups.values())
