"""Events without a server: what a slow client gets, and what the page is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Message, Scope

from causeway.web.stream import EventStream, Feed
from web import made
from web.made import NOW, Shown, mirror, partition, snapshot

SCOPE: Scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
Send = Callable[[Message], Awaitable[None]]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


async def silence() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("the client sends nothing")


def test_a_slow_client_gets_the_current_status() -> None:
    """A thousand snapshots are taken while it reads its first event: none is queued for it."""

    async def scenario() -> list[bytes]:
        feed, sent, gate = Feed(Shown(made.healthy()), lambda: NOW), list[bytes](), asyncio.Event()

        async def send(message: Message) -> None:
            if message.get("body", b"").startswith(b"id:"):
                sent.append(message["body"].split(b"\n")[0])
                await gate.wait()

        feed.take_snapshot()
        watching = asyncio.create_task(EventStream(feed)(SCOPE, silence, send))
        await until(lambda: sent)
        for _ in range(1_000):
            feed.take_snapshot()
        assert len(sent) == 1
        gate.set()
        await until(lambda: len(sent) == 2)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert feed.clients == 0
        return sent

    assert asyncio.run(scenario()) == [b"id: 1", b"id: 1001"]


def test_an_event_is_encoded_once_for_all_clients() -> None:
    feed = Feed(Shown(made.healthy()), lambda: NOW)
    feed.take_snapshot()
    assert feed.event() is feed.event()


def test_an_old_snapshot_is_sent_and_marked_stale() -> None:
    now = NOW
    feed = Feed(Shown(made.healthy()), lambda: now)
    feed.take_snapshot()
    now += 60_000
    feed.take_snapshot()
    assert _data(feed)["stale"] is True


def test_an_event_is_small_with_a_thousand_partitions() -> None:
    feed = Feed(Shown(made.thousand()), lambda: NOW)
    feed.take_snapshot()

    (one,) = _data(feed)["mirrors"]

    assert len(one["partition_lag_seconds"]) == 1_000
    assert one["stopped_indexes"] == [455]
    assert one["stopped_partitions"][0]["name"] == "topic-4[55]"
    assert len(feed.event()) < 10_000


def test_a_partition_without_a_position_has_no_lag() -> None:
    feed = Feed(Shown(snapshot(mirror([partition(position=-1), partition(1)]))), lambda: NOW)
    feed.take_snapshot()
    assert _data(feed)["mirrors"][0]["partition_lag_seconds"] == [None, 0.4]


def test_a_version_changes_with_its_content() -> None:
    shown = Shown(made.healthy())
    feed = Feed(shown, lambda: NOW)

    def versions() -> dict[str, str]:
        feed.take_snapshot()
        found: dict[str, str] = _data(feed)["mirrors"][0]["versions"]
        return found

    before = versions()
    assert versions() == before
    shown.view = made.stopped()
    changed = versions()
    assert {name for name in before if before[name] != changed[name]} == {"events", "gaps"}
    shown.view = snapshot(mirror([partition(0)], configuration="x = 1"))
    assert versions()["layout"] != before["layout"]
    assert versions()["configuration"] != before["configuration"]


def _data(feed: Feed) -> dict[str, Any]:
    data = json.loads(feed.event().decode().split("\ndata: ")[1])
    assert isinstance(data, dict)
    return data
