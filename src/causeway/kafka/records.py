"""A consumed message as a record that filters and `adopt` look at."""

from __future__ import annotations

from typing import Any

from causeway.model.filtering import Record


def record_of(message: Any) -> Record:
    """Without headers where they cannot be read: whoever judges by headers asks `unreadable` before."""
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        () if message.unreadable else message.headers() or (),
    )
