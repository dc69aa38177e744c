"""A TCP proxy between a client and one broker that knows where Kafka's requests begin.

Loopback only; one thread a direction. `cut()` drops everything, `hold(api, …)` keeps the next request of
one kind back and drops the connection under the client, `release()` delivers it late.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

END_TXN = 26
ADD_PARTITIONS_TO_TXN = 24


class Proxy:
    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._target = 0
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._cut = False
        self._hold: tuple[int, bytes] | None = None
        self._held: tuple[socket.socket, bytes] | None = None
        self.seen: dict[int, int] = {}  # requests passed on, by api key
        self.held = threading.Event()
        self.on_request: Callable[[int, bytes], None] = lambda api, body: None
        threading.Thread(target=self._accept, daemon=True).start()

    def target(self, port: int) -> None:
        self._target = port

    def cut(self) -> None:
        """No connection, old or new."""
        with self._lock:
            self._cut = True
            for connection in list(self._open):
                self._drop(connection)

    def heal(self) -> None:
        self._cut = False

    def hold(self, api: int, containing: bytes) -> None:
        """Keep the next request of this kind, and let its sender lose the connection."""
        self._hold = (api, containing)

    def release(self) -> None:
        """Deliver the held request now, on the connection it came for."""
        assert self._held is not None
        upstream, frame = self._held
        self._held = None
        upstream.sendall(frame)

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._cut:
                client.close()
                continue
            try:
                upstream = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                client.close()
                continue
            upstream.settimeout(None)
            for connection in (client, upstream):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.add(connection)
            threading.Thread(target=self._requests, args=(client, upstream), daemon=True).start()
            threading.Thread(target=self._answers, args=(upstream, client), daemon=True).start()

    def _requests(self, client: socket.socket, upstream: socket.socket) -> None:
        """Whole frames, so that one of them can be held."""
        keep_upstream = False
        try:
            while True:
                head = self._exactly(client, 4)
                (length,) = struct.unpack(">i", head)
                body = self._exactly(client, length)
                (api,) = struct.unpack(">h", body[:2])
                self.seen[api] = self.seen.get(api, 0) + 1
                self.on_request(api, body)
                if self._hold and api == self._hold[0] and self._hold[1] in body:
                    self._hold = None
                    self._held = (upstream, head + body)
                    keep_upstream = True
                    self.held.set()
                    return
                upstream.sendall(head + body)
        except (OSError, EOFError):
            pass
        finally:
            self._drop(client)
            if not keep_upstream:
                self._drop(upstream)

    def _answers(self, upstream: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := upstream.recv(65536):
                with contextlib.suppress(OSError):
                    client.sendall(data)
        self._drop(client)

    @staticmethod
    def _exactly(connection: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def _drop(self, connection: socket.socket) -> None:
        self._open.discard(connection)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
