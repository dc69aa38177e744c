"""What a mirror says: to whoever listens, at once, and to whoever looks later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from causeway.model.position import SourcePartition
from causeway.model.record import Stopped
from causeway.model.snapshot import EventView, Level
from causeway.pipeline.memory import now_ms

KEPT = 200

Say = Callable[[str, EventView], None]
"""Tell people: of which mirror, and what."""


def level(text: str) -> Level:
    """The level of an event in the ledger, which an older version may have written."""
    return "error" if text == "error" else "warning" if text == "warning" else "info"


class Telling:
    def __init__(self, mirror: str, say: Say) -> None:
        self._mirror = mirror
        self._say = say
        self._said: set[str] = set()
        self._kept: deque[EventView] = deque(maxlen=KEPT)

    def tell(
        self,
        level: Level,
        what: str,
        *,
        todo: str = "",
        shard: int = 0,
        source: SourcePartition | None = None,
        offset: int = -1,
        at: int = 0,
        stop: Stopped | None = None,
    ) -> None:
        topic, partition = (source.topic, source.partition) if source else ("", -1)
        numbers = (stop.expected, stop.found, stop.gone) if stop else ()
        event = EventView(at or now_ms(), level, what, todo, shard, topic, partition, offset, *numbers)
        self._kept.appendleft(event)
        self._say(self._mirror, event)

    def once(self, level: Level, what: str, **more: Any) -> None:
        """The same words only once."""
        if what not in self._said:
            self._said.add(what)
            self.tell(level, what, **more)

    def stopped(self, stop: Stopped) -> None:
        """A partition stands still: the same finding only once, however often it is judged again."""
        what = f"{stop.source} stopped ({stop.verdict}): {stop.what}"
        self.once("error", what, todo=stop.todo, source=stop.source, offset=stop.expected, stop=stop)

    @property
    def kept(self) -> tuple[EventView, ...]:
        """The latest first."""
        return tuple(self._kept)
