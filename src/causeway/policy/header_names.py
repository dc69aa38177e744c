"""Headers of records. Their names are bytes to Kafka, and text to filters and to people.

Text holds what is not UTF-8 as surrogate escapes, so every name turns back into the bytes that it was.
"""

from __future__ import annotations

from collections.abc import Sequence

Headers = Sequence[tuple[str, bytes | None]]

MOST_HEADERS = 100_000
"""librdkafka parses no more of one record, and reads a record with more as if it were damaged."""


def as_text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def is_plain(name: str) -> bool:
    """Whether any client can write the name: UTF-8, without a NUL, where C ends a text."""
    return "\0" not in name and (name.isascii() or _is_utf8(name))


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped(name: str) -> str:
    """A name that any client can write; backslashes doubled, so it can be turned back."""
    return encoded(name).decode("latin-1").encode("unicode_escape").decode("ascii")


def odd_names(headers: Headers) -> list[int]:
    """Which headers have names that not every client can write."""
    return [number for number, (name, _) in enumerate(headers) if not is_plain(name)]
