"""What is measured, how much of it, how often and in which order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bench.shapes import CENTRE, Shape, around, combinations

MEASURES = (
    "throughput",
    "latency",
    "boundary",
    "catch-up",
    "shards",
    "tls",
    "spark-cluster",
    "growth",
    "page",
)

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    name: str
    measures: tuple[str, ...]
    shapes: tuple[Shape, ...]
    rounds: int
    warm_seconds: float
    records: int  # of a throughput run, at most
    around_records: int  # the same, where one factor of the centre is changed
    megabytes: int  # of a throughput run, at most
    idle_seconds: float
    rates: tuple[int, ...]  # records a second, for latency
    latency_seconds: float
    latency_rounds: int
    latency_systems: tuple[str, ...]  # empty: all of them
    backlog_megabytes: int
    growth: tuple[int, ...]  # partitions


QUICK = Scale(
    name="quick", measures=("throughput", "latency"), shapes=(CENTRE,), rounds=1, warm_seconds=20,
    records=2_000_000, around_records=1_000_000, megabytes=2_000, idle_seconds=5, rates=(1_000,),
    latency_seconds=12, latency_rounds=1, latency_systems=("causeway", "mm2-exactly-once"),
    backlog_megabytes=0, growth=(),
)  # fmt: skip
"""The headline rows, in under five minutes on two cores."""

WHOLE = Scale(
    name="whole", measures=MEASURES, shapes=tuple(around()), rounds=3, warm_seconds=60, records=4_000_000,
    around_records=1_500_000, megabytes=1_500, idle_seconds=15, rates=(100, 1_000, 20_000),
    latency_seconds=20, latency_rounds=3, latency_systems=("causeway", "mm2", "mm2-exactly-once"),
    backlog_megabytes=3_000, growth=(10, 100, 1_000, 5_000),
)  # fmt: skip
"""Everything, in less than two hours on two cores."""

FULL = replace(WHOLE, name="full", shapes=tuple(combinations()))


def rotated(systems: Sequence[T], number: int) -> list[T]:
    """The order of the systems in a round: each is first once before one is first again."""
    first = number % len(systems) if systems else 0
    return [*systems[first:], *systems[:first]]
