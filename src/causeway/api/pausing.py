"""Requests to pause or to resume running mirrors, and the wait until they took effect."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from causeway.core.snapshot import ENDED, MirrorView
from causeway.errors import Unreachable
from causeway.replication.run import Run

POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class PauseOrResume:
    run: Run
    mirrors: Sequence[str]
    paused: bool  # False: resume

    def make(self, by: str) -> None:
        """Request it in the name of `by`."""
        for name in self.mirrors:
            self.run.request(name, paused=self.paused, by=by)

    def wait(self, seconds: float, ended: threading.Event) -> None:
        """Return when it took effect; raises Unreachable if that takes longer, or if the mirror ends."""
        deadline = time.monotonic() + seconds
        while waiting := [view for view in self._views() if not self._took_effect(view)]:
            view = waiting[0]
            if time.monotonic() > deadline or view.state in ENDED:
                cluster = f", for {view.waiting_for}" if view.waiting_for else ""
                raise Unreachable(
                    f"the mirror was requested to {'pause' if self.paused else 'resume'}, and has not yet",
                    where=f'mirror "{view.name}"',
                    why=f"it is {view.state}{cluster}",
                    todo="call it again to wait longer: the request remains",
                )
            ended.wait(POLL_SECONDS)

    def _views(self) -> list[MirrorView]:
        return [view for view in self.run.snapshot().mirrors if view.name in self.mirrors]

    def _took_effect(self, view: MirrorView) -> bool:
        # A mirror that waits for a cluster may still replicate; one that is "paused" does not.
        return view.state == "paused" if self.paused else view.state != "paused" and not view.paused_by
