"""Bounds for clients that do not finish a request: a deadline for each, and a maximum of open connections.

Such a client holds no thread, but a file descriptor of the process that runs the mirrors. uvicorn waits for
the rest of a request for ever, and each byte that arrives restarts its keep-alive timer.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 256
REQUEST_SECONDS = 10.0
"""From the first byte of a request, or the start of the connection, to the last byte of its body."""


class Connection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
        else:
            self._start_deadline()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # A request that was rejected early still has its body to come: the deadline runs until the body ends.
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._start_deadline()
        else:
            self._cancel_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def _start_deadline(self) -> None:
        """A deadline that is already running is not extended."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
