"""Events as lines: words for people, JSON for whoever collects logs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from causeway.model.snapshot import EventView


def words(event: EventView) -> str:
    where = f"shard {event.shard}: " if event.shard else ""
    return f"{where}{event.what}" + (f"; {event.todo}" if event.todo else "")


def plain(mirror: str, event: EventView) -> str:
    return f"{event.level}: {mirror}: {words(event)}"


def structured(mirror: str, event: EventView) -> str:
    """One JSON object; what does not apply is left out."""
    at = datetime.fromtimestamp(event.at / 1_000, UTC).isoformat(timespec="milliseconds")
    fields = {
        "at": at.replace("+00:00", "Z"),
        "level": event.level,
        "mirror": mirror,
        "what": event.what,
        "todo": event.todo or None,
        "shard": event.shard or None,
        "topic": event.topic or None,
        "partition": event.partition if event.partition >= 0 else None,
        "offset": event.offset if event.offset >= 0 else None,
    }
    return json.dumps(
        {name: value for name, value in fields.items() if value is not None}, ensure_ascii=False
    )
