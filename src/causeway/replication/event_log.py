"""The events of a mirror: each one is passed on at once, and the last KEPT are kept for the status."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from causeway.core.clock import now_ms
from causeway.core.ledger_record import Stopped
from causeway.core.position import SourcePartition
from causeway.core.snapshot import EventLevel, EventView

KEPT = 200

SayEvent = Callable[[str, EventView], None]
"""Reports an event: the mirror's name, and the event."""


def level(text: str) -> EventLevel:
    """The level of a ledger event. An older version may have written it: an unknown level is info."""
    return "error" if text == "error" else "warning" if text == "warning" else "info"


class EventLog:
    def __init__(self, mirror: str, say: SayEvent) -> None:
        self._mirror = mirror
        self._say = say
        self._reported: set[str] = set()
        self._kept: deque[EventView] = deque(maxlen=KEPT)

    def report(
        self,
        level: EventLevel,
        what: str,
        *,
        todo: str = "",
        shard: int | None = None,
        source: SourcePartition | None = None,
        offset: int | None = None,
        at: int | None = None,
        stop: Stopped | None = None,
    ) -> None:
        topic, partition = (source.topic, source.partition) if source else ("", -1)
        numbers = (stop.expected, stop.found, stop.gone) if stop else ()
        event = EventView(
            now_ms() if at is None else at,
            level,
            what,
            todo,
            shard or 0,
            topic,
            partition,
            -1 if offset is None else offset,
            *numbers,
        )
        self._kept.appendleft(event)
        self._say(self._mirror, event)

    def report_once(self, level: EventLevel, what: str, **more: Any) -> None:
        """Report the same text only once."""
        if what not in self._reported:
            self._reported.add(what)
            self.report(level, what, **more)

    def report_all(self, level: EventLevel, texts: list[str]) -> None:
        """Report each of these texts, and remove it from the list."""
        while texts:
            self.report(level, texts.pop(0))

    def report_stopped(self, stop: Stopped) -> None:
        """Report a stopped partition: the same finding only once, however often it is judged again."""
        what = f"{stop.source} stopped ({stop.verdict}): {stop.what}"
        self.report_once("error", what, todo=stop.todo, source=stop.source, offset=stop.expected, stop=stop)

    @property
    def kept(self) -> tuple[EventView, ...]:
        """The newest event first."""
        return tuple(self._kept)
