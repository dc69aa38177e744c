"""The history of a run: events in the order in which the harness saw them, as JSON lines on disk.

A workload logs what it sent and its delivery reports, a reader what it found on either side, the harness what
it did (faults, damage) and what it observed (ledger, verdicts, lag). A failed run keeps its history. The
checker uses nothing else.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from faults.content import Content
from faults.events import KINDS, Terms

T = TypeVar("T")
_BY_NAME = {kind.__name__.lower(): kind for kind in KINDS}


class History:
    """Events in their order."""

    def __init__(self, events: Iterable[object]) -> None:
        self.events = tuple(events)

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def terms(self) -> Terms:
        return next(iter(self.of(Terms)), Terms())

    def write(self, path: Path) -> None:
        path.write_text("".join(f"{encode(event)}\n" for event in self.events))

    @staticmethod
    def read(path: Path) -> History:
        """Ignores a last line that a killed harness left unfinished; any other malformed line is an error."""
        *lines, rest = path.read_text().split("\n")
        events = [decode(line) for line in lines]
        if rest:
            with contextlib.suppress(ValueError):
                events.append(decode(rest))
        return History(events)


class Journal:
    """A history that threads append to: each event is on disk before the next one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", buffering=1)
        self._events: list[object] = []
        self._lock = threading.Lock()
        self._zero = time.monotonic()

    def now(self) -> int:
        return int((time.monotonic() - self._zero) * 1000)

    def add(self, *events: object) -> None:
        with self._lock:
            self._file.write("".join(f"{encode(event)}\n" for event in events))
            self._events += events

    def history(self) -> History:
        with self._lock:
            return History(self._events)

    def since(self, number: int) -> list[object]:
        """The events from this one on, without a copy of the whole history."""
        with self._lock:
            return self._events[number:]

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def encode(event: object) -> str:
    assert type(event) in KINDS, event
    body = asdict(event)  # type: ignore[call-overload]
    return json.dumps({"event": type(event).__name__.lower(), **body}, separators=(",", ":"))


def decode(line: str) -> object:
    """The event on a line. Raises ValueError if it is none."""
    try:
        body = json.loads(line)
        kind = _BY_NAME[body.pop("event")]
        known = {field.name for field in fields(kind)}
        return kind(**{name: _thaw(name, body[name]) for name in body if name in known})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an event: {line[:120]}") from error


def _thaw(name: str, value: Any) -> Any:
    if name == "content":
        return Content(**{key: _tuples(part) for key, part in value.items()})
    return _tuples(value)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
