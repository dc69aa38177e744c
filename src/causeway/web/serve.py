"""Serves the application on a port, in a thread of the process that runs the mirrors."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from functools import partial

import uvicorn
from starlette.applications import Starlette

from causeway.errors import SetupError
from causeway.web.connections import Connection
from causeway.web.tls import Certificate

HOST, PORT = "127.0.0.1", 7081
START_SECONDS = 20.0
STOP_SECONDS = 5.0


class Server:
    """Serves from `start` to `stop`. Leaves signals to the caller, and does not log requests."""

    def __init__(
        self,
        application: Starlette,
        host: str = HOST,
        port: int = PORT,
        certificate: Certificate | None = None,
    ) -> None:
        self._application = application
        self._host = host
        self._port = port
        self._scheme = "https" if certificate else "http"
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                loop="asyncio",
                http=partial(Connection, certificate=certificate),  # type: ignore[arg-type]
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self.address = ""
        """Where it serves, with the actual port; empty before `start`."""

    def start(self) -> None:
        """Raises SetupError if it cannot listen there."""
        self._socket = self._bound()
        host, port = self._socket.getsockname()[:2]
        self.address = f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="web", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise SetupError("the web server did not start", where=self.address)
            time.sleep(0.01)

    def stop(self) -> None:
        """Ends the streams, then the server; may be called twice."""
        self._application.state.feed.close()
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()

    async def _serve(self) -> None:
        assert self._socket is not None
        await self._server.serve(sockets=[self._socket])
        # serve() has waited for clients that do not read their response. It leaves these connections open,
        # so the client would wait until this process ends: abort them.
        for connection in self._server.server_state.connections:
            connection.transport.abort()

    def _bound(self) -> socket.socket:
        """Binds here instead of in uvicorn, which would end the process if it cannot."""
        where = f"{self._host}:{self._port}"
        try:
            family, *_, address = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            return socket.create_server((address[0], self._port), family=family)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            raise SetupError(
                "the page's port is in use" if taken else "the page cannot be served on this address",
                where=where,
                why="" if taken else str(error.strerror or error),
                todo="set another `port` under [web] (0: any free port), or stop the program that uses it",
            ) from None
