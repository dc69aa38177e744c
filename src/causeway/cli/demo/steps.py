"""The demo's progress: one line on stderr per step, and on a terminal the progress within the step."""

from __future__ import annotations

import time

from rich.console import Console
from rich.markup import escape
from rich.status import Status


class Steps:
    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._began = time.monotonic()
        self._status: Status | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """Print a line: a step begins, or something noteworthy happened."""
        self.done()
        self._console.print(f"[dim]{self.seconds:5.1f} s[/dim]  {escape(text)}")

    def now(self, text: str) -> None:
        """Show progress, on a terminal only."""
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status("")
            self._status.start()
        self._status.update(escape(text))

    def done(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
