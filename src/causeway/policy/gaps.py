"""Moving a position without carrying: by the mirror's policies, or by an operator's word.

Each move makes a Gap, which is written with the position it leads to and stays in the ledger for ever.
Nothing else may skip a source offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from causeway.model.order import Lane, OnGap, OnRecreate
from causeway.model.position import Place, Position, Tally
from causeway.model.record import Gap
from causeway.policy.holes import Hole, lost
from causeway.policy.integrity import Finding, Found, judge


@dataclass(frozen=True, slots=True)
class Settled:
    """A partition's position after the policies, with the gaps that led there; or why it must stop."""

    position: Position | None
    gaps: tuple[Gap, ...] = ()
    finding: Finding | None = None


def settle(
    lane: Lane, position: Position | None, found: Found, *, on_gap: OnGap, on_recreate: OnRecreate, at: int
) -> Settled:
    """Judge, and go on where a policy says so: judged again each time, until nothing is left to say."""
    gaps: list[Gap] = []
    while True:
        finding = judge(lane, position, found)
        if finding is None or position is None:
            break
        if finding.verdict == "gap" and on_gap == "continue":
            position, gap = moved(
                position, found.log_start, verdict="gap", by='on_gap = "continue"', why=finding.what, at=at
            )
        elif finding.verdict == "recreated" and on_recreate == "restart" and _has_place(lane, found):
            assert found.topic_id is not None
            position, gap = begun_again(
                position, found.topic_id, found.log_start, lane.place, found.place_end or 0, finding.what, at
            )
        else:
            break
        gaps.append(gap)
    return Settled(position, tuple(gaps), finding)


def moved(position: Position, to: int, *, verdict: str, by: str, why: str, at: int) -> tuple[Position, Gap]:
    """The position at another offset of the same topic; the books say how many offsets were skipped."""
    tally = position.tally
    skipped = tally.skipped + to - position.offset
    # The epoch belongs to the record before the position, and that is another one now.
    new = replace(position, offset=to, epoch=-1, seen=to, at=at, tally=replace(tally, skipped=skipped))
    return new, _gap(position, new, verdict, by, why)


def passed_holes(position: Position, holes: Sequence[Hole]) -> tuple[Position, list[Gap]]:
    """By on_gap = "continue": the same position, with what the source lost in the books as skipped."""
    count = sum(hole.size for hole in holes)
    tally = position.tally
    new = replace(position, tally=replace(tally, holes=tally.holes - count, skipped=tally.skipped + count))
    gaps = [
        _gap(
            replace(position, offset=hole.begin),
            replace(position, offset=hole.end),
            "gap",
            'on_gap = "continue"',
            lost(position.source, hole).what,
        )
        for hole in holes
    ]
    return new, gaps


def begun_again(
    position: Position, topic_id: str, begin: int, place: Place, place_start: int, why: str, at: int
) -> tuple[Position, Gap]:
    """From the beginning of another topic of the same name, with books of its own."""
    new = replace(
        position,
        topic_id=topic_id,
        start=begin,
        offset=begin,
        epoch=-1,
        seen=begin,
        ordinary=0,
        place=place._replace(topic_id=position.place.topic_id),
        place_start=place_start,
        place_end=-1,
        at=at,
        tally=Tally(),
    )
    return new, _gap(position, new, "recreated", 'on_recreate = "restart"', why)


def _has_place(lane: Lane, found: Found) -> bool:
    """Where records begin anew, the end of their place must be known; the key's choice has none."""
    return lane.place.partition < 0 or found.place_end is not None


def _gap(before: Position, after: Position, verdict: str, by: str, why: str) -> Gap:
    return Gap(
        *before.source,
        topic_id=before.topic_id,
        begin=before.offset,
        to_topic_id=after.topic_id,
        end=after.offset,
        verdict=verdict,
        by=by,
        why=why,
        at=after.at,
    )
