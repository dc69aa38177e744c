"""A run as it was seen from the destination, and the figures it gives. Pure.

Throughput is from the first arrival that was seen until everything is there, so a start costs nothing here;
what it costs is `first_seconds`. What a mirror uses in its steady state is taken from the second half: by
then a JVM has compiled what it is going to compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW_SECONDS = 1.0
STEADY = 0.8
"""A mirror is in its steady state when a window carries this share of what the second half carries."""


@dataclass(frozen=True)
class Sight:
    at: float  # seconds since the command
    arrived: int  # records that a read_committed reader sees
    cpu: float  # seconds, of all processes of the mirror
    memory: int  # bytes, likewise


class TooFew(ValueError):
    """The records arrived faster than anybody could look."""


def first(course: Sequence[Sight]) -> Sight:
    return next(sight for sight in course if sight.arrived > 0)


def middle(course: Sequence[Sight]) -> Sight:
    """Where half of what was to come had come."""
    began = first(course)
    half = began.arrived + (course[-1].arrived - began.arrived) / 2
    return next(sight for sight in course if sight.arrived >= half)


def rate(since: Sight, until: Sight) -> float:
    """Records a second between two sights. Raises TooFew where they are one."""
    if until.at <= since.at or until.arrived <= since.arrived:
        raise TooFew("all records arrived between two looks: a run needs more of them")
    return (until.arrived - since.arrived) / (until.at - since.at)


def cpu_per_million(since: Sight, until: Sight) -> float:
    """Seconds of processor time for a million records."""
    if until.arrived <= since.arrived:
        raise TooFew("all records arrived between two looks: a run needs more of them")
    return (until.cpu - since.cpu) / (until.arrived - since.arrived) * 1e6


def steady_at(course: Sequence[Sight]) -> float:
    """Seconds from the command until the mirror first carried at its steady pace for a whole window."""
    pace = STEADY * rate(middle(course), course[-1])
    start = 0
    began = first(course)
    for sight in course:
        while course[start + 1].at <= sight.at - WINDOW_SECONDS:
            start += 1
        window = course[start]
        whole = window.at >= began.at and sight.at - window.at >= WINDOW_SECONDS
        if whole and (sight.arrived - window.arrived) / (sight.at - window.at) >= pace:
            return window.at
    return middle(course).at  # faster than a window: what is left is its second half


def figures(course: Sequence[Sight], size: int) -> dict[str, float]:
    """Everything that a throughput run says. Raises TooFew."""
    began, half, ended = first(course), middle(course), course[-1]
    pace = rate(began, ended)
    return {
        "records_per_second": pace,
        "megabytes_per_second": pace * size / 1e6,
        "steady_records_per_second": rate(half, ended),
        "carrying_seconds": ended.at - began.at,
        "cpu_per_million": cpu_per_million(half, ended),
        "cpu_per_million_whole": cpu_per_million(began, ended),
        "memory_megabytes": max(sight.memory for sight in course) / 1e6,
        "first_seconds": began.at,
        "steady_seconds": steady_at(course),
    }


def thinned(course: Sequence[Sight], most: int = 200) -> list[Sight]:
    """Few enough for a plot, the last one always among them."""
    step = max(1, -(-len(course) // most))
    return [*course[::step], *course[-1:]] if (len(course) - 1) % step else list(course[::step])
