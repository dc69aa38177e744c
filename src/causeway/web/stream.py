"""Sends the current status to every connected client, twice a second, as server-sent events.

There is no queue: a client that is ready gets the current status. A slow client misses some, and holds only
the bytes being sent to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from causeway.core.snapshot import Snapshot
from causeway.web.api_responses import stream_event
from causeway.web.history import History
from causeway.web.source import Source

TICK_SECONDS = 0.5
RETRY_MS = 2_000
CLIENTS = 100

log = logging.getLogger(__name__)


def clock() -> int:
    return time.time_ns() // 1_000_000


class Feed:
    """Takes a snapshot twice a second, even without clients: the history needs it."""

    def __init__(self, source: Source, now: Callable[[], int] = clock) -> None:
        self.history = History()
        self.now = now
        self.clients = 0
        self._source = source
        self._snapshot: Snapshot | None = None
        self._number = 0
        self._encoded: tuple[int, bytes] = (0, b"")
        self._tick = asyncio.Event()
        self._closed = False

    async def run(self) -> None:
        while not self._closed:
            try:
                self.take_snapshot()
            except Exception:
                # The page continues, and shows that its data is old.
                log.exception("taking a snapshot failed")
            tick, self._tick = self._tick, asyncio.Event()
            tick.set()
            await asyncio.sleep(TICK_SECONDS)
        self._tick.set()

    def take_snapshot(self) -> None:
        self._number += 1
        self._snapshot = self._source.snapshot()
        self.history.add(self._snapshot)

    def close(self) -> None:
        """Ends the streams within a tick; callable from any thread."""
        self._closed = True

    async def events(self) -> AsyncIterator[bytes]:
        yield f"retry: {RETRY_MS}\n\n".encode()
        sent = 0
        while not self._closed:
            if self._number > sent:
                sent = self._number
                yield self.event()
            else:
                await self._tick.wait()

    def event(self) -> bytes:
        """The current status as an event, encoded once for all clients."""
        if self._encoded[0] != self._number and self._snapshot is not None:
            data = stream_event(self._snapshot, self.history, self.now()).model_dump_json()
            self._encoded = (self._number, f"id: {self._number}\nevent: status\ndata: {data}\n\n".encode())
        return self._encoded[1]

    async def stream(self, request: Request) -> Response:
        if self.clients >= CLIENTS:
            raise HTTPException(503, f"{CLIENTS} clients are connected already: close some of their pages")
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        return EventStream(self)


class EventStream(StreamingResponse):
    media_type = "text/event-stream"

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed.events(), headers={"X-Accel-Buffering": "no"})
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._feed.clients += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.clients -= 1
            with contextlib.suppress(RuntimeError):  # already closing
                await self.body_iterator.aclose()  # type: ignore[attr-defined]
