"""How much a shard may produce now, so that a mirror stays under its rate limits. Pure.

A token bucket for records and one for bytes. Tokens are taken after producing, so a large record passes and
the shard waits afterwards; the average stays under the limit.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

BURST_SECONDS = 0.1


@dataclass(slots=True)
class Throttle:
    """Limits per second; 0 means no limit."""

    records: float
    bytes: float
    _at: float = -1.0
    _records_left: float = 0.0
    _bytes_left: float = 0.0

    def room(self, now: float) -> int:
        """How many records may be produced now."""
        if not self.records and not self.bytes:
            return sys.maxsize
        passed = BURST_SECONDS if self._at < 0 else now - self._at
        self._at = now
        most_records, most_bytes = max(1.0, self.records * BURST_SECONDS), self.bytes * BURST_SECONDS
        self._records_left = min(most_records, self._records_left + passed * self.records)
        self._bytes_left = min(most_bytes, self._bytes_left + passed * self.bytes)
        if self.bytes and self._bytes_left <= 0:
            return 0
        return math.floor(self._records_left) if self.records else sys.maxsize

    def took(self, records: int, size: int) -> None:
        self._records_left -= records
        self._bytes_left -= size

    def wait(self) -> float:
        """Seconds until there is room again."""
        waits = [0.0]
        if self.records and self._records_left < 1:
            waits.append((1 - self._records_left) / self.records)
        if self.bytes and self._bytes_left <= 0:
            waits.append((1 - self._bytes_left) / self.bytes)
        return max(waits)
