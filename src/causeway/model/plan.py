"""What a mirror is going to do: routes that work, and topics that cannot be carried as things are."""

from __future__ import annotations

from dataclasses import dataclass

from causeway.model.order import Lane
from causeway.model.position import SourcePartition


@dataclass(frozen=True, slots=True)
class Refusal:
    """A source topic that is not carried, why, and what would change that."""

    source: str  # alias
    topic: str
    why: str
    todo: str
    integrity: bool = False  # going on could repeat records
    denied: bool = False  # the destination's brokers do not allow it to this user

    def __str__(self) -> str:
        return f"{self.source}:{self.topic}: {self.why}; {self.todo}"


@dataclass(frozen=True, slots=True)
class Plan:
    lanes: tuple[Lane, ...]
    refusals: tuple[Refusal, ...]
    batch_bytes: int  # the smallest max.message.bytes among the destination topics
    gone: frozenset[SourcePartition] = frozenset()  # lanes whose source does not exist any more

    @property
    def places(self) -> set[str]:
        """The destination topics."""
        return {lane.place.topic for lane in self.lanes}

    def same_work(self, other: Plan) -> bool:
        """Whether both carry the same partitions between the same topics."""
        return self.gone == other.gone and {
            (lane.source, lane.topic_id, lane.place) for lane in self.lanes
        } == {(lane.source, lane.topic_id, lane.place) for lane in other.lanes}
