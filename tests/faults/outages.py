"""Brokers that go, come back, hand over and stand still, one of them or all: acts for a long day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random

from causeway.core.task_order import transactional_id
from faults.events import Side
from faults.stage import Act, Stage


def without(side: Side, *, clean: bool) -> Act:
    return lambda stage, random: stage.brokers[side].without(stage.leader(side, random), clean=clean)


def coordinator_killed(stage: Stage, random: Random) -> AbstractContextManager[None]:
    shard = random.randint(1, int(stage.mirror.keys["shards"]))
    brokers = stage.brokers["destination"]
    return brokers.without(brokers.coordinator(transactional_id(stage.mirror.name, shard)))


def all_away(side: Side) -> Act:
    return lambda stage, random: stage.brokers[side].all_away()


def rolled(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        stage.brokers[side].roll()
        yield

    return act


def elected(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        """Where everybody leads what they should, a broker goes first and loses what it leads."""
        brokers = stage.brokers[side]
        if not brokers.elect():
            with brokers.without(stage.leader(side, random), clean=True):
                pass
            assert brokers.elect(), "every leader is who it was: this was no fault"
        yield

    return act


def paused(side: Side) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        broker = stage.leader(side, random)
        broker.pause()
        try:
            yield
        finally:
            broker.resume()
            stage.brokers[side].await_in_sync()

    return act


def controller_killed(side: Side) -> Act:
    return lambda stage, random: stage.brokers[side].without(stage.brokers[side].controller())


def too_few_in_sync(side: Side) -> Act:
    return lambda stage, random: stage.brokers[side].none_beside(stage.leader(side, random))


def moved(side: Side) -> Act:
    return lambda stage, random: stage.brokers[side].moved(stage.topic(side, random))
