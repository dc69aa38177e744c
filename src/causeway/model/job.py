"""A comparison of both sides that was started from the page, and goes on by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JobState = Literal["running", "equal", "different", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    mirror: str
    state: JobState
    started_at: int  # milliseconds
    ended_at: int = -1  # -1 while it runs
    lines: tuple[str, ...] = ()  # what it said last, the oldest first
