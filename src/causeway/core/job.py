"""A `verify` that was started from the page and runs on its own."""

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
    lines: tuple[str, ...] = ()  # its last lines of output, oldest first
