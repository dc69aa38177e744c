"""Whether an operator may move a position to an offset, and the consequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from causeway.core.offsets import offset_range
from causeway.core.plural import counted
from causeway.core.position import Position
from causeway.rules.coverage import Coverage
from causeway.rules.integrity import same_topic

TargetOffset = Literal["earliest", "latest"] | int


@dataclass(frozen=True, slots=True)
class SourceLog:
    """The source partition's log, as its brokers report it; no topic id if the topic does not exist."""

    topic_id: str | None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class MoveRefusal:
    """Why a move is rejected, and what to do; `usage` if only the offset is wrong."""

    what: str
    todo: str
    usage: bool = False


def target(wanted: TargetOffset, log: SourceLog) -> int:
    return {"earliest": log.start, "latest": log.end}[wanted] if isinstance(wanted, str) else wanted


def refusal_of(position: Position, log: SourceLog, wanted: TargetOffset, *, back: bool) -> MoveRefusal | None:
    """None if the position may move."""
    source, at = position.source, position.offset
    if log.topic_id is None:
        return MoveRefusal(
            f"the source topic {source.topic} no longer exists",
            "there is nothing to replicate from it",
        )
    if not same_topic(position.topic_id, log.topic_id):
        return MoveRefusal(
            f"the source topic {source.topic} was deleted and created again (topic id {position.topic_id}"
            f" then, {log.topic_id} now): the ledger's offsets are those of the old topic",
            'on_recreate = "restart" replicates the new topic from its start, after the old records',
        )
    to = target(wanted, log)
    if not log.start <= to <= log.end:
        return MoveRefusal(
            f"offset {to} is out of range: {source} has offsets {log.start} to {log.end}",
            f"--to {log.start} (earliest) … {log.end} (latest)",
            usage=True,
        )
    if to < at and not back:
        return MoveRefusal(
            f"{source} is at offset {at}: moving it back to {to} would replicate"
            f" {counted(at - to, 'offset')} again and duplicate their records on the destination",
            "--back allows it",
        )
    return None


def describe_move(position: Position, to: int, log: SourceLog, coverage: Coverage) -> str:
    """What will happen, on one line."""
    source, at = position.source, position.offset
    if to == at:
        return f"{source} is at offset {at} already: it does not move"
    if to > at:
        return f"{source} moves from offset {at} to {to}: skips {offset_range(at, to)}"
    again = coverage.within(to, min(at, log.end))
    duplicates = f"duplicates up to {counted(again, 'record')}" if again else "duplicates no record"
    return f"{source} moves back from offset {at} to {to}: {duplicates}"
