"""A client's message as a record."""

from __future__ import annotations

from typing import Any

from causeway.model.filtering import Record


def record_of(message: Any) -> Record:
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers() or (),
    )
