"""When a shard's task of the next slice begins, by the ledger's records of the slice before."""

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


class FakeLedger:
    """A ledger whose records are polled piece by piece."""

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


def test_the_next_slice_begins_when_the_shard_has_reported_its_end() -> None:
    ledger = FakeLedger([beat(3)], [], [], [beat(3, ended=True)], [])
    let_end(order(4, after=3), ledger, ENDING_SECONDS)
    assert ledger.polls == 5


def test_the_worker_that_served_the_slice_before_does_not_wait() -> None:
    ended(order(2, after=1))
    ledger = FakeLedger()
    let_end(order(3, after=2), ledger, ENDING_SECONDS)
    assert ledger.polls == 0
    let_end(order(4, after=3), ledger, 0.01)
    assert ledger.polls > 10, "another worker served the slice in between"


def test_another_shards_end_does_not_count() -> None:
    ledger = FakeLedger([beat(3)], [beat(3, ended=True, shard=2)])
    let_end(order(4, after=3), ledger, 0.01)
    assert ledger.polls > 10, "it waited for the whole time"


def test_an_end_under_an_older_lease_does_not_count() -> None:
    ledger = FakeLedger([beat(3, ended=True, lease=6)])
    let_end(order(4, after=3), ledger, 0.01)
    assert ledger.polls > 10


def test_a_second_attempt_at_the_same_slice_does_not_wait() -> None:
    ledger = FakeLedger([beat(3, ended=True), beat(4)], [])
    let_end(order(4, after=3), ledger, ENDING_SECONDS)
    assert ledger.polls == 2


def test_a_lost_task_that_spark_restarts_does_not_fence_a_newer_slice() -> None:
    ledger = FakeLedger([beat(3, ended=True), beat(4), beat(4, ended=True), beat(5)], [])
    with pytest.raises(Superseded, match="slice 5"):
        let_end(order(4, after=3), ledger, ENDING_SECONDS)


def test_the_ledger_is_read_to_its_end_before_an_end_counts() -> None:
    ledger = FakeLedger([beat(3, ended=True)], [beat(5)], [])
    with pytest.raises(Superseded):
        let_end(order(4, after=3), ledger, ENDING_SECONDS)


def test_an_order_survives_json() -> None:
    made = order(4, after=3)
    assert TaskOrder.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("delivery", "seconds"), [("exactly-once", ENDING_SECONDS), ("at-least-once", LIMITS.transaction_timeout)]
)
def test_without_fencing_the_next_slice_waits_for_records_in_flight(
    delivery: Delivery, seconds: float
) -> None:
    assert LIMITS.transaction_timeout > ENDING_SECONDS
    assert ending_seconds(replace(order(4, after=3), produce=ProduceSettings(delivery))) == seconds
