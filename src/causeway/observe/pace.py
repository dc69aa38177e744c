"""How long something will take, in words: what a bar shows is decided here, and drawn in bars.py."""

from __future__ import annotations

import math
from dataclasses import dataclass

from causeway.model.progress import Backlog, MirrorProgress

LONGEST_SECONDS = 30 * 86_400.0  # what would take longer has no end that anybody waits for


@dataclass(frozen=True, slots=True)
class Bar:
    what: str
    share: float  # that is done, from 0 to 1
    rate: str
    left: str  # how long it will take, or why nobody can say

    @property
    def percent(self) -> str:
        """Rounded down: 100 % is said of what is done."""
        return f"{math.floor(100 * self.share)} %"


def bar_of(mirror: MirrorProgress) -> Bar | None:
    """A mirror's way to the end, None where there is nothing to wait for."""
    backlog = mirror.backlog
    if backlog is None or mirror.state not in ("running", "waiting"):
        return None
    share = 1 - backlog.left / backlog.most if backlog.most else 1.0
    return Bar(mirror.mirror, share, f"{mirror.records_per_second:,.0f} records/s", outlook(backlog))


def outlook(backlog: Backlog) -> str:
    """When the backlog will be carried; empty when it is too early to say."""
    if backlog.falls is None:
        return ""
    if backlog.falls > 0 and backlog.left / backlog.falls < LONGEST_SECONDS:
        return time_left(backlog.left / backlog.falls)
    if backlog.falls < 0 and not backlog.bounded:
        return "the lag grows"
    return "the lag stays" if backlog.moves else "standing still"


def time_left(seconds: float) -> str:
    """Rounded up, and no finer than a guess is."""
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


class Pace:
    """How fast offsets are gone through, in pieces, up to a known total; the clock is the caller's."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._began = 0.0
        self._moved = 0.0  # when `done` last became more

    def saw(self, now: float, done: int, total: int) -> None:
        """So much is done; another total, or less than before, is other work."""
        if total != self.total or done < self.done:
            self.total, self._began, self._moved = total, now, now
        elif done > self.done:
            self._moved = now
        self.done = done

    @property
    def per_second(self) -> float | None:
        """Until the last piece was done; None before the first."""
        seconds = self._moved - self._began
        return self.done / seconds if self.done and seconds > 0 else None

    def left(self, now: float) -> float | None:
        """Seconds. What is overdue takes at least as long again as it has been waited for."""
        rate = self.per_second
        if rate is None:
            return None
        waited = now - self._moved
        return max((self.total - self.done) / rate - waited, waited if self.done < self.total else 0.0)

    def told(self, now: float) -> str:
        """How far it is, how fast, and how long still."""
        if not self.total:
            return ""
        rate, seconds = self.per_second, self.left(now)
        words = [f"{self.done:,} of {self.total:,} offsets"]
        if rate is not None and seconds is not None:
            words.append(f"{rate:,.0f}/s")
            if self.done < self.total:
                words.append(time_left(seconds))
        return ", ".join(words)
