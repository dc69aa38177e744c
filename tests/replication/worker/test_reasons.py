"""The reason why a shard commits nothing reaches the driver, although events are part of commits."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Event
from causeway.replication.worker import reasons
from causeway.replication.worker.reasons import AGAIN_SECONDS, SILENT_SECONDS, Reasons
from causeway.replication.worker.task import serve_order
from causeway.replication.worker.task_state import TaskState
from support.ordering import Patience, TooManyAttempts, order_of
from support.process import eventually
from support.world import World


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Written:
    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, _cluster: Cluster, _ledger: str, event: Event) -> None:
        self.events.append(event.what)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    return made


def failing(written: Written, memory: TaskState) -> Reasons:
    """A shard's reasons; each is written before the next failure."""

    class AtOnce(Reasons):
        def failed(self, why: str) -> None:
            super().failed(why)
            if self._writing is not None:
                self._writing.join()

    order = type("Order", (), {"shard": 3, "destination": None, "ledger": "l"})()
    return AtOnce(order, memory, written)


def test_a_shard_that_commits_nothing_reports_the_reason_at_intervals(clock: Clock) -> None:
    written, memory = Written(), TaskState(began=clock.now)
    reasons = failing(written, memory)
    for _ in range(7):
        clock.now += 1
        reasons.failed("no")
    assert not written.events
    clock.now += 1
    reasons.failed("no")
    assert written.events == ["nothing could be committed for 8 s: no"]
    clock.now += AGAIN_SECONDS - 1
    reasons.failed("no")
    assert len(written.events) == 1
    reasons.failed("otherwise")
    clock.now += AGAIN_SECONDS
    reasons.failed("otherwise")
    assert [event.partition(": ")[2] for event in written.events] == ["no", "otherwise", "otherwise"]


def test_a_shard_that_commits_writes_no_reason_outside_of_a_transaction(clock: Clock) -> None:
    written, memory = Written(), TaskState(began=clock.now)
    reasons = failing(written, memory)
    for _ in range(100):
        clock.now += SILENT_SECONDS / 2
        memory.transactions += 1
        reasons.failed("no")
    assert not written.events


def test_the_reason_is_in_the_ledger_although_no_transaction_can_begin(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker allows 15 minutes."""
    monkeypatch.setattr(reasons, "SILENT_SECONDS", 0.0)
    topic = world.topic("t")
    world.topic("t", on="destination")
    order = order_of(world, topic, 1)
    limits = replace(order.limits, transaction_timeout=1_000)

    with pytest.raises(TooManyAttempts):
        serve_order(replace(order, limits=limits), pause=Patience(3))

    eventually(lambda: world.ledger().events, "the driver can read why")
    (event, *_) = world.ledger().events.values()
    assert (event.shard, event.level) == (1, "warning")
    assert "nothing could be committed" in event.what
    assert "transaction timeout" in event.what.lower()
