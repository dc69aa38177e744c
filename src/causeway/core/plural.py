"""Counts with their nouns: "1 partition", "2,000 partitions"."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """The count and its noun, singular for 1 and -1. `plural` is for nouns that do not just add an s."""
    return f"{count:,} {noun if abs(count) == 1 else plural or f'{noun}s'}"


def is_are(count: int) -> str:
    """The verb that agrees with a count."""
    return "is" if count == 1 else "are"
