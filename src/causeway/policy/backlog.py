"""How far a mirror is behind, whether that is worth telling, and how fast it becomes less.

    lag         ▇▇▆▆▅▅▄▄▃▃        the mean of the second half of the last seconds against that of the first:
                └first┘└second┘    ends are looked at less often than positions, so single samples jump

Delivering fast is not catching up: new records arrive meanwhile, so the lag itself is watched. A bar that
comes and goes tells nobody anything, so it begins and ends at different lags.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from causeway.model.progress import Backlog

WINDOW_SECONDS = 10.0
EARLY_SECONDS = 3.0
"""With fewer seconds of samples nobody can say how it goes, nor whether it is more than a hiccup."""

BEHIND_SECONDS = 2.0
CAUGHT_UP_SECONDS = 1.0
"""It is behind from one such piece of work on, and until there is less than the other."""

Key = TypeVar("Key", bound=Hashable)


class _Sample(NamedTuple):
    at: float
    left: int
    carried: int


class Catching(Generic[Key]):
    """One mirror on its way to the ends of its partitions."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._counted: frozenset[Key] = frozenset()
        self._most = 0
        self._since: float | None = None  # there has been work to catch up with
        self._told = False

    def saw(
        self,
        now: float,
        positions: Mapping[Key, int],
        ends: Mapping[Key, int],
        stopped: Collection[Key] = (),
        *,
        bounded: bool = False,
    ) -> Backlog | None:
        """Where everything is now. `bounded`: the ends are those of a run that ends there.

        A partition without a position is left out until it has one: where it will begin is not known. So is
        one that is stopped, which never catches up by itself.
        """
        counted = frozenset(key for key in ends if key in positions and key not in stopped)
        left = sum(max(0, ends[key] - positions[key]) for key in counted)
        if counted != self._counted:
            self._count_others(counted, left)
        self._samples.append(_Sample(now, left, sum(positions[key] for key in counted)))
        while now - self._samples[0].at > WINDOW_SECONDS:
            self._samples.popleft()
        self._most = max(self._most, left)
        self._told = left > 0 if bounded else self._is_behind(now, left)
        if not self._told:
            if not bounded:
                self._most = left
            return None
        carried = self._samples[-1].carried - self._samples[0].carried
        return Backlog(left, self._most, self._falls(), moves=carried != 0, bounded=bounded)

    def _count_others(self, counted: frozenset[Key], left: int) -> None:
        """What was done stays done; what has come or gone is no movement."""
        done = self._most - self._samples[-1].left if self._samples else 0
        self._most = done + left
        self._counted = counted
        self._samples.clear()

    def _is_behind(self, now: float, left: int) -> bool:
        first, last = self._samples[0], self._samples[-1]
        per_second = max(0, last.carried - first.carried) / max(last.at - first.at, 1e-9)
        if left <= per_second * (CAUGHT_UP_SECONDS if self._told else BEHIND_SECONDS):
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return self._told or now - self._since >= EARLY_SECONDS

    def _falls(self) -> float | None:
        samples = list(self._samples)
        if samples[-1].at - samples[0].at < EARLY_SECONDS or len(samples) < 2:
            return None
        half = len(samples) // 2
        before, after = samples[:half], samples[half:]
        less = _mean([one.left for one in before]) - _mean([one.left for one in after])
        return less / (_mean([one.at for one in after]) - _mean([one.at for one in before]))


def _mean(values: Collection[float]) -> float:
    return sum(values) / len(values)
