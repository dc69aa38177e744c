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
    raise AssertionError("nobody sends anything")


def test_a_client_that_does_not_read_is_sent_the_present_when_it_does() -> None:
    """A thousand moments pass while its first one is on the way: none of them is kept for it."""

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


def test_a_moment_is_encoded_once_for_all() -> None:
    feed = Feed(Shown(made.healthy()), lambda: NOW)
    feed.take_snapshot()
    assert feed.event() is feed.event()


def test_it_goes_on_while_nothing_new_comes_and_says_that_it_is_old() -> None:
    now = NOW
    feed = Feed(Shown(made.healthy()), lambda: now)
    feed.take_snapshot()
    now += 60_000
    feed.take_snapshot()
    assert _data(feed)["stale"] is True


def test_a_moment_is_small_with_a_thousand_partitions() -> None:
    feed = Feed(Shown(made.thousand()), lambda: NOW)
    feed.take_snapshot()

    (one,) = _data(feed)["mirrors"]

    assert len(one["partition_lag_seconds"]) == 1_000
    assert one["stopped_indexes"] == [455]
    assert one["stopped_partitions"][0]["name"] == "topic-4[55]"
    assert len(feed.event()) < 10_000


def test_a_partition_that_was_not_begun_with_has_no_heat() -> None:
    feed = Feed(Shown(snapshot(mirror([partition(position=-1), partition(1)]))), lambda: NOW)
    feed.take_snapshot()
    assert _data(feed)["mirrors"][0]["partition_lag_seconds"] == [None, 0.4]


def test_a_mark_changes_with_what_it_stands_for() -> None:
    shown = Shown(made.healthy())
    feed = Feed(shown, lambda: NOW)

    def marks() -> dict[str, str]:
        feed.take_snapshot()
        found: dict[str, str] = _data(feed)["mirrors"][0]["versions"]
        return found

    before = marks()
    assert marks() == before
    shown.view = made.stopped()
    changed = marks()
    assert {name for name in before if before[name] != changed[name]} == {"events", "gaps"}
    shown.view = snapshot(mirror([partition(0)], configuration="x = 1"))
    assert marks()["layout"] != before["layout"]
    assert marks()["configuration"] != before["configuration"]


def _data(feed: Feed) -> dict[str, Any]:
    data = json.loads(feed.event().decode().split("\ndata: ")[1])
    assert isinstance(data, dict)
    return data
