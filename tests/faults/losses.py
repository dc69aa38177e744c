"""Source data that is lost or replaced while the mirror's policies say to continue.

Only these faults write to these topics, and only while the source is healthy: what they held is known to the
last record when it is deleted.
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
RECORDS = 100  # written before they are deleted
A_FEW, MORE = 5, 10
"""Records in each partition of a new topic that is shorter than the old one; offsets more of a longer one."""

When = Literal["running", "held", "cut off", "down"]


def removed(when: When) -> Injection:
    @contextmanager
    def act(target: FaultTarget, random: Random) -> Iterator[None]:
        """Delete some or all unreplicated records, in one partition or in all."""
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
        """Recreate the topic: the old position exists in it, or is after its end."""
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
    """Keep the mirror from replicating what will be lost."""
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
        if when == "down":
            target.end(target.mirror.run)
        yield
