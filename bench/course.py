"""The course of a run, observed at the destination, and the figures computed from it. Pure.

Throughput is measured from the first observed arrival to the last, so it does not include the start;
that is `first_seconds`. The usage in steady state is taken from the second half: by
then the JVM's compiler has finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WINDOW_SECONDS = 1.0
STEADY = 0.8
"""A mirror is in steady state when a window reaches this share of the second half's rate."""


@dataclass(frozen=True)
class Sight:
    at: float  # seconds since the command
    arrived: int  # records that a read_committed reader sees
    cpu: float  # seconds, of all processes of the mirror
    memory: int  # bytes, likewise


class TooFew(ValueError):
    """All records arrived between two samples."""


def first(course: Sequence[Sight]) -> Sight:
    return next(sight for sight in course if sight.arrived > 0)


def middle(course: Sequence[Sight]) -> Sight:
    """The first sight at which half of the records have arrived."""
    began = first(course)
    half = began.arrived + (course[-1].arrived - began.arrived) / 2
    return next(sight for sight in course if sight.arrived >= half)


def rate(since: Sight, until: Sight) -> float:
    """Records per second between two sights. Raises TooFew if they are the same."""
    if until.at <= since.at or until.arrived <= since.arrived:
        raise TooFew("all records arrived between two samples: the run needs more records")
    return (until.arrived - since.arrived) / (until.at - since.at)


def cpu_per_million(since: Sight, until: Sight) -> float:
    """CPU seconds per million records."""
    if until.arrived <= since.arrived:
        raise TooFew("all records arrived between two samples: the run needs more records")
    return (until.cpu - since.cpu) / (until.arrived - since.arrived) * 1e6


def steady_at(course: Sequence[Sight]) -> float:
    """Seconds from the command until the mirror first replicates at its steady rate for a whole window."""
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
    return middle(course).at  # the run is shorter than a window: use its second half


def figures(course: Sequence[Sight], size: int) -> dict[str, float]:
    """All figures of a throughput run. Raises TooFew."""
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
    """At most `most` sights, for a plot; always with the last one."""
    step = max(1, -(-len(course) // most))
    return [*course[::step], *course[-1:]] if (len(course) - 1) % step else list(course[::step])
