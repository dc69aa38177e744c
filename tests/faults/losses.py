"""Source data that is lost or replaced under a mirror whose policies say to go on.

These topics are written to by nobody but these acts, and only while the source is well: what they held is
known to the last record when it is taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Literal

from faults.harm import Harm
from faults.processes import held
from faults.stage import Act, Stage
from support.proxy import Proxy

LOSING, REPLACED = "lossy", "again"
RECORDS = 100  # that are written before something happens to them
A_FEW, MORE = 5, 10
"""Records in each partition of a new topic that is shorter than the old one; offsets more of a longer one."""

When = Literal["running", "held", "cut off", "away"]


def removed(when: When) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        """Some of what was not carried yet, or all of it, in one partition or in all."""
        harm, topic = Harm(stage.day, stage.mirror), stage.day.topic(LOSING)
        with _meanwhile(stage, when):
            carried = harm.ends(topic)
            harm.write_some(RECORDS, LOSING)
            harm.know(LOSING)
            ends = harm.ends(topic)
            for partition in random.sample(sorted(ends), random.randint(1, len(ends))):
                to = random.choice([ends[partition], random.randint(carried[partition] + 1, ends[partition])])
                harm.remove("source", topic, partition, to)
            yield

    return act


def replaced(when: When, length: Literal["shorter", "longer"]) -> Act:
    @contextmanager
    def act(stage: Stage, random: Random) -> Iterator[None]:
        """Another topic of the name: a position in the old one exists in it, or lies behind its end."""
        harm, topic = Harm(stage.day, stage.mirror), stage.day.topic(REPLACED)
        with _meanwhile(stage, when):
            harm.write_some(RECORDS, REPLACED)
            harm.know(REPLACED)
            longest = max(harm.ends(topic).values())
            harm.recreate(REPLACED, records=longest + MORE if length == "longer" else A_FEW)
            yield

    return act


@contextmanager
def _meanwhile(stage: Stage, when: When) -> Iterator[None]:
    """What keeps the mirror from carrying what is about to be lost."""
    if when == "held":
        with held(stage.mirror.run.family()):
            yield
    elif when == "cut off":
        lines = stage.lines["source"]
        lines.each(Proxy.cut)
        try:
            yield
        finally:
            lines.each(Proxy.heal)
    else:
        if when == "away":
            stage.end(stage.mirror.run)
        yield
