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
        self._silent_since: dict[int, float] = {}  # with the extra time, and restarted by `excuse_all`
        self._heartbeat_at: dict[int, float] = {}  # when each really sent a heartbeat, or began
        self._begun: dict[int, tuple[int, float]] = {}  # its newest slice, and when it began that slice
        self._warnings: dict[int, str] = {}  # the last warning of each shard
        self._explained: dict[int, float] = {}  # shards that reported why they commit nothing, and when
        self._excused: dict[int, float] = {}  # shards that the driver knows a reason for, and when
        self.ended = 0  # how many shards have finished this slice: their silence is expected

    def begin(self, shards: Iterable[int]) -> None:
        """A slice begins."""
        now = time.monotonic()
        self._silent_since = dict.fromkeys(shards, now + STARTING_SECONDS)
        self._heartbeat_at = {shard: self._heartbeat_at.get(shard, now) for shard in self._silent_since}
        self.ended = 0

    def on_heartbeat(self, shard: int, slice_number: int, age: float) -> None:
        """A heartbeat of a task that is `age` seconds old."""
        now = time.monotonic()
        self._silent_since[shard] = self._heartbeat_at[shard] = now
        self._explained.pop(shard, None)  # it commits again: from now on silence may mean that it hangs
        self._excused.pop(shard, None)
        known = self._begun.get(shard)
        if known is None or known[0] != slice_number:
            self._begun[shard] = slice_number, now - age

    def on_warning(self, shard: int, what: str, *, why_silent: bool) -> None:
        """A warning of a shard. `why_silent`: it explains why the shard commits no heartbeat either."""
        self._warnings[shard] = what
        if why_silent:
            self._explained[shard] = time.monotonic()

    def last_warning(self, shard: int) -> str | None:
        return self._warnings.get(shard)

    def begun_at(self, slice_number: int, shards: Collection[int]) -> float | None:
        """When the last of them began this slice; None while one of them has sent no heartbeat in it."""
        times = [
            at
            for shard in shards
            for number, at in [self._begun.get(shard, (None, math.inf))]
            if number == slice_number
        ]
        return max(times) if len(times) == len(shards) else None

    def first_begun(self, shard: int) -> float:
        """A sort key: shards end their slice in the order in which they began it."""
        known = self._begun.get(shard)
        return math.inf if known is None else known[1]

    def excuse(self, shards: Iterable[int]) -> None:
        """The driver knows why these shards commit nothing: ordering their work again would not help."""
        now = time.monotonic()
        self._excused |= {
            shard: now for shard in shards if now - self._heartbeat_at.get(shard, now) < EXCUSED_SECONDS
        }

    def excuse_all(self) -> None:
        """No shard can send heartbeats now: count silence from now on."""
        now = time.monotonic()
        self._silent_since = {shard: max(at, now) for shard, at in self._silent_since.items()}

    def missed(self, seconds: float) -> bool:
        """Whether a shard sent no heartbeat for this many seconds, or reported that it commits nothing."""
        now = time.monotonic()
        return bool(self._explained) or any(now - at > seconds for at in self._silent_since.values())

    @property
    def long_silent(self) -> bool:
        """Whether a shard is silent for longer than a reason that the driver found may excuse."""
        now = time.monotonic()
        return any(now - at > EXCUSED_SECONDS for at in self._heartbeat_at.values())

    def silent(self, patience: float) -> int | None:
        """A shard without a heartbeat for `patience` seconds and without a known reason, if there is one."""
        now = time.monotonic()
        silent = [
            shard
            for shard, at in self._silent_since.items()
            if now - at > patience and now - self._reason_at(shard) > REASON_SECONDS
        ]
        return silent[0] if len(silent) > self.ended else None

    def _reason_at(self, shard: int) -> float:
        return max(self._explained.get(shard, -math.inf), self._excused.get(shard, -math.inf))
