"""A TCP proxy between clients and one broker that separates Kafka's requests and responses.

Loopback only; an event loop in its own thread, for any number of connections. Every fault may be
requested from any thread, also from `on_request`; `heal()` ends those that last:

    cut()                       no connection, old or new
    mute(way, late=…)           one direction is dead, the connections stay open; its frames are delivered
                                when it heals, even if the sender has closed, or they are lost: then the
                                first frame after that resets the connection, as TCP knows no gaps
    delay(seconds)              in each direction, in order
    limit(bytes_per_second)     in each direction, for all connections together

and these happen once:

    reset()                     every connection, as a crashed machine does it
    tear(way, api)              the next frame of a kind ends in the middle, with a reset
    hold(api, …), release()     the next request of a kind is kept and its sender dropped; delivered late
    lose_answer(api, …)         the broker handles the next request of a kind; its response is lost
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import threading
from collections.abc import Callable
from typing import TypeVar

from support.wire import BUFFER_BYTES, Link, Way, Wire

PRODUCE = 0
FETCH = 1
LIST_OFFSETS = 2
ADD_PARTITIONS_TO_TXN = 24
END_TXN = 26
DESCRIBE_CONFIGS = 32

T = TypeVar("T")


class Proxy:
    def __init__(self, port: int = 0) -> None:
        listener = socket.create_server(("127.0.0.1", port))
        self.port: int = listener.getsockname()[1]
        self._target = 0
        self._cut = False
        self._links: set[Link] = set()
        self._loop = asyncio.new_event_loop()
        self._wire = Wire()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{self.port}", daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._serve(listener), self._loop).result()

    def target(self, port: int) -> None:
        self._target = port

    @property
    def seen(self) -> dict[int, int]:
        """Requests received, by api key."""
        return self._wire.seen

    @property
    def carried(self) -> dict[Way, int]:
        """Bytes that were delivered, by direction."""
        return self._wire.carried

    @property
    def stopped(self) -> dict[Way, int]:
        """Frames and ends of connections that a dead direction did not deliver, by direction."""
        return self._wire.stopped

    @property
    def held(self) -> threading.Event:
        """Set once a request is held."""
        return self._wire.held

    @property
    def lost(self) -> threading.Event:
        """Set once a response was lost."""
        return self._wire.lost

    @property
    def torn(self) -> threading.Event:
        """Set once a frame was torn."""
        return self._wire.torn

    @property
    def on_request(self) -> Callable[[int, bytes], None]:
        return self._wire.on_request

    @on_request.setter
    def on_request(self, look: Callable[[int, bytes], None]) -> None:
        """Called with the api key and the body of each request before it is passed on."""
        self._wire.on_request = look

    def cut(self) -> None:
        def drop() -> None:
            self._cut = True
            for link in list(self._links):
                link.drop()

        self._do(drop)

    def heal(self) -> None:
        def open_again() -> None:
            self._cut = False
            self._wire.delay = self._wire.rate = 0.0
            self._wire.unmute()

        self._do(open_again)

    def mute(self, way: Way, *, late: bool = False) -> None:
        self._do(lambda: self._wire.mute(way, late))

    def delay(self, seconds: float) -> None:
        self._wire.delay = seconds

    def limit(self, bytes_per_second: float) -> None:
        self._wire.rate = bytes_per_second

    def reset(self) -> None:
        def drop() -> None:
            for link in list(self._links):
                link.drop(reset=True)

        self._do(drop)

    def tear(self, way: Way, api: int) -> None:
        self._wire.tear = (way, api)

    def hold(self, api: int, containing: bytes = b"") -> None:
        self._wire.hold = (api, containing)

    def release(self) -> None:
        """Deliver the held request now, on its own connection."""
        self._do(self._wire.release)

    def lose_answer(self, api: int, containing: bytes = b"", *, hang_up: bool = True) -> None:
        """With `hang_up` the connection is closed instead; otherwise later responses are delivered."""
        self._wire.lose = (api, containing, hang_up)

    def close(self) -> None:
        """Raises errors of the proxy, including those of `on_request`."""
        if self._loop.is_closed():
            return
        self.cut()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        for error in self._wire.errors:
            raise error

    async def _serve(self, listener: socket.socket) -> asyncio.Server:
        return await asyncio.start_server(self._accept, sock=listener, limit=BUFFER_BYTES)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._cut:
                raise ConnectionRefusedError
            connecting = asyncio.open_connection("127.0.0.1", self._target, limit=BUFFER_BYTES)
            upstream = await asyncio.wait_for(connecting, 5)
        except (OSError, TimeoutError):
            writer.transport.abort()
            return
        link = Link(self._wire, (reader, writer), upstream)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    async def _end(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close one turn of the loop later

    def _do(self, act: Callable[[], T]) -> T:
        """Run in the loop's thread; done when this returns."""
        if threading.current_thread() is self._thread:
            return act()
        done: concurrent.futures.Future[T] = concurrent.futures.Future()

        def run() -> None:
            try:
                done.set_result(act())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(10)
