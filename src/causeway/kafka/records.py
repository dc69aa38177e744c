"""Converts a consumed message to the record that filters and `adopt` inspect."""

from __future__ import annotations

from typing import Any

from causeway.core.filtering import FilterRecord


def record_of(message: Any) -> FilterRecord:
    """Headers that cannot be read are left out: code that decides by headers checks `unreadable` first."""
    return FilterRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        () if message.unreadable else message.headers() or (),
    )
