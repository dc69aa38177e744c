"""What was read of a destination topic and of its source partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from causeway.adoption.rules.placement import Uncovered
from causeway.core.handoff import Handoff, Tail, Window
from causeway.core.position import SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.task_order import Lane


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was read of one source partition, and its handoff."""

    window: Window
    tails: Sequence[Tail]
    handoff: Handoff
    larger_window: int = 0  # the --window that would decide if this one did not


@dataclass(slots=True)
class DestinationTopic:
    """The lanes that write to one destination topic, and the end of each of its partitions."""

    name: str
    lanes: list[Lane]
    tails: list[Tail]
    windows: dict[SourcePartition, Window]
    is_compacted: Callable[[Lane], bool]
    scattered: bool = False  # the old tool's records are not where the mirror would put them
    uncovered: Uncovered = field(init=False)

    def __post_init__(self) -> None:
        self.uncovered = Uncovered.of(self.tails)

    def places(self, lane: Lane) -> list[Tail]:
        """The tails in which a lane's records may be."""
        number = lane.place.partition
        return self.tails if self.scattered or number == BY_KEY else [self.tails[number]]

    def unowned(self) -> list[int]:
        """Partitions that no lane writes to."""
        if self.scattered or any(lane.place.partition == BY_KEY for lane in self.lanes):
            return []
        return sorted(set(range(len(self.tails))) - {lane.place.partition for lane in self.lanes})
