"""What a mirror is going to do: routes that work, and topics that cannot be carried as things are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from causeway.model.order import Lane
from causeway.model.position import SourcePartition


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source topic, or some of its partitions, that is not carried, why, and what would change that."""

    source: str  # alias
    topic: str
    why: str
    todo: str
    integrity: bool = False  # going on could repeat records
    denied: bool = False  # the destination's brokers do not allow it to this user
    to: str = ""  # the destination topic
    partitions: tuple[int, ...] = ()  # of the source topic, those that are not carried
    partial: bool = False  # its other partitions are carried

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes it the same refusal at the next look: `why` may count records, which grow."""
        return self.source, self.topic, self.todo, self.partitions, self.integrity, self.denied

    def __str__(self) -> str:
        numbers = f"[{', '.join(map(str, self.partitions))}]" if self.partial else ""
        return f"{self.source}:{self.topic}{numbers}: {self.why}; {self.todo}"


@dataclass(frozen=True, slots=True)
class Unmatched:
    """An entry of `topics` that selects no topic of the sources that it is for."""

    entry: str
    sources: tuple[str, ...]  # aliases
    nearest: str = ""  # the topic that it is most like, if any is like it
    excluded: bool = False  # topics match it, and `exclude` leaves out each of them

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
    batch_limits: Mapping[str, int]  # the largest batch that each destination topic takes
    gone: frozenset[SourcePartition] = frozenset()  # lanes whose source does not exist any more
    unmatched: tuple[Unmatched, ...] = ()

    @property
    def places(self) -> set[str]:
        """The destination topics."""
        return {lane.place.topic for lane in self.lanes}

    def same_work(self, other: Plan) -> bool:
        """Whether both carry the same partitions between the same topics."""
        return self.gone == other.gone and {
            (lane.source, lane.topic_id, lane.place) for lane in self.lanes
        } == {(lane.source, lane.topic_id, lane.place) for lane in other.lanes}
