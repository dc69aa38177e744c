"""What is asked of a source before its log counts as cut off: other things take records too."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.errors import AccessDenied, Unreachable
from causeway.kafka.lane import OpenLane
from causeway.model.order import Lane
from causeway.model.position import Place, Position, SourcePartition
from causeway.pipeline.memory import Memory
from causeway.pipeline.source_checks import is_cut_off

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "id", 0)


class View:
    def __init__(self, log_start: int | None, policy: str | None) -> None:
        self._log_start, self._policy = log_start, policy

    def offsets(self, spots: Any, at: str) -> dict[Any, int]:
        assert at == "earliest"
        return {} if self._log_start is None else dict.fromkeys(spots, self._log_start)

    def configs(self, topics: list[str]) -> dict[str, dict[str, str]]:
        if self._policy is None:
            raise AccessDenied("reading the configuration is not allowed")
        return {topic: {"cleanup.policy": self._policy} for topic in topics}


def stopped() -> OpenLane:
    """The record at 4 was the last one seen, and another one came."""
    position = Position(SOURCE, "id", 0, 8, 7, PLACE, 0, -1, 1, 0, seen=5)
    lane = OpenLane(Lane(SOURCE, "id", PLACE, None), position, fetch_from=(4, 7))
    lane.recognize(9, 8)
    assert lane.absent
    return lane


@pytest.mark.parametrize(
    ("log_start", "policy", "cut", "validates"),
    [
        (4, "delete", True, False),
        (5, "delete", False, False),  # retention was faster than the fetch
        (None, "delete", False, False),  # no leader to ask
        (4, "compact", False, True),
        (4, "compact,delete", False, True),
        (4, None, False, True),  # nobody knows: the client's own check is all there is
    ],
)
def test_the_log_counts_as_cut_off_only_where_nothing_else_takes_a_record(
    log_start: int | None, policy: str | None, cut: bool, validates: bool
) -> None:
    lane, memory = stopped(), Memory()
    view: Any = View(log_start, policy)
    assert is_cut_off(view, lane, memory) is cut
    assert (SOURCE in memory.compacted) is validates
    assert lane.done is cut


def test_there_is_no_verdict_without_an_answer() -> None:
    class Silent(View):
        def offsets(self, spots: Any, at: str) -> dict[Any, int]:
            raise Unreachable("no answer")

    view: Any = Silent(4, "delete")
    with pytest.raises(Unreachable):
        is_cut_off(view, stopped(), Memory())
