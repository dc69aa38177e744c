"""How long the oldest record that is not replicated yet has waited, judged by the end offsets seen. Pure.

    ends seen    10:00 5 │ 10:01 8 │ 10:02 9        the position is 6: record 6 came between 10:00 and 10:01
    so           it waits since 10:01 at the latest

The records themselves are not read. Records that existed before the first look count from that look on.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

MOST = 64
"""Ends kept for each partition; above that, every second one of the older half is dropped."""

Key = TypeVar("Key", bound=Hashable)


class Ages(Generic[Key]):
    def __init__(self) -> None:
        self._ends: dict[Key, list[tuple[float, int]]] = {}
        self._first: dict[Key, int] = {}  # where the log ended at the first look

    def saw(self, now: float, ends: Mapping[Key, int], positions: Mapping[Key, int]) -> None:
        """Add the logs' current ends; `positions` are how far each was replicated."""
        for key in [key for key in self._ends if key not in ends]:
            del self._ends[key], self._first[key]
        for key, end in ends.items():
            known = self._ends.setdefault(key, [])
            if known and end < known[-1][1]:
                known.clear()  # another log
            if not known:
                self._first[key] = end
            if not known or end > known[-1][1]:
                known.append((now, end))
            passed = positions.get(key, 0)
            while len(known) > 1 and known[0][1] <= passed:
                del known[0]
            if len(known) > MOST:
                del known[1 : MOST // 2 : 2]

    def age(self, now: float, key: Key, position: int) -> float:
        """Seconds; 0 if everything is replicated."""
        for since, end in self._ends.get(key, ()):
            if end > position:
                return max(0.0, now - since)
        return 0.0

    def older(self, key: Key, position: int) -> bool:
        """Whether records wait that existed at the first look: `age` may be too low for them."""
        return position < self._first.get(key, 0)
