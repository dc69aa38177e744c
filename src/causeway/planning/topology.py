"""What a mirror's plan depends on. It is cheap enough to check every few seconds while the mirror runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from causeway.config import MirrorSettings
from causeway.core.clock import now_ms
from causeway.core.plan import Refusal
from causeway.kafka.admin import ClusterView
from causeway.planning.routing import Routes, routes
from causeway.planning.rules.batch_limits import LARGEST, limit_of
from causeway.planning.rules.timings import timings_of
from causeway.planning.rules.topics import replaces_timestamps, stamping

RESTS = 50
"""Reading the settings of thousands of topics takes seconds: pause for this many times as long afterwards."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The routes, and which of their destination topics replace timestamps or accept only small batches."""

    routes: Routes = field(default_factory=dict)
    stamping: frozenset[str] = frozenset()  # destination topics that replace timestamps
    small: frozenset[tuple[str, int]] = frozenset()  # those that accept only smaller batches; the limit
    without_timings: frozenset[str] = frozenset()  # timings topics that do not exist
    at: int = field(default=0, compare=False)  # when their settings were read
    again_at: float = field(default=0.0, compare=False)  # when to read them again


UNKNOWN = Topology()


def read_topology(
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    before: Topology = UNKNOWN,
) -> Topology:
    routed = routes(mirror, sources, destination)
    absent: frozenset[str] = frozenset()
    if mirror.timings == "topic":
        absent = frozenset(timings_of(routed.values()).keys() - set(destination.topic_names()))
    if mirror.timestamps == "broker":
        return Topology(routed, without_timings=absent)
    began = time.monotonic()
    if began < before.again_at:
        return replace(before, routes=routed, without_timings=absent)
    at = now_ms()
    # A topic whose settings may not be read any more blocks no other one: its shard reports what is missing.
    configs = destination.configs({route.to for route in routed.values()}, denied=set())
    now = time.monotonic()
    replacing = frozenset(name for name in configs if replaces_timestamps(configs[name]))
    limits = frozenset((name, limit) for name in configs if (limit := limit_of(configs[name])) < LARGEST)
    return Topology(routed, replacing, limits, absent, at, now + RESTS * (now - began))


def stamped_since(before: Topology, now: Topology, topics: Iterable[str]) -> list[str]:
    """Of these destination topics, those that began to replace timestamps between two checks."""
    return sorted((now.stamping - before.stamping).intersection(topics))


def refused(topology: Topology, topics: Iterable[str]) -> list[Refusal]:
    """Refusals of the routes to these topics, worded as at the start."""
    wanted, refusals = set(topics), []
    for (alias, name), route in topology.routes.items():
        if route.to in wanted:
            why = stamping(route.to)
            refusals.append(Refusal(alias, name, why.why, why.todo))
    return refusals
