"""What happens to Kafka's frames between clients and one broker: the implementation of the proxy.

A `Wire` is the state of the line, shared by all connections through it; a `Link` is one connection.
Everything here runs in the proxy's event loop.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Literal

Way = Literal["requests", "answers"]
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]

BUFFER_BYTES = 4 * 1024 * 1024
"""At most this much of one connection is in flight; then its sender has to wait."""
SLICE_SECONDS = 0.02
"""A limited line is handed out in slices of this length, so that connections share it."""


class Wire:
    def __init__(self) -> None:
        self.delay = 0.0
        self.rate = 0.0  # bytes a second, each way; 0 for no limit
        self.tear: tuple[Way, int] | None = None
        self.hold: tuple[int, bytes] | None = None
        self.lose: tuple[int, bytes, bool] | None = None
        self.seen: Counter[int] = Counter()
        self.carried: Counter[Way] = Counter()
        self.stopped: Counter[Way] = Counter()
        self.held, self.lost, self.torn = threading.Event(), threading.Event(), threading.Event()
        self.on_request: Callable[[int, bytes], None] = lambda api, body: None
        self.errors: list[BaseException] = []
        self._kept: tuple[asyncio.StreamWriter, bytes] | None = None
        self._muted: dict[Way, bool] = {}  # whether frames in that direction are delivered later
        self._speaks = asyncio.Event()
        self._free_at: dict[Way, float] = {}

    def mute(self, way: Way, late: bool) -> None:
        self._muted[way] = late
        self._speaks.clear()

    def unmute(self) -> None:
        self._muted.clear()
        self._speaks.set()

    def keep(self, upstream: asyncio.StreamWriter, frame: bytes) -> None:
        self._kept = (upstream, frame)
        self.held.set()

    def release(self) -> None:
        assert self._kept is not None, "nothing is held"
        upstream, frame = self._kept
        self._kept = None
        upstream.write(frame)

    async def speaks(self, way: Way, *, loses: bool = True) -> bool:
        """Wait while this direction is dead. False if it `loses` what comes meanwhile."""
        self.stopped[way] += way in self._muted
        while way in self._muted:
            if loses and not self._muted[way]:
                return False
            await self._speaks.wait()
        return True

    async def send(self, way: Way, data: bytes, to: asyncio.StreamWriter) -> None:
        while data:
            rate = self.rate
            size = max(1, int(rate * SLICE_SECONDS)) if rate else len(data)
            piece, data = data[:size], data[size:]
            if rate:
                now = time.monotonic()
                self._free_at[way] = max(now, self._free_at.get(way, 0.0)) + len(piece) / rate
                await asyncio.sleep(self._free_at[way] - now)
            to.write(piece)
            await to.drain()
            self.carried[way] += len(piece)


class Link:
    """One connection. A closed end closes the other one, after everything in flight."""

    def __init__(self, wire: Wire, client: Ends, upstream: Ends) -> None:
        self._wire = wire
        self._client, self._upstream = client, upstream
        self._asked: dict[int, int] = {}  # api by correlation id: requests without a response yet
        self._losing: dict[int, bool] = {}  # responses to lose, and whether to close the connection
        self._keeps_upstream = False
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Run until both ends are closed."""
        requests, answers = _Line(), _Line()
        self._tasks = [
            asyncio.create_task(task)
            for task in (
                self._take(self._client[0], requests), self._pass_on("requests", requests),
                self._take(self._upstream[0], answers), self._pass_on("answers", answers),
            )
        ]  # fmt: skip
        try:
            await asyncio.gather(*self._tasks)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # raised when the proxy is closed
            self._wire.errors.append(error)
        finally:
            self.drop()

    def drop(self, *, reset: bool = False) -> None:
        """Close both ends at once; with `reset` without a FIN."""
        for task in self._tasks:
            task.cancel()
        for _, writer in (self._client, self._upstream):
            if not writer.transport.is_closing() and reset:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader, line: _Line) -> None:
        """Read whole frames, so that each can be handled by itself."""
        try:
            while True:
                head = await reader.readexactly(4)
                body = await reader.readexactly(*struct.unpack(">i", head))
                await line.put(time.monotonic() + self._wire.delay, head + body)
        except (OSError, EOFError):
            await line.put(time.monotonic() + self._wire.delay, b"")

    async def _pass_on(self, way: Way, line: _Line) -> None:
        wire, to = self._wire, (self._upstream if way == "requests" else self._client)[1]
        gap = False  # TCP delivers nothing after lost bytes: the connection can only be reset
        try:
            while frame := await line.get():
                if not await wire.speaks(way):
                    gap = True
                    continue
                if gap:
                    self.drop(reset=True)
                    return
                api = self._request(frame) if way == "requests" else self._answer(frame)
                if self._keeps_upstream:
                    return
                if api is None:
                    continue
                if wire.tear == (way, api):
                    wire.tear = None
                    await wire.send(way, frame[: len(frame) // 2], to)
                    self.drop(reset=True)
                    wire.torn.set()
                    return
                await wire.send(way, frame, to)
            await wire.speaks(way, loses=False)  # a dead line does not deliver an end either
        except OSError:
            pass
        to.close()

    def _request(self, frame: bytes) -> int | None:
        """Its api key; None if it is not passed on."""
        wire, body = self._wire, frame[4:]
        api, _, correlation = struct.unpack(">hhi", body[:8])
        wire.seen[api] += 1
        wire.on_request(api, body)
        self._asked[correlation] = api
        if wire.hold and api == wire.hold[0] and wire.hold[1] in body:
            wire.hold = None
            self._keeps_upstream = True
            self._client[1].transport.abort()
            wire.keep(self._upstream[1], frame)
            return None
        if wire.lose and api == wire.lose[0] and wire.lose[1] in body:
            self._losing[correlation] = wire.lose[2]
            wire.lose = None
        return int(api)

    def _answer(self, frame: bytes) -> int | None:
        (correlation,) = struct.unpack(">i", frame[4:8])
        api = self._asked.pop(correlation, None)
        if correlation in self._losing:
            if self._losing.pop(correlation):
                self.drop()
            self._wire.lost.set()
            return None
        return api


class _Line:
    """Frames in flight, in order, each with its time of arrival; an empty one is the end."""

    def __init__(self) -> None:
        self._frames: deque[tuple[float, bytes]] = deque()
        self._bytes = 0
        self._changed = asyncio.Condition()

    async def put(self, due: float, frame: bytes) -> None:
        async with self._changed:
            while self._bytes > BUFFER_BYTES:
                await self._changed.wait()
            self._frames.append((due, frame))
            self._bytes += len(frame)
            self._changed.notify_all()

    async def get(self) -> bytes:
        async with self._changed:
            while not self._frames:
                await self._changed.wait()
            due, frame = self._frames[0]
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        async with self._changed:
            self._frames.popleft()
            self._bytes -= len(frame)
            self._changed.notify_all()
        return frame
