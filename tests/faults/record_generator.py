"""Random records from a seed: all sizes, headers, tombstones, nulls, non-text bytes, old timestamps."""

from __future__ import annotations

from random import Random

from faults.content import TOKEN_HEADER
from support.records import Headers, Rec

_NAMES = ("h", "h", "trace-id", "größe", "")
_LONG_AGO_MS = 400 * 24 * 3600 * 1000


def random_record(random: Random, name: str, now_ms: int, largest: int = 1024 * 1024) -> Rec:
    """A record with its token in a header, its key or its value; the rest is random."""
    hides = random.choice(("header", "header", "key", "value"))
    headers: Headers = tuple(
        (random.choice(_NAMES), _bytes(random, 40)) for _ in range(random.choice((0, 0, 1, 2, 5)))
    )
    if hides == "header":
        at = random.randint(0, len(headers))
        headers = (*headers[:at], (TOKEN_HEADER, name.encode()), *headers[at:])
    key = name.encode() if hides == "key" else _bytes(random, 60)
    value = _bytes(random, _size(random, largest))
    if hides == "value":
        rest = value or b""
        at = random.randint(0, len(rest))
        value = rest[:at] + name.encode() + rest[at:]
    # Clients have no timestamp before 1; the destination's retention must be unlimited.
    timestamp = now_ms - random.choice((0, 0, 0, random.randint(0, 60_000), random.randint(0, _LONG_AGO_MS)))
    return Rec(key, value, headers, timestamp)


def _size(random: Random, largest: int) -> int:
    """Mostly small, sometimes as large as allowed."""
    chance = random.random()
    if chance < 0.9:
        return random.randint(0, 200)
    if chance < 0.99:
        return random.randint(0, min(8_000, largest))
    return random.randint(0, min(100_000, largest)) if chance < 0.999 else random.randint(0, largest)


def _bytes(random: Random, most: int) -> bytes | None:
    """Null, empty, or random bytes."""
    kind = random.random()
    if kind < 0.15:
        return None
    return b"" if kind < 0.25 else random.randbytes(random.randint(0, most))
