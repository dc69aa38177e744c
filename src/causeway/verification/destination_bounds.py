"""The destination's side of a comparison: the bounds of its partitions, and which other records they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from causeway.config import MirrorSettings
from causeway.core.position import Position
from causeway.core.topic import Spot, TopicFacts
from causeway.core.verify_report import Pair
from causeway.kafka.admin import ClusterView
from causeway.rules.integrity import same_topic
from causeway.rules.ledger_state import LedgerState
from causeway.verification.rules.grouping import Ground
from causeway.verification.rules.pairing import spreads

POLL_SECONDS = 0.1
MARKER_SECONDS = 10.0
"""A commit is visible in the ledger shortly before its marker is in every partition of the transaction."""


def look(
    view: ClusterView,
    positions: Iterable[Position],
    homes: Mapping[str, TopicFacts],
    pause: Callable[[float], None],
) -> tuple[dict[Spot, Ground], list[str]]:
    """Where the destination's partitions begin and end, once they hold what the ledger says they do.

    Also returns notes on those that an open transaction holds back, among the partitions that the key chose.
    Where a position names its place, its pair has the note.
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
    # Where the key chose the partition, the ledger does not know its end: use the current log end.
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


def adopted(image: LedgerState, grounds: Iterable[Spot]) -> dict[Spot, int]:
    """Where the records of the tool that this mirror took over from end."""
    found: dict[Spot, int] = {}
    for record in image.adopted.values():
        for topic, number in grounds:
            end = record.ends.get(f"{topic}[{number}]")
            if end is not None:
                found[topic, number] = min(end, found.get((topic, number), end))
    return found


def held_before(
    mirror: MirrorSettings, image: LedgerState, homes: Mapping[str, TopicFacts], begins: Iterable[Spot]
) -> set[str]:
    """Destination topics that may have held an unknown number of records before this mirror began.

    Topics that it created did not. Others did not either, unless `onto_existing` allows it.
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
    """The place of a position as the brokers report it; None for a topic that does not exist."""
    if position is not None:
        ground = grounds.get((position.place.topic, position.place.partition))
        if ground is not None or spreads(position):
            return ground or Ground(0, 0), homes.get(position.place.topic)
    return Ground(0, 0), None


def not_compared(
    pairs: Iterable[Pair], image: LedgerState, homes: Mapping[str, TopicFacts]
) -> list[Position]:
    """Positions whose records are on the destination, but whose source cannot be compared with them."""
    compared = {pair.source for pair in pairs if pair.place is not None}
    return [
        position
        for source, position in image.positions.items()
        if source not in compared
        and position.place.topic in homes
        and same_topic(position.place.topic_id, homes[position.place.topic].topic_id)
    ]
