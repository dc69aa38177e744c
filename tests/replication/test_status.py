"""What is shown together was seen together: no position after the end of its log."""

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
    """A cluster whose log ends at `end`; while it is asked for that, `meanwhile` happens."""

    def __init__(self, name: str) -> None:
        self._id = f"{name}-id"
        self.end = 0
        self.away = False
        self.meanwhile: Callable[[], None] = lambda: None

    def cluster_id(self) -> str:
        return self._id

    def offsets(self, wanted: Iterable[tuple[str, int]], at: str) -> dict[tuple[str, int], int]:
        if self.away:
            raise Unreachable("no answer")
        end = self.end
        if at == "latest":
            self.meanwhile()
        return dict.fromkeys(wanted, 0 if at == "earliest" else end)


class Scene:
    def __init__(self) -> None:
        self.image = LedgerState()
        self.paris, self.rome = Source("paris"), Source("rome")
        self._status = Status(mirror())
        self.refused: dict[SourcePartition, Refusal] = {}

    def look(self, *sources: SourcePartition) -> None:
        views: Any = {"paris": self.paris, "rome": self.rome}
        self._status.fetch_log_ends(views, sources or (HERE, THERE), self.image, starts=True)

    def carried(self, source: SourcePartition, offset: int) -> None:
        tally = Tally(delivered=offset)
        position = Position(source, "i", 0, offset, 0, Place("t", "u", 0), 0, offset, 1, 0, tally)
        self.image.apply(1, replace(position))

    def shown(self) -> dict[str, PartitionView]:
        return {one.cluster: one for one in self.all_shown()}

    def all_shown(self) -> tuple[PartitionView, ...]:
        aliases = {"paris-id": "paris", "rome-id": "rome"}
        self._status.measure(mirror(), LANES, self.refused, self.image, aliases, 1, None)
        return self._status.view.partitions

    def finish(self) -> None:
        self._status.update_positions(self.image)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_positions_are_those_of_the_moment_when_the_ends_were_asked_for(scene: Scene) -> None:
    scene.paris.end = 100
    scene.carried(HERE, 90)
    scene.paris.meanwhile = lambda: scene.carried(HERE, 128)  # while the answer is on its way
    scene.look()
    scene.carried(HERE, 140)  # and before anybody looks

    one = scene.shown()["paris"]

    assert (one.position, one.log_end, one.lag_records, one.delivered) == (90, 100, 10, 90)
    scene.paris.end = 150
    scene.look()
    one = scene.shown()["paris"]
    assert (one.position, one.log_end, one.lag_records, one.delivered) == (140, 150, 10, 140)


def test_a_source_that_is_away_does_not_hold_up_the_figures_of_another(scene: Scene) -> None:
    scene.paris.end = scene.rome.end = 100
    scene.look()
    scene.paris.away = True
    scene.rome.end = 300
    scene.carried(THERE, 250)
    scene.carried(HERE, 120)
    with pytest.raises(Unreachable):
        scene.look()

    shown = scene.shown()

    assert (shown["rome"].position, shown["rome"].log_end) == (250, 300)
    assert (shown["paris"].position, shown["paris"].log_end) == (120, 120), "it ends there, or later"


def test_the_last_positions_of_a_run_are_shown(scene: Scene) -> None:
    scene.paris.end = 100
    scene.look()
    scene.carried(HERE, 130)
    scene.finish()
    one = scene.shown()["paris"]
    assert (one.position, one.log_end, one.delivered) == (130, 130, 130)


def test_records_that_were_there_at_the_first_look_may_be_older_than_is_known(scene: Scene) -> None:
    scene.paris.end = 100
    scene.carried(HERE, 40)
    scene.look()
    assert scene.shown()["paris"].lag_older
    scene.carried(HERE, 100)
    scene.paris.end = 130
    scene.look()
    one = scene.shown()["paris"]
    assert (one.lag_records, one.lag_older) == (30, False)


def test_a_partition_that_is_refused_is_shown_with_its_reason_and_its_lag(scene: Scene) -> None:
    third = HERE._replace(partition=2)
    scene.refused = {third: Refusal("paris", "t", "no place", "make one", to="u", partitions=(2,))}
    scene.paris.end = 70
    scene.look(HERE, THERE, third)

    one = scene.all_shown()[-2]

    assert (one.topic, one.partition, one.to_topic, one.verdict) == ("t", 2, "u", "unroutable")
    assert (one.what, one.todo, one.position, one.lag_records) == ("no place", "make one", -1, 70)
