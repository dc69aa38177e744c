"""What the brokers report about waiting source partitions and their places, before they are opened."""

from __future__ import annotations

from collections.abc import Mapping

from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import Lane
from causeway.core.topic import Spot, TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.rules.integrity import LogFacts, same_topic


def log_facts(
    view: ClusterView,
    waiting: Mapping[SourcePartition, Lane],
    positions: Mapping[SourcePartition, Position],
    places: Mapping[str, TopicFacts],
    place_ends: Mapping[Spot, int],
) -> dict[SourcePartition, LogFacts]:
    """Return the facts of each partition whose leaders are known, on both sides."""
    wanted = [(source.topic, source.partition) for source in waiting]
    topics = view.describe({topic for topic, _ in wanted})
    known = [
        (topic, number) for topic, number in wanted if topic in topics and number < topics[topic].partitions
    ]
    starts, ends = view.offsets(known, "earliest"), view.offsets(known, "latest")
    found: dict[SourcePartition, LogFacts] = {}
    for source, lane in waiting.items():
        at = (source.topic, source.partition)
        place = places.get(lane.place.topic)
        missing = _is_missing(source, positions.get(source), topics.get(source.topic))
        if missing:
            starts[at] = ends[at] = 0
        if source.topic in topics and (at not in starts or at not in ends):
            continue  # a partition without a leader, or one that this broker does not know yet
        spot = (lane.place.topic, lane.place.partition)
        if place and 0 <= spot[1] < place.partitions and spot not in place_ends:
            continue  # the same on the destination
        found[source] = LogFacts(
            topic_id=topics[source.topic].topic_id if source.topic in topics else None,
            log_start=starts.get(at, -1),
            log_end=ends.get(at, -1),
            place_topic_id=place.topic_id if place else None,
            place_partitions=place.partitions if place else 0,
            place_end=place_ends.get(spot),
            missing=missing,
        )
    return found


def _is_missing(source: SourcePartition, position: Position | None, facts: TopicFacts | None) -> bool:
    """Whether the topic is another one, with fewer partitions. A broker may know fewer of the same one."""
    if position is None or facts is None or source.partition < facts.partitions:
        return False
    return not same_topic(position.topic_id, facts.topic_id)
