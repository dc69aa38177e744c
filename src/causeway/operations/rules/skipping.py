"""Whether an operator may move a position to an offset, and the consequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from causeway.core.position import Position
from causeway.rules.coverage import Coverage
from causeway.rules.integrity import same_topic

Wanted = Literal["earliest", "latest"] | int


@dataclass(frozen=True, slots=True)
class Log:
    """The source partition's log, as its brokers report it; no topic id if the topic does not exist."""

    topic_id: str | None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a move is rejected, and what to do; `usage` if only the offset is wrong."""

    what: str
    todo: str
    usage: bool = False


def target(wanted: Wanted, log: Log) -> int:
    return {"earliest": log.start, "latest": log.end}[wanted] if isinstance(wanted, str) else wanted


def objection(position: Position, log: Log, wanted: Wanted, *, back: bool) -> Objection | None:
    """None if the position may move."""
    source, at = position.source, position.offset
    if log.topic_id is None:
        return Objection(
            f"the source topic {source.topic} does not exist any more", "there is nothing to carry from it"
        )
    if not same_topic(position.topic_id, log.topic_id):
        return Objection(
            f"the source topic {source.topic} was deleted and created again (topic id {position.topic_id}"
            f" then, {log.topic_id} now): the ledger's offsets are not those of this one",
            'on_recreate = "restart" carries the new topic from its beginning, behind what is there',
        )
    to = target(wanted, log)
    if not log.start <= to <= log.end:
        return Objection(
            f"{source} has offsets {log.start} to {log.end}: {to} is none of them",
            f"--to {log.start} (earliest) … {log.end} (latest)",
            usage=True,
        )
    if to < at and not back:
        return Objection(
            f"{source} is at offset {at}: moving it back to {to} would carry {at - to:,} offsets"
            " once more, and their records would be on the destination twice",
            "--back, if that is wanted",
        )
    return None


def foretold(position: Position, to: int, log: Log, coverage: Coverage) -> str:
    """What will happen, on one line."""
    source, at = position.source, position.offset
    if to == at:
        return f"{source} is at offset {at} already: it stays there"
    if to > at:
        some = f"offset {at} is" if to - at == 1 else f"offsets {at} to {to - 1} ({to - at:,}) are"
        return f"{source} goes from offset {at} to {to}: {some} passed over, and not carried"
    again = coverage.within(to, min(at, log.end))
    repeated = f"up to {again:,} records come to the destination again" if again else "no record comes twice"
    return f"{source} goes back from offset {at} to {to}: {repeated}"
