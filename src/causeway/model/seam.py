"""What `adopt` looks at to find where another tool stopped, and what it makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["clean", "torn", "ambiguous", "strange", "beyond", "unmatched", "absent"]
"""clean      everything before the seam is on the destination, nothing behind it
torn       records are there behind others that are missing
ambiguous  contents repeat themselves, so several offsets are possible
strange    the destination's last records are not the source's
beyond     the destination holds all that was looked at, and the source goes on
unmatched  nothing of the source was found
absent     nothing of this source partition was found, and not all of the destination was compared
"""

Accept = Literal["", "repeat", "lose"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A record of the source, by the fingerprint of its contents."""

    offset: int
    print: bytes
    optional: bool = False  # the old tool may rightly have left it out: aborted, or filtered
    place: int | None = None  # which of the tails its key chooses; None: it may be in any


@dataclass(frozen=True, slots=True)
class Window:
    """What was read of a source partition: offsets from `start` up to `end`."""

    records: Sequence[Seen]
    start: int
    end: int
    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The last records of a destination partition, in order: offsets from `begin` up to `end`."""

    prints: Sequence[bytes]
    begin: int
    end: int
    log_start: int = 0


@dataclass(frozen=True, slots=True)
class Count:
    """How many records: at least, and at most."""

    least: int = 0
    most: int = 0

    def __str__(self) -> str:
        return f"{self.most:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"

    def __add__(self, other: Count) -> Count:
        return Count(self.least + other.least, self.most + other.most)


@dataclass(frozen=True, slots=True)
class Seam:
    """A clean seam has one offset; otherwise there may be two: one repeats records, the other loses some."""

    verdict: Verdict
    repeat: int | None
    lose: int | None
    what: str
    todo: str = ""
    found: int = 0  # records of the source that are on the destination
    twice: Count = Count()  # what `repeat` replicates although the destination has it
    lost: Count = Count()  # what `lose` skips although the destination does not have it
