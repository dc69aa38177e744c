"""Durations and sizes as users write them: "500ms", "5m", "64MiB".

Owns parsing and formatting both. A number without a unit is rejected: 30 could mean seconds or
milliseconds. Formatting gives the shortest text that parses to the same value, so settings survive a
round trip through text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_WRITTEN_BYTES = {unit: _BYTES[unit] for unit in ("B", "KiB", "MiB", "GiB")}
# Twelve digits are more than any duration or size here needs, and keep the arithmetic exact.
_QUANTITY = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([A-Za-z]+)")


def parse_duration(value: object) -> float:
    """Seconds; raises ValueError for anything but whole milliseconds with a unit."""
    count = _count(value, _MILLISECONDS)
    if count is None:
        raise ValueError('must be a duration with its unit (ms, s, m, h, d), such as "30s"')
    return count / 1_000


def format_duration(seconds: float) -> str:
    return _shortest(round(seconds * 1_000), _MILLISECONDS)


def parse_size(value: object) -> int:
    """Bytes; raises ValueError for anything but whole bytes with a unit."""
    count = _count(value, _BYTES)
    if count is None:
        raise ValueError('must be a size with its unit (B, KiB, MiB, GiB, KB, MB, GB), such as "64MiB"')
    return count


def format_size(count: int) -> str:
    return _shortest(count, _WRITTEN_BYTES)


def _count(value: object, units: Mapping[str, int]) -> int | None:
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in units:
        return None
    count = Decimal(match[1]) * units[match[2]]
    return int(count) if count == int(count) else None


def _shortest(count: int, units: Mapping[str, int]) -> str:
    fitting = [unit for unit, factor in units.items() if count % factor == 0 and count >= factor]
    unit = fitting[-1] if fitting else next(iter(units))
    return f"{count // units[unit]}{unit}"
