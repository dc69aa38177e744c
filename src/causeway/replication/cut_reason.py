"""Why a slice is cut short before its time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CutCause(Enum):
    STOPPED = "stopped"
    PAUSED = "paused"
    TOPICS_CHANGED = "topics or partitions changed"
    NODES_CHANGED = "the nodes of a source pool changed"
    NO_HEARTBEAT = "a shard sends no heartbeat"
    SHARD_ENDED = "a shard ended early"
    SHARD_OVERDUE = "a shard did not end with its slice"


@dataclass(frozen=True, slots=True)
class CutReason:
    """A cause, and the text that the ledger's Cut record gets: the cause's own, or a more precise one."""

    cause: CutCause
    detail: str = ""

    def __str__(self) -> str:
        return self.detail or self.cause.value
