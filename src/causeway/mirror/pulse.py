"""Which shards of a slice are heard. A worker that hangs is noticed by nobody else."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable

REASON_SECONDS = 120.0
"""A shard that says why it commits nothing is alive, and says so about once a minute."""

STARTING_SECONDS = 45.0
"""A busy machine takes long to start Python workers: up to its first heartbeat a shard has so much more."""


class Pulse:
    def __init__(self) -> None:
        self._heard: dict[int, float] = {}
        self._begun: dict[int, tuple[int, float]] = {}  # its newest slice, and when it began with that
        self._last: dict[int, str] = {}  # what shards said last about what fails
        self._explained: dict[int, float] = {}  # shards that said why they commit nothing, and when
        self.ended = 0  # shards that have done their order of this slice, and are silent by right

    def begin(self, shards: Iterable[int]) -> None:
        """A slice begins."""
        self._heard = dict.fromkeys(shards, time.monotonic() + STARTING_SECONDS)
        self.ended = 0

    def heard(self, shard: int, slice_number: int, age: float) -> None:
        """A sign of life of a task that is so many seconds old."""
        self._heard[shard] = time.monotonic()
        self._explained.pop(shard, None)  # it commits again: when it falls silent now, it may hang
        if self._begun.get(shard, (0, 0.0))[0] != slice_number:
            self._begun[shard] = slice_number, self._heard[shard] - age

    def said(self, shard: int, what: str, *, why_silent: bool) -> None:
        """A warning of a shard; whether it says why the shard commits nothing, heartbeats included."""
        self._last[shard] = what
        if why_silent:
            self._explained[shard] = time.monotonic()

    def last(self, shard: int) -> str:
        """What a shard said last, as a part of a sentence."""
        return f" (it said: {self._last[shard]})" if shard in self._last else ""

    def begun(self, slice_number: int, shards: Collection[int]) -> float:
        """When the last of them began with this slice; never, as long as one was not heard."""
        times = [
            at
            for shard in shards
            for number, at in [self._begun.get(shard, (0, 0.0))]
            if number == slice_number
        ]
        return max(times) if len(times) == len(shards) else math.inf

    def in_order(self, shard: int) -> float:
        """A key that sorts shards as they began with their slice, which is how they will end with it."""
        return self._begun.get(shard, (0, math.inf))[1]

    def excuse(self) -> None:
        """Nobody can be heard now; whoever is silent later is silent from then on."""
        now = time.monotonic()
        self._heard = {shard: max(at, now) for shard, at in self._heard.items()}

    def silent(self, patience: float) -> int:
        """A shard that has not been heard for so many seconds, and has not said why, or 0."""
        now = time.monotonic()
        silent = [
            shard
            for shard, at in self._heard.items()
            if now - at > patience and now - self._explained.get(shard, -math.inf) > REASON_SECONDS
        ]
        return silent[0] if len(silent) > self.ended else 0
