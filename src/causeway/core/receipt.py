"""What a shard reports at the end of a slice."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

Outcome = Literal["done", "cut", "fenced", "superseded", "broken", "unready"]
"""done: the order is complete · cut: ended by a Cut · fenced: another attempt fenced this one ·
superseded: a newer lease or slice exists, or the executor is dead · broken: it cannot continue, the note is
the error as JSON · unready: something it needs to start, such as a secret, is missing."""


@dataclass(frozen=True, slots=True)
class Receipt:
    shard: int
    outcome: Outcome
    records: int = 0
    bytes: int = 0
    transactions: int = 0
    restarts: int = 0  # attempts that were restarted inside the task
    stopped: int = 0  # partitions that a verdict stopped
    note: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Receipt:
        return Receipt(**json.loads(text))
