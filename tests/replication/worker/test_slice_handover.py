"""When a shard's task of the next slice begins, seen from what the ledger says of the slice before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from causeway.core.choices import Delivery
from causeway.core.ledger_record import Heartbeat, LedgerRecord
from causeway.core.task_order import ProduceSettings, TaskOrder
from causeway.errors import Superseded
from causeway.replication.worker.slice_handover import ENDING_SECONDS, ended, ending_seconds, let_end
from causeway.rules.ledger_state import LedgerState
from support.plain_order import LIMITS, plain_order


def order(slice: int, after: int) -> TaskOrder:
    return plain_order(number=slice, after=after)


def beat(slice: int, *, ended: bool = False, lease: int = 7, shard: int = 1) -> Heartbeat:
    return Heartbeat(shard, lease, slice, 0, "host", 1, ended=ended)


class Told:
    """A ledger that is heard piece by piece."""

    def __init__(self, *pieces: Sequence[Heartbeat]) -> None:
        self.state = LedgerState()
        self._pieces = list(pieces)
        self.polls = 0

    def poll(self, seconds: float) -> list[LedgerRecord]:
        self.polls += 1
        piece = self._pieces.pop(0) if self._pieces else []
        for record in piece:
            self.state.apply(record.shard, record)
        return list(piece)


def test_the_next_slice_begins_when_the_shard_has_said_that_it_ended() -> None:
    told = Told([beat(3)], [], [], [beat(3, ended=True)], [])
    let_end(order(4, after=3), told, ENDING_SECONDS)
    assert told.polls == 5


def test_the_worker_that_served_the_slice_before_needs_nobody_to_tell_it() -> None:
    ended(order(2, after=1))
    told = Told()
    let_end(order(3, after=2), told, ENDING_SECONDS)
    assert told.polls == 0
    let_end(order(4, after=3), told, 0.01)
    assert told.polls > 10, "another worker served the slice between"


def test_another_shards_end_is_not_this_shards() -> None:
    told = Told([beat(3)], [beat(3, ended=True, shard=2)])
    let_end(order(4, after=3), told, 0.01)
    assert told.polls > 10, "it waited for as long as it may"


def test_an_end_under_an_older_lease_is_another_processes() -> None:
    told = Told([beat(3, ended=True, lease=6)])
    let_end(order(4, after=3), told, 0.01)
    assert told.polls > 10


def test_a_second_attempt_at_the_same_slice_waits_for_nobody() -> None:
    told = Told([beat(3, ended=True), beat(4)], [])
    let_end(order(4, after=3), told, ENDING_SECONDS)
    assert told.polls == 2


def test_a_lost_task_that_spark_starts_again_leaves_a_newer_slice_alone() -> None:
    told = Told([beat(3, ended=True), beat(4), beat(4, ended=True), beat(5)], [])
    with pytest.raises(Superseded, match="slice 5"):
        let_end(order(4, after=3), told, ENDING_SECONDS)


def test_it_hears_all_there_is_before_it_believes_an_end() -> None:
    told = Told([beat(3, ended=True)], [beat(5)], [])
    with pytest.raises(Superseded):
        let_end(order(4, after=3), told, ENDING_SECONDS)


def test_an_order_survives_its_journey() -> None:
    made = order(4, after=3)
    assert TaskOrder.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("delivery", "seconds"), [("exactly-once", ENDING_SECONDS), ("at-least-once", LIMITS.transaction_timeout)]
)
def test_where_nothing_fences_the_slice_before_has_as_long_as_its_records(
    delivery: Delivery, seconds: float
) -> None:
    assert LIMITS.transaction_timeout > ENDING_SECONDS
    assert ending_seconds(replace(order(4, after=3), produce=ProduceSettings(delivery))) == seconds
