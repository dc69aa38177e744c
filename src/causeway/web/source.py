"""What the web part asks of the process that runs the mirrors."""

from __future__ import annotations

from typing import Protocol

from causeway.model.job import Job
from causeway.model.snapshot import Snapshot


class Source(Protocol):
    """`snapshot` answers at once, from memory: it is asked twice a second, on the server's own loop.

    Everything else is asked in a thread, and may take its time. What cannot be done raises a CausewayError,
    whose words and remedy are shown.
    """

    def snapshot(self) -> Snapshot: ...

    def metrics(self) -> bytes:
        """Prometheus' text format."""

    def pause(self, mirror: str, by: str) -> None:
        """Asks for it; the snapshot's state says when it has happened."""

    def resume(self, mirror: str, by: str) -> None: ...

    def verify(self, mirror: str) -> str:
        """Starts a comparison of both sides in a process of its own; its id, at once."""

    def job(self, id: str) -> Job | None:
        """How far a comparison is; None for an id that nobody gave out."""
