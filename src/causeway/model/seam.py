"""What `adopt` looks at to find where another tool stopped, and what it makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["clean", "torn", "ambiguous", "strange", "beyond", "unmatched"]
"""clean      everything before the seam is on the destination, nothing behind it
torn       records are there behind others that are missing
ambiguous  contents repeat themselves, so several offsets are possible
strange    the destination's last records are not the source's
beyond     the destination holds all that was looked at, and the source goes on
unmatched  nothing of the source was found
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


@dataclass(frozen=True, slots=True)
class Seam:
    """A clean seam has one offset; otherwise there may be two: one repeats records, the other loses some."""

    verdict: Verdict
    repeat: int | None
    lose: int | None
    what: str
    todo: str = ""
    found: int = 0  # records of the source that are on the destination
