"""A record's content in a small form: fingerprints of its fields, and the token that identifies it.

A token is `~producer.number.check~`, in a header, the key or the value, so that records without headers,
without key and without value all occur. The check part ensures that a damaged token is no token, and never
another record's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

TOKEN_HEADER = "token"
_TOKEN = re.compile(rb"~([a-z0-9-]+)\.(\d+)\.([0-9a-f]{6})~")

HeaderPairs = Iterable[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Content:
    """Fingerprints of a record's fields; None is null, which is not empty."""

    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...]
    timestamp: int
    clock: str = ""  # "create" or "append": the timestamp type; "" if unknown


def fingerprint(data: bytes | None) -> str | None:
    return None if data is None else f"{len(data)}:{hashlib.blake2b(data, digest_size=8).hexdigest()}"


def content(
    key: bytes | None, value: bytes | None, headers: HeaderPairs, timestamp: int, clock: str = ""
) -> Content:
    printed = tuple((name, fingerprint(data)) for name, data in headers)
    return Content(fingerprint(key), fingerprint(value), printed, timestamp, clock)


def token(producer: str, number: int) -> str:
    return f"~{producer}.{number}.{_check(producer.encode(), str(number).encode())}~"


def token_in(key: bytes | None, value: bytes | None, headers: HeaderPairs) -> str:
    """The token in a record; empty if there is none."""
    places = [data for name, data in headers if name == TOKEN_HEADER]
    for data in (*places, key, value):
        found = _TOKEN.search(data) if data else None
        if found and found[3].decode() == _check(found[1], found[2]):
            return found[0].decode()
    return ""


def _check(producer: bytes, number: bytes) -> str:
    return hashlib.blake2b(producer + b"." + number, digest_size=3).hexdigest()


def differences(wanted: Content, found: Content) -> list[str]:
    """Which fields differ, and which of them only in being null."""
    named: list[str] = []
    for field, a, b in (("key", wanted.key, found.key), ("value", wanted.value, found.value)):
        if a != b:
            named.append(f"{field}-nullness" if a is None or b is None else field)
    if wanted.headers != found.headers:
        named.append("headers")
    if wanted.timestamp != found.timestamp:
        named.append("timestamp")
    if wanted.clock and found.clock and wanted.clock != found.clock:
        named.append("timestamp-type")
    return named


def alike(one: Content, other: Content) -> bool:
    """Whether one may be the other, damaged: they share a field that records do not share by chance."""
    return (
        one.timestamp == other.timestamp
        or (bool(one.headers) and one.headers == other.headers)
        or (one.value is not None and not one.value.startswith("0:") and one.value == other.value)
    )
