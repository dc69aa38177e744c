"""Which shards of a slice send heartbeats. Nothing else detects a worker that hangs."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable

REASON_SECONDS = 120.0
"""A shard that reports why it commits nothing is alive. It repeats that about once a minute."""

EXCUSED_SECONDS = 600.0
"""How long a reason that the driver found may excuse a silent shard: it may hang for another reason."""

STARTING_SECONDS = 45.0
"""Extra time until a shard's first heartbeat: a busy machine takes long to start Python workers."""


class Liveness:
    def __init__(self) -> None:
        self._heard: dict[int, float] = {}
        self._begun: dict[int, tuple[int, float]] = {}  # its newest slice, and when it began that slice
        self._last: dict[int, str] = {}  # the last warning of each shard
        self._explained: dict[int, float] = {}  # shards that reported why they commit nothing, and when
        self._excused: dict[int, float] = {}  # shards that the driver knows a reason for, and when
        self._signs: dict[int, float] = {}  # when each really sent a heartbeat, or began
        self.ended = 0  # how many shards have finished this slice: their silence is expected

    def begin(self, shards: Iterable[int]) -> None:
        """A slice begins."""
        now = time.monotonic()
        self._heard = dict.fromkeys(shards, now + STARTING_SECONDS)
        self._signs = {shard: self._signs.get(shard, now) for shard in self._heard}
        self.ended = 0

    def heard(self, shard: int, slice_number: int, age: float) -> None:
        """A heartbeat of a task that is `age` seconds old."""
        self._heard[shard] = self._signs[shard] = time.monotonic()
        self._explained.pop(shard, None)  # it commits again: from now on silence may mean that it hangs
        self._excused.pop(shard, None)
        if self._begun.get(shard, (0, 0.0))[0] != slice_number:
            self._begun[shard] = slice_number, self._heard[shard] - age

    def said(self, shard: int, what: str, *, why_silent: bool) -> None:
        """A warning of a shard. `why_silent`: it explains why the shard commits no heartbeat either."""
        self._last[shard] = what
        if why_silent:
            self._explained[shard] = time.monotonic()

    def explain(self, shards: Iterable[int]) -> None:
        """The driver knows why these shards commit nothing: ordering their work again would not help."""
        now = time.monotonic()
        self._excused |= {
            shard: now for shard in shards if now - self._signs.get(shard, now) < EXCUSED_SECONDS
        }

    @property
    def long_unheard(self) -> bool:
        """Whether a shard is silent for longer than a reason that the driver found may excuse."""
        now = time.monotonic()
        return any(now - at > EXCUSED_SECONDS for at in self._signs.values())

    def last(self, shard: int) -> str:
        """The last warning of a shard, as part of a sentence."""
        return f" (it said: {self._last[shard]})" if shard in self._last else ""

    def begun(self, slice_number: int, shards: Collection[int]) -> float:
        """When the last of them began this slice; infinity while one of them has sent no heartbeat in it."""
        times = [
            at
            for shard in shards
            for number, at in [self._begun.get(shard, (0, 0.0))]
            if number == slice_number
        ]
        return max(times) if len(times) == len(shards) else math.inf

    def in_order(self, shard: int) -> float:
        """A sort key: shards end their slice in the order in which they began it."""
        return self._begun.get(shard, (0, math.inf))[1]

    def excuse(self) -> None:
        """No shard can send heartbeats now: count silence from now on."""
        now = time.monotonic()
        self._heard = {shard: max(at, now) for shard, at in self._heard.items()}

    def unheard(self, seconds: float) -> bool:
        """Whether a shard sent no heartbeat for this many seconds, or reported that it commits nothing."""
        now = time.monotonic()
        return bool(self._explained) or any(now - at > seconds for at in self._heard.values())

    def silent(self, patience: float) -> int:
        """A shard without a heartbeat for `patience` seconds and without a known reason; 0 if none."""
        now = time.monotonic()
        silent = [
            shard
            for shard, at in self._heard.items()
            if now - at > patience and now - self._reason_at(shard) > REASON_SECONDS
        ]
        return silent[0] if len(silent) > self.ended else 0

    def _reason_at(self, shard: int) -> float:
        return max(self._explained.get(shard, -math.inf), self._excused.get(shard, -math.inf))
