"""The destination's side of a comparison: where its partitions begin and end, and who else is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from causeway.config import MirrorSettings
from causeway.kafka.admin import ClusterView
from causeway.model.position import Position
from causeway.model.topic import TopicFacts
from causeway.model.verdict import Pair
from causeway.policy.grouping import Ground, Spot
from causeway.policy.image import LedgerImage
from causeway.policy.integrity import same_topic
from causeway.policy.pairing import spreads

POLL_SECONDS = 0.1
MARKER_SECONDS = 10.0
"""A commit is in the ledger a moment before its marker is in every other partition of the transaction."""


def look(
    view: ClusterView,
    positions: Iterable[Position],
    homes: Mapping[str, TopicFacts],
    pause: Callable[[float], None],
) -> tuple[dict[Spot, Ground], list[str]]:
    """Where the destination's partitions begin and end, once they hold what the ledger says they do.

    And, in words, which of them somebody holds back; where a position names its place, its pair says so.
    """
    carried: dict[Spot, int] = {}
    spread: set[Spot] = set()
    for position in positions:
        place = position.place
        if place.topic not in homes:
            continue
        if spreads(position):
            spread |= {(place.topic, number) for number in range(homes[place.topic].partitions)}
        elif place.partition < homes[place.topic].partitions:
            spot = place.topic, place.partition
            carried[spot] = max(position.place_end, carried.get(spot, -1))
    # Where the key chose the partition, the ledger does not know its end: all that is written by now.
    written = view.all_offsets(spread, "latest")
    carried |= {spot: max(end, carried.get(spot, -1)) for spot, end in written.items()}
    starts = view.all_offsets(carried, "earliest")
    deadline = time.monotonic() + MARKER_SECONDS
    while True:
        ends = view.all_offsets(carried, "stable")
        late = [spot for spot, end in carried.items() if ends[spot] < end]
        if not late or time.monotonic() > deadline:
            break
        pause(POLL_SECONDS)
    held_back = [
        f"{topic}[{number}] can be read up to offset {ends[topic, number]}, but was written up to"
        f" {written[topic, number]}: an open transaction"
        for topic, number in late
        if (topic, number) in written
    ]
    return {spot: Ground(starts[spot], end) for spot, end in ends.items()}, held_back


def adopted(image: LedgerImage, grounds: Iterable[Spot]) -> dict[Spot, int]:
    """Where the records of another tool end, which this mirror took over from."""
    found: dict[Spot, int] = {}
    for record in image.adopted.values():
        for topic, number in grounds:
            end = record.ends.get(f"{topic}[{number}]")
            if end is not None:
                found[topic, number] = min(end, found.get((topic, number), end))
    return found


def held_before(
    mirror: MirrorSettings, image: LedgerImage, homes: Mapping[str, TopicFacts], begins: Iterable[Spot]
) -> set[str]:
    """Destination topics that may have held records before this mirror began, nobody knows how many.

    Those it made itself did not, nor did others, unless that was allowed.
    """
    if mirror.onto_existing != "append":
        return set()
    known = {topic for topic, _ in begins}
    made = {
        topic
        for topic, record in image.created.items()
        if topic in homes and record.topic_id == homes[topic].topic_id
    }
    return homes.keys() - known - made


def ground_of(
    position: Position | None, grounds: Mapping[Spot, Ground], homes: Mapping[str, TopicFacts]
) -> tuple[Ground, TopicFacts | None]:
    """The place of a position as the brokers see it; None for a topic that does not exist."""
    if position is not None:
        ground = grounds.get((position.place.topic, position.place.partition))
        if ground is not None or spreads(position):
            return ground or Ground(0, 0), homes.get(position.place.topic)
    return Ground(0, 0), None


def not_compared(
    pairs: Iterable[Pair], image: LedgerImage, homes: Mapping[str, TopicFacts]
) -> list[Position]:
    """Positions whose records lie on the destination, and whose source cannot be compared with them."""
    compared = {pair.source for pair in pairs if pair.place is not None}
    return [
        position
        for source, position in image.positions.items()
        if source not in compared
        and position.place.topic in homes
        and same_topic(position.place.topic_id, homes[position.place.topic].topic_id)
    ]
