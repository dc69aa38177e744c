"""Bounds for clients that do not finish a request: a deadline for each, and a maximum of open connections.

Such a client holds no thread, but a file descriptor of the process that runs the mirrors. uvicorn waits for
the rest of a request for ever, and each byte that arrives restarts its keep-alive timer. With TLS the same
bounds hold for the handshake: asyncio would wait a minute for it, for any number of connections.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from causeway.web.tls import Certificate

CONNECTIONS = 256
REQUEST_SECONDS = 10.0
"""From the first byte of a request, or the start of the connection, to the last byte of its body."""


SHUTDOWN_SECONDS = 2.0
"""How long a client may take to confirm the end of its TLS connection."""


class Connection(H11Protocol):
    """One connection; with a certificate, it begins with a TLS handshake."""

    def __init__(self, *arguments: Any, certificate: Certificate | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._certificate = certificate
        self._deadline: asyncio.TimerHandle | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._early: list[bytes] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._start_deadline()
        if self._certificate is not None:
            transport.pause_reading()  # what arrives now belongs to the handshake
            self._early = []
            self._handshake = self.loop.create_task(self._encrypt(transport, self._certificate))

    async def _encrypt(self, transport: asyncio.Transport, certificate: Certificate) -> None:
        """Nothing is sent before the handshake has ended: `start_tls` closes the connection if it fails."""
        try:
            encrypted = await self.loop.start_tls(
                transport, self, certificate.context(), server_side=True,
                ssl_handshake_timeout=REQUEST_SECONDS, ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )  # fmt: skip
        except OSError:
            encrypted = None
        if encrypted is None:  # the handshake failed, or the client has gone: `connection_lost` may not come
            self._cancel_deadline()
            self.connections.discard(self)
            return
        early, self._early = self._early or [], None
        super().connection_made(encrypted)
        # A client may send its request together with the end of its handshake.
        for data in early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early.append(data)
            return
        super().data_received(data)
        # A request that was rejected early still has its body to come: the deadline runs until the body ends.
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._start_deadline()
        else:
            self._cancel_deadline()

    def send_400_response(self, msg: str) -> None:
        """To a request that proves malformed: perhaps in its body, while it is served or after its response.

        uvicorn would respond in any state, and log a traceback for it: any client could fill the log.
        """
        if self.cycle is not None:
            self.cycle.disconnected = True  # what serves it sends nothing any more
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def _start_deadline(self) -> None:
        """A deadline that is already running is not extended."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._abort)

    def _abort(self) -> None:
        self.transport.abort()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
