"""Headers of records. Their names are bytes in Kafka, and text in filters and messages.

Bytes that are not UTF-8 become surrogate escapes in the text, so every name converts back to its own bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

Headers = Sequence[tuple[str, bytes | None]]

MOST_HEADERS = 100_000
"""librdkafka parses no more headers of one record, and treats a record with more as damaged."""

MOST_ADDED = 3
"""A mirror adds no more headers than this (rules/added_headers.py)."""


def as_text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def is_plain(name: str) -> bool:
    """Whether every client can write the name: UTF-8, without a NUL, which ends a string in C."""
    return "\0" not in name and (name.isascii() or _is_utf8(name))


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped(name: str) -> str:
    """A name that every client can write; backslashes are doubled, so it can be converted back."""
    return encoded(name).decode("latin-1").encode("unicode_escape").decode("ascii")


def odd_names(headers: Headers) -> list[int]:
    """Indexes of headers with names that not every client can write."""
    return [number for number, (name, _) in enumerate(headers) if not is_plain(name)]
