"""The handoff: what `adopt` reads to find where another tool stopped, and what it concludes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

HandoffVerdict = Literal["clean", "torn", "ambiguous", "strange", "beyond", "unmatched", "absent"]
"""clean      everything before the handoff offset is on the destination, nothing after it
torn       some records are missing on the destination, later ones are there
ambiguous  contents repeat, so several offsets are possible
strange    the destination's last records are not the source's
beyond     the destination holds all source records that were read, and the source has more
unmatched  no source records, or too few, were found
absent     nothing of this source partition was found, and not all of the destination was compared
"""

Accept = Literal["", "repeat", "lose"]


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """A source record, identified by the fingerprint of its contents."""

    offset: int
    print: bytes
    optional: bool = False  # the old tool may have skipped it correctly: aborted, or filtered
    place: int | None = None  # index of the tail that its key chooses; None: it may be in any


@dataclass(frozen=True, slots=True)
class Window:
    """What was read of a source partition: offsets from `start` up to `end`."""

    records: Sequence[SeenRecord]
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
class CountRange:
    """How many records: at least, and at most."""

    least: int = 0
    most: int = 0

    def __str__(self) -> str:
        return f"{self.most:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"

    def __add__(self, other: CountRange) -> CountRange:
        return CountRange(self.least + other.least, self.most + other.most)


@dataclass(frozen=True, slots=True)
class Handoff:
    """The handoff of one source partition.

    A clean handoff has one offset. Otherwise there may be two: `repeat` replicates some records again, `lose`
    loses some.
    """

    verdict: HandoffVerdict
    repeat: int | None
    lose: int | None
    what: str
    todo: str = ""
    found: int = 0  # records of the source that are on the destination
    twice: CountRange = CountRange()  # what `repeat` replicates although the destination has it
    lost: CountRange = CountRange()  # what `lose` skips although the destination does not have it
