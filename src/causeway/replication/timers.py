"""Intervals of what the driver does again and again."""

from __future__ import annotations

import time


class Timers:
    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def due(self, what: str, every: float) -> bool:
        """Whether `every` seconds have passed since this returned True for `what`; True at the first call."""
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True
