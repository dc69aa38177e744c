"""The handoff: what `adopt` reads to find where another tool stopped, and what it concludes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

HandoffVerdict = Literal[
    "clean", "incomplete", "ambiguous", "unexpected", "beyond_window", "unmatched", "not_found"
]
"""clean          everything before the handoff offset is on the destination, nothing after it
incomplete     some records are missing on the destination, later ones are there
ambiguous      contents repeat, so several offsets are possible
unexpected     the destination's last records are not the source's
beyond_window  the destination holds all source records that were read, and the source has more
unmatched      no source records, or too few, were found
not_found      nothing of this source partition was found, and not all of the destination was compared
"""

Accept = Literal["", "repeat", "lose"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A source record, identified by the digest of its contents."""

    offset: int
    digest: bytes
    optional: bool = False  # the old tool may have skipped it correctly: aborted, or filtered
    place: int | None = None  # index of the tail that its key chooses; None: it may be in any


@dataclass(frozen=True, slots=True)
class Window:
    """What was read of a source partition: offsets from `start` up to `end`."""

    records: Sequence[SourceRecord]
    start: int
    end: int
    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The last records of a destination partition, in order: offsets from `begin` up to `end`."""

    digests: Sequence[bytes]
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

    @property
    def records(self) -> str:
        return f"{self} record{'s' * (self.most != 1)}"

    def __add__(self, other: CountRange) -> CountRange:
        return CountRange(self.least + other.least, self.most + other.most)


@dataclass(frozen=True, slots=True)
class Handoff:
    """The handoff of one source partition.

    A clean handoff has one offset. Otherwise there may be two: a start at `repeat_from` duplicates some
    records, a start at `lose_from` loses some.
    """

    verdict: HandoffVerdict
    repeat_from: int | None
    lose_from: int | None
    what: str
    todo: str = ""
    matched: int = 0  # records of the source that are on the destination
    twice: CountRange = CountRange()  # `repeat_from` replicates these although the destination has them
    lost: CountRange = CountRange()  # `lose_from` skips these although the destination does not have them
