"""What the web server needs from the process that runs the mirrors."""

from __future__ import annotations

from typing import Protocol

from causeway.core.job import Job
from causeway.core.snapshot import Snapshot


class Source(Protocol):
    """`snapshot` returns at once, from memory: it is called twice a second, on the server's event loop.

    Everything else is called in a thread, and may take long. What cannot be done raises a CausewayError,
    whose message and remedy are shown.
    """

    def snapshot(self) -> Snapshot: ...

    def metrics(self) -> bytes:
        """Prometheus' text format."""

    def pause(self, mirror: str, by: str) -> None:
        """Requests a pause; the snapshot's state shows when it has taken effect."""

    def resume(self, mirror: str, by: str) -> None: ...

    def failover(self, mirror: str, pool: str, node: str, by: str, *, force: bool) -> int:
        """Requests another node of a source pool; returns the time of the request.

        `pool` may be empty if there is one, `node` for the next fit one. The snapshot has the results.
        """

    def verify(self, mirror: str) -> str:
        """Starts a comparison of both sides in its own process; returns its id at once."""

    def job(self, id: str) -> Job | None:
        """The progress of a comparison; None for an unknown id."""
