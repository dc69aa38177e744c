"""What a mirror's plan rests on, cheap enough to look at again every few seconds while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from causeway.config import MirrorSettings
from causeway.kafka.admin import ClusterView
from causeway.mirror.routing import Routes, routes
from causeway.model.plan import Refusal
from causeway.pipeline.memory import now_ms
from causeway.policy.batches import LARGEST, limit_of
from causeway.policy.topics import replaces_timestamps, stamping

RESTS = 50
"""Settings are many, and thousands of topics take seconds: so many times as long they are left alone."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Where records go, and which of those topics would not leave them as they are."""

    routes: Routes = field(default_factory=dict)
    stamping: frozenset[str] = frozenset()  # destination topics that replace timestamps
    small: frozenset[tuple[str, int]] = frozenset()  # those that take smaller batches than others, and which
    at: int = field(default=0, compare=False)  # when their settings were looked at
    again_at: float = field(default=0.0, compare=False)  # when that is due once more


UNKNOWN = Shape()


def shape_of(
    mirror: MirrorSettings,
    sources: Mapping[str, ClusterView],
    destination: ClusterView,
    before: Shape = UNKNOWN,
) -> Shape:
    found = routes(mirror, sources, destination)
    if mirror.timestamps == "broker":
        return Shape(found)
    began = time.monotonic()
    if began < before.again_at:
        return replace(before, routes=found)
    at = now_ms()
    configs = destination.configs({route.to for route in found.values()})
    now = time.monotonic()
    replacing = frozenset(name for name in configs if replaces_timestamps(configs[name]))
    limits = frozenset((name, limit) for name in configs if (limit := limit_of(configs[name])) < LARGEST)
    return Shape(found, replacing, limits, at, now + RESTS * (now - began))


def stamped_since(before: Shape, now: Shape, topics: Iterable[str]) -> list[str]:
    """Of these destination topics, those that began to replace timestamps between two looks."""
    return sorted((now.stamping - before.stamping).intersection(topics))


def refused(shape: Shape, topics: Iterable[str]) -> list[Refusal]:
    """What goes to these topics, in the words of a start that is refused."""
    wanted, found = set(topics), []
    for (alias, name), route in shape.routes.items():
        if route.to in wanted:
            why = stamping(route.to)
            found.append(Refusal(alias, name, why.why, why.todo))
    return found
