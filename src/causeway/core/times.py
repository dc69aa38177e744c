"""Durations as readable text."""

from __future__ import annotations


def span(seconds: float) -> str:
    """The duration in at most two units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    for size, name, below, less in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min")):
        if whole >= 2 * size:
            rest = whole % size // below
            return f"{whole // size} {name} {rest} {less}" if rest else f"{whole // size} {name}"
    return f"{whole // 60} min"
