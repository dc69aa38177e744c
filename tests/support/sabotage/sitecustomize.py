"""On the path of a saboteur's run: a relay that drops, repeats or swaps one record.

`SABOTAGE=kind:offset` breaks the records at that offset of partition 0 on their way, in whatever process
loads the producer. No hook for it exists in the product.

How many records come at a time is not up to the saboteur: two are swapped where two come together, at that
offset or after it; and only a partition's last record can be repeated, for every later one would have to move
by one.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

TARGET = "causeway.kafka.producer"


class Message:
    """A message with another offset or another content than the real one."""

    def __init__(self, real: Any, offset: int | None = None, **changed: Any) -> None:
        self._real, self._offset, self._changed = real, offset, changed

    def __getattr__(self, name: str) -> Any:
        if name == "offset" and self._offset is not None:
            return lambda: self._offset
        if name in self._changed:
            return lambda: self._changed[name]
        return getattr(self._real, name)


def sabotage(kind: str, at: int, messages: list[Any]) -> list[Any]:
    if kind == "swap":
        return _swapped(at, messages)
    index = next((n for n, m in enumerate(messages) if m.partition() == 0 and m.offset() == at), None)
    if index is None:
        return messages
    message = messages[index]
    if kind == "drop":
        return messages[:index] + messages[index + 1 :]
    if kind == "change":
        return [*messages[:index], Message(message, value=b"changed"), *messages[index + 1 :]]
    assert kind == "repeat"
    # Under the next offset, so that nothing downstream can tell.
    return [*messages[: index + 1], Message(message, offset=at + 1), *messages[index + 1 :]]


_swaps: list[int] = []


def _swapped(at: int, messages: list[Any]) -> list[Any]:
    for index, (one, other) in enumerate(pairwise(messages)):
        if not _swaps and one.partition() == other.partition() == 0 and one.offset() >= at:
            _swaps.append(one.offset())
            swapped = [Message(other, offset=one.offset()), Message(one, offset=other.offset())]
            return messages[:index] + swapped + messages[index + 2 :]
    return messages


class Saboteur(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            kind, at = os.environ["SABOTAGE"].split(":")
            honest = module.DestinationProducer.replicate
            module.DestinationProducer.replicate = lambda self, messages, states, *rest: honest(
                self, sabotage(kind, int(at), list(messages)), states, *rest
            )

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if "SABOTAGE" in os.environ:
    import importlib.util

    sys.meta_path.insert(0, Saboteur())
