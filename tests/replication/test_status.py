"""Values that are shown together were read together: no position after the end of its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from causeway.core.plan import Refusal
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.snapshot import PartitionView
from causeway.core.task_order import Lane
from causeway.errors import Unreachable
from causeway.replication.status import Status
from causeway.rules.ledger_state import LedgerState
from support.viewing import mirror

HERE, THERE = SourcePartition("paris-id", "t", 0), SourcePartition("rome-id", "t", 0)
LANES = [Lane(source, "i", Place("t", "u", 0), until=None) for source in (HERE, THERE)]


class Source:
    """A cluster whose log ends at `end`; `meanwhile` is called during the request."""

    def __init__(self, name: str) -> None:
        self._id = f"{name}-id"
        self.end = 0
        self.away = False
        self.meanwhile: Callable[[], None] = lambda: None

    def cluster_id(self) -> str:
        return self._id

    def offsets(self, wanted: Iterable[tuple[str, int]], at: str) -> dict[tuple[str, int], int]:
        if self.away:
            raise Unreachable("no response")
        end = self.end
        if at == "latest":
            self.meanwhile()
        return dict.fromkeys(wanted, 0 if at == "earliest" else end)


class Scene:
    def __init__(self) -> None:
        self.state = LedgerState()
        self.paris, self.rome = Source("paris"), Source("rome")
        self._status = Status(mirror())
        self.refused: dict[SourcePartition, Refusal] = {}

    def fetch_ends(self, *sources: SourcePartition) -> None:
        views: Any = {"paris": self.paris, "rome": self.rome}
        self._status.fetch_log_ends(views, sources or (HERE, THERE), self.state, starts=True)

    def replicated(self, source: SourcePartition, offset: int) -> None:
        tally = Tally(delivered=offset)
        position = Position(source, "i", 0, offset, 0, Place("t", "u", 0), 0, offset, 1, 0, tally)
        self.state.apply(1, replace(position))

    def shown(self) -> dict[str, PartitionView]:
        return {view.cluster: view for view in self.all_shown()}

    def all_shown(self) -> tuple[PartitionView, ...]:
        aliases = {"paris-id": "paris", "rome-id": "rome"}
        self._status.measure(mirror(), LANES, self.refused, self.state, aliases, 1, None)
        return self._status.view.partitions

    def finish(self) -> None:
        self._status.update_positions(self.state)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_positions_are_those_of_the_moment_when_the_ends_were_requested(scene: Scene) -> None:
    scene.paris.end = 100
    scene.replicated(HERE, 90)
    scene.paris.meanwhile = lambda: scene.replicated(HERE, 128)  # while the response is in flight
    scene.fetch_ends()
    scene.replicated(HERE, 140)  # and before the status is read

    view = scene.shown()["paris"]

    assert (view.position, view.log_end, view.lag_records, view.delivered) == (90, 100, 10, 90)
    scene.paris.end = 150
    scene.fetch_ends()
    view = scene.shown()["paris"]
    assert (view.position, view.log_end, view.lag_records, view.delivered) == (140, 150, 10, 140)


def test_a_source_that_is_down_does_not_delay_the_figures_of_another(scene: Scene) -> None:
    scene.paris.end = scene.rome.end = 100
    scene.fetch_ends()
    scene.paris.away = True
    scene.rome.end = 300
    scene.replicated(THERE, 250)
    scene.replicated(HERE, 120)
    with pytest.raises(Unreachable):
        scene.fetch_ends()

    shown = scene.shown()

    assert (shown["rome"].position, shown["rome"].log_end) == (250, 300)
    assert (shown["paris"].position, shown["paris"].log_end) == (120, 120), "it ends there, or later"


def test_the_last_positions_of_a_run_are_shown(scene: Scene) -> None:
    scene.paris.end = 100
    scene.fetch_ends()
    scene.replicated(HERE, 130)
    scene.finish()
    view = scene.shown()["paris"]
    assert (view.position, view.log_end, view.delivered) == (130, 130, 130)


def test_records_that_existed_at_the_first_sample_may_be_older_than_shown(scene: Scene) -> None:
    scene.paris.end = 100
    scene.replicated(HERE, 40)
    scene.fetch_ends()
    assert scene.shown()["paris"].lag_older
    scene.replicated(HERE, 100)
    scene.paris.end = 130
    scene.fetch_ends()
    view = scene.shown()["paris"]
    assert (view.lag_records, view.lag_older) == (30, False)


def test_a_partition_that_is_refused_is_shown_with_its_reason_and_its_lag(scene: Scene) -> None:
    third = HERE._replace(partition=2)
    scene.refused = {third: Refusal("paris", "t", "no place", "make one", to="u", partitions=(2,))}
    scene.paris.end = 70
    scene.fetch_ends(HERE, THERE, third)

    view = scene.all_shown()[-2]

    assert (view.topic, view.partition, view.to_topic, view.verdict) == ("t", 2, "u", "unroutable")
    assert (view.what, view.todo, view.position, view.lag_records) == ("no place", "make one", -1, 70)
