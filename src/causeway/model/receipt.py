"""What a shard reports at the end of a slice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

Outcome = Literal["done", "cut", "fenced", "superseded", "broken", "unready"]
"""done: the order is fulfilled · cut: told to end · fenced: another attempt took over ·
superseded: a newer lease exists · broken: it cannot go on, the note is the error as JSON ·
unready: what it needs to begin is not there just now."""


@dataclass(frozen=True, slots=True)
class Receipt:
    shard: int
    outcome: Outcome
    records: int = 0
    bytes: int = 0
    transactions: int = 0
    restarts: int = 0  # how often the protocol began anew inside the task
    stopped: int = 0  # partitions that a verdict stopped
    note: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Receipt:
        return Receipt(**json.loads(text))
