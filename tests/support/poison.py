"""Records that a real broker rejects, with the topic settings that make it reject them: one of each kind."""

from __future__ import annotations

import os
from dataclasses import dataclass

from support.records import Rec
from support.world import now_ms

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class Poison:
    """A topic with these settings rejects a record of this kind, and accepts all others."""

    name: str
    config: dict[str, str]
    said: str  # by the client
    todo: str  # part of the reported remedy
    key: bytes | None = b"k"
    size: int = 20
    away_ms: int = 0  # from now

    def __str__(self) -> str:
        return self.name

    def record(self) -> Rec:
        headers = (("h", b"\x00"), ("h", None))
        return Rec(self.key, os.urandom(self.size), headers, now_ms() + self.away_ms)


TOO_LARGE = Poison(
    "too-large",
    {"max.message.bytes": "40000"},
    "Broker: Message size too large",
    "max.message.bytes",
    size=80_000,
)
TOO_OLD = Poison(
    "too-old",
    {"message.timestamp.before.max.ms": str(DAY_MS // 2)},
    "Broker: Invalid timestamp",
    "message.timestamp.before.max.ms",
    away_ms=-DAY_MS,
)
TOO_NEW = Poison(
    "too-new",
    {"message.timestamp.after.max.ms": str(DAY_MS // 2)},
    "Broker: Invalid timestamp",
    "message.timestamp.after.max.ms",
    away_ms=DAY_MS,
)
KEYLESS = Poison(
    "keyless",
    {"cleanup.policy": "compact"},
    "Broker: Broker failed to validate record",
    "without a key",
    key=None,
)
