"""The destination's side of a comparison: the bounds of its partitions, and which other records they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from causeway.config import MirrorSettings
from causeway.core.pair import Pair
from causeway.core.position import Position
from causeway.core.topic import Spot, TopicFacts
from causeway.kafka.admin import ClusterView
from causeway.rules.integrity import same_topic
from causeway.rules.ledger_state import LedgerState
from causeway.verification.rules.grouping import PlaceBounds
from causeway.verification.rules.pairing import in_any_partition

POLL_SECONDS = 0.1
MARKER_SECONDS = 10.0
"""A commit is visible in the ledger shortly before its marker is in every partition of the transaction."""


def read_bounds(
    view: ClusterView,
    positions: Iterable[Position],
    topics: Mapping[str, TopicFacts],
    pause: Callable[[float], None],
) -> tuple[dict[Spot, PlaceBounds], list[str]]:
    """Where the destination's partitions start and end, once they hold what the ledger says they do.

    Also returns notes on those that an open transaction holds back, among the partitions that the key chose.
    Where a position names its place, its pair has the note. `topics` are those of the destination.
    """
    expected_ends: dict[Spot, int] = {}
    by_key: set[Spot] = set()
    for position in positions:
        place = position.place
        if place.topic not in topics:
            continue
        if in_any_partition(position):
            by_key |= {(place.topic, number) for number in range(topics[place.topic].partitions)}
        elif place.partition < topics[place.topic].partitions:
            spot = place.topic, place.partition
            expected_ends[spot] = max(position.place_end, expected_ends.get(spot, -1))
    # Where the key chose the partition, the ledger does not know its end: use the current log end.
    written = view.all_offsets(by_key, "latest")
    expected_ends |= {spot: max(end, expected_ends.get(spot, -1)) for spot, end in written.items()}
    starts = view.all_offsets(expected_ends, "earliest")
    deadline = time.monotonic() + MARKER_SECONDS
    while True:
        ends = view.all_offsets(expected_ends, "stable")
        incomplete = [spot for spot, end in expected_ends.items() if ends[spot] < end]
        if not incomplete or time.monotonic() > deadline:
            break
        pause(POLL_SECONDS)
    notes = [
        f"{topic}[{number}] can be read up to offset {ends[topic, number]}, but was written up to"
        f" {written[topic, number]}: a transaction is open"
        for topic, number in incomplete
        if (topic, number) in written
    ]
    return {spot: PlaceBounds(starts[spot], end) for spot, end in ends.items()}, notes


def adopted_ends(ledger: LedgerState, spots: Iterable[Spot]) -> dict[Spot, int]:
    """Where the records end that the tool wrote before this mirror took over from it."""
    ends: dict[Spot, int] = {}
    for record in ledger.adopted.values():
        for topic, number in spots:
            end = record.ends.get(f"{topic}[{number}]")
            if end is not None:
                ends[topic, number] = min(end, ends.get((topic, number), end))
    return ends


def preexisting_topics(
    mirror: MirrorSettings, ledger: LedgerState, topics: Mapping[str, TopicFacts], adopted: Iterable[Spot]
) -> set[str]:
    """Destination topics that may have held an unknown number of records before this mirror began.

    Topics that it created did not. Others did not either, unless `on_existing_records` allows it.
    """
    if mirror.on_existing_records != "append":
        return set()
    known = {topic for topic, _ in adopted}
    created = {
        topic
        for topic, record in ledger.created.items()
        if topic in topics and record.topic_id == topics[topic].topic_id
    }
    return topics.keys() - known - created


def bounds_of(
    position: Position | None, bounds: Mapping[Spot, PlaceBounds], topics: Mapping[str, TopicFacts]
) -> tuple[PlaceBounds, TopicFacts | None]:
    """The place of a position as the brokers report it; None for a topic that does not exist."""
    if position is not None:
        place_bounds = bounds.get((position.place.topic, position.place.partition))
        if place_bounds is not None or in_any_partition(position):
            return place_bounds or PlaceBounds(0, 0), topics.get(position.place.topic)
    return PlaceBounds(0, 0), None


def not_compared(
    pairs: Iterable[Pair], ledger: LedgerState, topics: Mapping[str, TopicFacts]
) -> list[Position]:
    """Positions whose records are on the destination, but whose source cannot be compared with them."""
    compared = {pair.source for pair in pairs if pair.place is not None}
    return [
        position
        for source, position in ledger.positions.items()
        if source not in compared
        and position.place.topic in topics
        and same_topic(position.place.topic_id, topics[position.place.topic].topic_id)
    ]
