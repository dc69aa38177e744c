"""Verdicts on a source partition and its destination: may it go on from its position?

Invariant G: whatever could skip data stops the partition and names what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from causeway.model.order import Lane
from causeway.model.position import Position

Verdict = Literal[
    "gap",
    "truncated",
    "recreated",
    "deleted",
    "destination-recreated",
    "destination-deleted",
    "poison",
    "filter",
]

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What brokers without topic ids report: log bounds are all there is to go by."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the brokers say now. A topic id is None where the topic does not exist."""

    topic_id: str | None
    log_start: int
    log_end: int
    place_topic_id: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a partition stops, in words, and what to do."""

    verdict: Verdict
    what: str
    todo: str


def same_topic(known: str, found: str) -> bool:
    return known == found or NO_TOPIC_ID in (known, found)


def judge(lane: Lane, position: Position | None, found: Found) -> Finding | None:
    """None where the partition may go on; otherwise the verdict that stops it."""
    source, place = lane.source, lane.place
    topic_id = position.topic_id if position else lane.topic_id
    place_topic_id = position.place.topic_id if position else place.topic_id
    if found.topic_id is None:
        return Finding(
            "deleted",
            f"the source topic {source.topic} does not exist any more"
            + (f"; carried up to offset {position.offset}" if position else ""),
            "take it out of `topics`, or create it again and start a new mirror for it",
        )
    if not same_topic(topic_id, found.topic_id):
        return Finding(
            "recreated",
            f"the source topic {source.topic} was deleted and created again"
            f" (topic id {topic_id} then, {found.topic_id} now);"
            f" its offsets {found.log_start}…{found.log_end} are not the ones carried"
            + (f" up to {position.offset}" if position else ""),
            "carry the new topic with a new mirror, or under another destination name",
        )
    if found.place_topic_id is None:
        return Finding(
            "destination-deleted",
            f"the destination topic {place.topic} does not exist any more",
            "the ledger holds positions for it: a new mirror name starts from the beginning",
        )
    if not same_topic(place_topic_id, found.place_topic_id):
        return Finding(
            "destination-recreated",
            f"the destination topic {place.topic} was deleted and created again"
            f" (topic id {place_topic_id} then, {found.place_topic_id} now)",
            "what was carried is gone from it: a new mirror name starts from the beginning",
        )
    if position is None:
        return None
    if position.offset < found.log_start:
        return Finding(
            "gap",
            f"{source} begins at offset {found.log_start} now, {position.offset} is next to carry:"
            f" {found.log_start - position.offset} offsets were deleted before they were carried",
            "raise the source's retention; the missing records cannot be had from this topic any more",
        )
    if position.offset > found.log_end:
        return Finding(
            "truncated",
            f"{source} ends at offset {found.log_end} now, {position.offset} is next to carry:"
            f" {position.offset - found.log_end} offsets that were carried are gone from the source",
            "the source lost records (unclean leader election?); source and destination have diverged",
        )
    return None
