"""Estimates how long work will take, as text. This module decides what a bar shows; bars.py draws it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from causeway.core.plural import counted
from causeway.core.progress import Backlog, MirrorProgress

LONGEST_SECONDS = 30 * 86_400.0  # a longer estimate is useless


@dataclass(frozen=True, slots=True)
class Bar:
    what: str
    share: float  # done, from 0 to 1
    rate: str
    left: str  # the time left, or why it is unknown

    @property
    def percent(self) -> str:
        """Rounded down: only finished work shows 100 %."""
        return f"{math.floor(100 * self.share)} %"


def bar_of(mirror: MirrorProgress) -> Bar | None:
    """A mirror's progress to the end; None if there is nothing to wait for."""
    backlog = mirror.backlog
    if backlog is None or mirror.state not in ("running", "waiting"):
        return None
    share = 1 - backlog.left / backlog.most if backlog.most else 1.0
    return Bar(mirror.mirror, share, f"{mirror.records_per_second:,.0f} records/s", backlog_text(backlog))


def backlog_text(backlog: Backlog) -> str:
    """When the backlog will be replicated; empty if it is too early to estimate."""
    if backlog.falls is None:
        return ""
    if backlog.falls > 0 and backlog.left / backlog.falls < LONGEST_SECONDS:
        return time_left(backlog.left / backlog.falls)
    if backlog.falls < 0 and not backlog.bounded:
        return "lag grows"
    return "lag constant" if backlog.moves else "no progress"


def time_left(seconds: float) -> str:
    """Rounded up, and no more precise than an estimate can be."""
    whole = math.ceil(seconds)
    if whole <= 90:
        return f"{whole} s left"
    minutes = math.ceil(seconds / 60)
    if minutes <= 90:
        return f"{minutes} min left"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min left" if rest else f"{hours} h left"
    days, rest = divmod(hours, 24)
    return f"{days} d {rest} h left" if rest else f"{days} d left"


class ProgressRate:
    """How fast offsets are processed, in pieces, up to a known total; the caller provides the clock."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._started = 0.0
        self._moved = 0.0  # when `done` last increased

    def update(self, now: float, done: int, total: int) -> None:
        """Record the progress. Another total, or less done than before, means new work."""
        if total != self.total or done < self.done:
            self.total, self._started, self._moved = total, now, now
        elif done > self.done:
            self._moved = now
        self.done = done

    @property
    def per_second(self) -> float | None:
        """The rate up to the last finished piece; None before the first."""
        seconds = self._moved - self._started
        return self.done / seconds if self.done and seconds > 0 else None

    def left(self, now: float) -> float | None:
        """Seconds left. While work remains, at least the time since the last finished piece."""
        rate = self.per_second
        if rate is None:
            return None
        waited = now - self._moved
        return max((self.total - self.done) / rate - waited, waited if self.done < self.total else 0.0)

    def text(self, now: float) -> str:
        """Progress, rate and time left."""
        if not self.total:
            return ""
        rate, seconds = self.per_second, self.left(now)
        parts = [f"{self.done:,} of {counted(self.total, 'offset')}"]
        if rate is not None and seconds is not None:
            parts.append(f"{rate:,.0f}/s")
            if self.done < self.total:
                parts.append(time_left(seconds))
        return ", ".join(parts)
