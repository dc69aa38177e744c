"""The backlog of a mirror: how large it is, whether to show it, and how fast it shrinks. Pure.

    lag         ▇▇▆▆▅▅▄▄▃▃        the mean of the second half of the last seconds against that of the first:
                └first┘└second┘    ends are fetched less often than positions, so single samples jump

A high rate does not mean that the mirror catches up: new records arrive meanwhile, so the lag itself is
watched. A progress bar that flickers is useless, so it appears and disappears at different lags.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from causeway.core.progress import Backlog

WINDOW_SECONDS = 10.0
EARLY_SECONDS = 3.0
"""With samples of fewer seconds, neither the trend nor whether the lag lasts can be known."""

BEHIND_SECONDS = 2.0
CAUGHT_UP_SECONDS = 1.0
"""A mirror is lagging from BEHIND_SECONDS of work on, and until less than CAUGHT_UP_SECONDS is left."""

Key = TypeVar("Key", bound=Hashable)


class _Sample(NamedTuple):
    at: float
    left: int
    replicated: int


class Catching(Generic[Key]):
    """Tracks one mirror that catches up with the ends of its partitions."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._counted: frozenset[Key] = frozenset()
        self._most = 0
        self._since: float | None = None  # since when it is lagging
        self._shown = False

    def saw(
        self,
        now: float,
        positions: Mapping[Key, int],
        ends: Mapping[Key, int],
        stopped: Collection[Key] = (),
        *,
        bounded: bool = False,
    ) -> Backlog | None:
        """Add a sample; returns the backlog, or None if it is not to be shown.

        `bounded`: the run ends at these ends. A partition without a position is left out until it has one:
        where it will begin is not known. So is a stopped one, which never catches up by itself.
        """
        counted = frozenset(key for key in ends if key in positions and key not in stopped)
        left = sum(max(0, ends[key] - positions[key]) for key in counted)
        if counted != self._counted:
            self._count_others(counted, left)
        self._samples.append(_Sample(now, left, sum(positions[key] for key in counted)))
        while now - self._samples[0].at > WINDOW_SECONDS:
            self._samples.popleft()
        self._most = max(self._most, left)
        self._shown = left > 0 if bounded else self._is_behind(now, left)
        if not self._shown:
            if not bounded:
                self._most = left
            return None
        replicated = self._samples[-1].replicated - self._samples[0].replicated
        return Backlog(left, self._most, self._falls(), moves=replicated != 0, bounded=bounded)

    def _count_others(self, counted: frozenset[Key], left: int) -> None:
        """Keep what was done so far; partitions that were added or removed are not progress."""
        done = self._most - self._samples[-1].left if self._samples else 0
        self._most = done + left
        self._counted = counted
        self._samples.clear()

    def _is_behind(self, now: float, left: int) -> bool:
        first, last = self._samples[0], self._samples[-1]
        per_second = max(0, last.replicated - first.replicated) / max(last.at - first.at, 1e-9)
        if left <= per_second * (CAUGHT_UP_SECONDS if self._shown else BEHIND_SECONDS):
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return self._shown or now - self._since >= EARLY_SECONDS

    def _falls(self) -> float | None:
        samples = list(self._samples)
        if samples[-1].at - samples[0].at < EARLY_SECONDS or len(samples) < 2:
            return None
        half = len(samples) // 2
        before, after = samples[:half], samples[half:]
        less = _mean([sample.left for sample in before]) - _mean([sample.left for sample in after])
        return less / (_mean([sample.at for sample in after]) - _mean([sample.at for sample in before]))


def _mean(values: Collection[float]) -> float:
    return sum(values) / len(values)
