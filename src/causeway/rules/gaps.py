"""Moves a position without replicating: by the mirror's policies, or on an operator's command.

Each move makes a Gap, which is written with the position it leads to and stays in the ledger for ever.
Nothing else may skip a source offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from causeway.core.choices import OnGap, OnRecreate
from causeway.core.ledger_record import Gap
from causeway.core.position import Place, Position, Tally
from causeway.core.task_order import Lane
from causeway.rules.holes import Hole, lost
from causeway.rules.integrity import Finding, LogFacts, judge


@dataclass(frozen=True, slots=True)
class Settled:
    """A partition's position after the policies, with the gaps that led there; or why it must stop."""

    position: Position | None
    gaps: tuple[Gap, ...] = ()
    finding: Finding | None = None


def settle(
    lane: Lane, position: Position | None, facts: LogFacts, *, on_gap: OnGap, on_recreate: OnRecreate, at: int
) -> Settled:
    """Judge the partition, and move its position where a policy says so; judge again after each move."""
    gaps: list[Gap] = []
    while True:
        finding = judge(lane, position, facts)
        if finding is None or position is None:
            break
        if finding.verdict == "gap" and on_gap == "continue":
            position, gap = moved(
                position, facts.log_start, verdict="gap", by='on_gap = "continue"', why=finding.what, at=at
            )
        elif finding.verdict == "recreated" and on_recreate == "restart" and _has_place(lane, facts):
            assert facts.topic_id is not None
            position, gap = begun_again(
                position, facts.topic_id, facts.log_start, lane.place, facts.place_end or 0, finding.what, at
            )
        else:
            break
        gaps.append(gap)
    return Settled(position, tuple(gaps), finding)


def moved(position: Position, to: int, *, verdict: str, by: str, why: str, at: int) -> tuple[Position, Gap]:
    """The position at another offset of the same topic; its tally counts the skipped offsets."""
    tally = position.tally
    skipped = tally.skipped + to - position.offset
    # Epoch and digest belong to the record before the position, and that is a different record now.
    new = replace(
        position, offset=to, epoch=-1, seen=to, known=None, at=at, tally=replace(tally, skipped=skipped)
    )
    return new, _gap(position, new, verdict, by, why)


def passed_holes(position: Position, holes: Sequence[Hole]) -> tuple[Position, list[Gap]]:
    """For on_gap = "continue": the same position; its tally counts what the source lost as skipped."""
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
    """Start at the beginning of a recreated topic of the same name, with a new tally."""
    new = replace(
        position,
        topic_id=topic_id,
        start=begin,
        offset=begin,
        epoch=-1,
        seen=begin,
        known=None,
        ordinary=0,
        place=place._replace(topic_id=position.place.topic_id),
        place_start=place_start,
        place_end=-1,
        at=at,
        tally=Tally(),
    )
    return new, _gap(position, new, "recreated", 'on_recreate = "restart"', why)


def _has_place(lane: Lane, facts: LogFacts) -> bool:
    """A restart needs the end of the place; a place that the key chooses has none."""
    return lane.place.partition < 0 or facts.place_end is not None


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
