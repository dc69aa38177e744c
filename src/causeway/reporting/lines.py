"""Events and progress as lines: text for people, JSON objects for log collectors."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from causeway.core.progress import MirrorProgress
from causeway.core.snapshot import EventView
from causeway.errors import CausewayError, ConfigError
from causeway.printable import printable


def words(event: EventView) -> str:
    where = f"shard {event.shard}: " if event.shard else ""
    return printable(f"{where}{event.what}" + (f"; {event.todo}" if event.todo else ""))


def plain(mirror: str, event: EventView) -> str:
    return f"{event.level}: {mirror}: {words(event)}"


def structured(mirror: str, event: EventView) -> str:
    """An event; omits fields that do not apply."""
    return _line(
        event.at,
        event.level,
        event.what,
        {
            "mirror": mirror,
            "todo": event.todo or None,
            "shard": event.shard or None,
            "topic": event.topic or None,
            **{name: value for name, value in _numbers(event).items() if value >= 0},
        },
    )


def _numbers(event: EventView) -> dict[str, int]:
    """-1 means none; 0 is an offset."""
    return {
        "partition": event.partition,
        "offset": event.offset,
        "expected": event.expected,
        "found": event.found,
        "gone": event.gone,
    }


def progress(mirror: MirrorProgress, at: int) -> str:
    """A mirror's progress."""
    topics = mirror.topics
    numbers = {
        "mirror": mirror.mirror,
        "state": mirror.state,
        "records": mirror.records,
        "records_per_second": round(sum(topic.records_per_second for topic in topics)),
        "bytes_per_second": round(sum(topic.bytes_per_second for topic in topics)),
        "lag": mirror.lag,
        "stopped": sum(topic.stopped for topic in topics),
        "quarantined": sum(topic.quarantined for topic in topics),
        "skipped": sum(topic.skipped for topic in topics),
    }
    return _line(at, "info", "progress", numbers)


def failure(error: CausewayError) -> str:
    """Why the process ends."""
    problems = list(error.problems) if isinstance(error, ConfigError) else []
    fields = {
        "where": error.where or None,
        "why": error.why or None,
        "problems": problems or None,
        "todo": error.todo or None,
        "exit_code": error.exit_code,
    }
    return _line(time.time_ns() // 1_000_000, "error", error.what, fields)


def _line(at: int, level: str, what: str, fields: Mapping[str, Any]) -> str:
    moment = datetime.fromtimestamp(at / 1_000, UTC).isoformat(timespec="milliseconds")
    line = {"at": moment.replace("+00:00", "Z"), "level": level, "what": what, **fields}
    known = {name: value for name, value in line.items() if value is not None}
    written = json.dumps(known, ensure_ascii=False)
    # Still the same object: unprintable characters occur only inside strings, where JSON escapes them.
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in written
    )
