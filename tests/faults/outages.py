"""Broker faults of the soak: kills, shutdowns, elections, suspensions, of one broker or all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random

from causeway.core.task_order import transactional_id
from faults.events import Side
from faults.fault_target import FaultTarget, Injection


def without(side: Side, *, clean: bool) -> Injection:
    return lambda target, random: target.brokers[side].without(target.leader(side, random), clean=clean)


def coordinator_killed(target: FaultTarget, random: Random) -> AbstractContextManager[None]:
    shard = random.randint(1, int(target.mirror.keys["shards"]))
    brokers = target.brokers["destination"]
    return brokers.without(brokers.coordinator(transactional_id(target.mirror.name, shard)))


def all_away(side: Side) -> Injection:
    return lambda target, random: target.brokers[side].all_away()


def rolled(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        target.brokers[side].roll()
        yield

    return act


def elected(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """If all preferred leaders lead, a broker restarts first, so that it loses its leaderships."""
        brokers = target.brokers[side]
        if not brokers.elect():
            with brokers.without(target.leader(side, random), clean=True):
                pass
            assert brokers.elect(), "every leader is who it was: this was no fault"
        yield

    return act


def paused(side: Side) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        broker = target.leader(side, random)
        broker.pause()
        try:
            yield
        finally:
            broker.resume()
            target.brokers[side].await_in_sync()

    return act


def controller_killed(side: Side) -> Injection:
    return lambda target, random: target.brokers[side].without(target.brokers[side].controller())


def too_few_in_sync(side: Side) -> Injection:
    return lambda target, random: target.brokers[side].none_beside(target.leader(side, random))


def moved(side: Side) -> Injection:
    return lambda target, random: target.brokers[side].moved(target.topic(side, random))
