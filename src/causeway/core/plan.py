"""What a mirror will do: partitions to replicate, and topics that cannot be replicated as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from causeway.core.position import SourcePartition
from causeway.core.task_order import Lane


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source topic, or some of its partitions, that is not replicated: why, and what to change."""

    source: str  # alias
    topic: str
    why: str
    todo: str
    integrity: bool = False  # replicating it could repeat records
    denied: bool = False  # the destination's brokers deny it to this user
    to: str = ""  # the destination topic
    partitions: tuple[int, ...] = ()  # of the source topic: those that are not replicated
    partial: bool = False  # its other partitions are replicated

    @property
    def identity(self) -> tuple[object, ...]:
        """What identifies a refusal across refreshes. Not `why`: it may contain a growing record count."""
        return self.source, self.topic, self.todo, self.partitions, self.integrity, self.denied

    def __str__(self) -> str:
        numbers = f"[{', '.join(map(str, self.partitions))}]" if self.partial else ""
        return f"{self.source}:{self.topic}{numbers}: {self.why}; {self.todo}"


@dataclass(frozen=True, slots=True)
class Unmatched:
    """An entry of `topics` that selects no topic on its sources."""

    entry: str
    sources: tuple[str, ...]  # aliases
    nearest: str = ""  # the topic with the most similar name, if any
    excluded: bool = False  # topics match it, but `exclude` removes all of them

    def __str__(self) -> str:
        entry = f'"{self.entry}" of `topics`'
        if self.excluded:
            return f"every topic that matches {entry} is excluded"
        hint = f"; the nearest is {self.nearest}" if self.nearest else ""
        return f"no topic matches {entry} on {', '.join(self.sources)}{hint}"


@dataclass(frozen=True, slots=True)
class Plan:
    lanes: tuple[Lane, ...]
    refusals: tuple[Refusal, ...]
    batch_limits: Mapping[str, int]  # the largest batch that each destination topic accepts
    gone: frozenset[SourcePartition] = frozenset()  # source partitions that no longer exist
    unmatched: tuple[Unmatched, ...] = ()
    timings: frozenset[str] = frozenset()  # destination topics for timings

    @property
    def places(self) -> set[str]:
        """The destination topics."""
        return {lane.place.topic for lane in self.lanes}

    def same_work(self, other: Plan) -> bool:
        """Whether both replicate the same partitions between the same topics."""
        return self.gone == other.gone and {
            (lane.source, lane.topic_id, lane.place) for lane in self.lanes
        } == {(lane.source, lane.topic_id, lane.place) for lane in other.lanes}
