"""Source data that is lost or replaced under a mirror whose policies say to go on.

These topics are written to by nobody but these acts, and only while the source is well: what they held is
known to the last record when it is taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Literal

from faults.data_faults import DataFaults
from faults.fault_target import FaultTarget, Injection
from faults.processes import held
from support.proxy import Proxy

LOSING, REPLACED = "lossy", "again"
RECORDS = 100  # that are written before something happens to them
A_FEW, MORE = 5, 10
"""Records in each partition of a new topic that is shorter than the old one; offsets more of a longer one."""

When = Literal["running", "held", "cut off", "away"]


def removed(when: When) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """Some of what was not replicated yet, or all of it, in one partition or in all."""
        data_faults, topic = DataFaults(target.scenario, target.mirror), target.scenario.topic(LOSING)
        with _meanwhile(target, when):
            replicated = data_faults.ends(topic)
            data_faults.write_some(RECORDS, LOSING)
            data_faults.know(LOSING)
            ends = data_faults.ends(topic)
            for partition in random.sample(sorted(ends), random.randint(1, len(ends))):
                to = random.choice(
                    [ends[partition], random.randint(replicated[partition] + 1, ends[partition])]
                )
                data_faults.remove("source", topic, partition, to)
            yield

    return act


def replaced(when: When, length: Literal["shorter", "longer"]) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """Another topic of the name: a position in the old one exists in it, or lies behind its end."""
        data_faults, topic = DataFaults(target.scenario, target.mirror), target.scenario.topic(REPLACED)
        with _meanwhile(target, when):
            data_faults.write_some(RECORDS, REPLACED)
            data_faults.know(REPLACED)
            longest = max(data_faults.ends(topic).values())
            data_faults.recreate(REPLACED, records=longest + MORE if length == "longer" else A_FEW)
            yield

    return act


@contextmanager
def _meanwhile(target: FaultTarget, when: When) -> Iterator[None]:
    """What keeps the mirror from carrying what is about to be lost."""
    if when == "held":
        with held(target.mirror.run.family()):
            yield
    elif when == "cut off":
        lines = target.lines["source"]
        lines.each(Proxy.cut)
        try:
            yield
        finally:
            lines.each(Proxy.heal)
    else:
        if when == "away":
            target.end(target.mirror.run)
        yield
