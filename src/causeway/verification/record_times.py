"""Records without the times that a mirror adds to their headers: no source has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from causeway.rules import timings
from causeway.rules.header_names import Headers


def without_times(batches: Iterable[list[Any]]) -> Iterator[list[Any]]:
    for messages in batches:
        yield [_Untimed(message) for message in messages]


class _Untimed:
    """A message without these headers."""

    __slots__ = ("_headers", "key", "offset", "timestamp", "unreadable", "value")

    def __init__(self, message: Any) -> None:
        self.offset, self.timestamp = message.offset, message.timestamp
        self.key, self.value = message.key, message.value
        self.unreadable = message.unreadable
        self._headers = () if self.unreadable else timings.without_times(message.headers() or ())

    def headers(self) -> Headers:
        return self._headers
