"""What a destination's last records prove about one source partition.

A record is certain if its contents occur once in the windows: its offset is known wherever it is found.
Other contents are counted. Two cases could mislead:

- The tails also hold records older than the windows, and their contents may occur again later. So a tail
  is trusted only after the last record that no window explains, or that breaks the source's order, and
  the first certain records there are not trusted.
- A record that is in no tail may still have been replicated, to a partition where so many others followed
  that the tail starts after it. So it is certainly absent only if each partition it may have gone to was
  read from its beginning, or holds an earlier record of the same source partition.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from causeway.core.handoff import CountRange, SeenRecord, Tail, Window

NEVER = sys.maxsize

DOUBTED = 3
"""This many first certain records are not trusted, if older ones might look like them."""


@dataclass(slots=True)
class Evidence:
    window: Window
    tails: Sequence[Tail]
    complete: bool  # the windows of all partitions that share the tails begin at offset 0
    lenient: bool  # records may be absent although they were replicated: compaction
    windows_with: Mapping[bytes, int]  # in how many partitions' windows contents occur
    certain: dict[bytes, int] = field(init=False)  # contents that occur once, and their offsets
    there: Counter[bytes] = field(init=False)
    present: list[SeenRecord] = field(init=False)  # certain records that are on the destination
    _offsets: dict[bytes, list[SeenRecord]] = field(init=False)
    _trusted: list[Sequence[bytes]] = field(init=False)  # of each tail, from its first certain record on
    _doubtful: set[bytes] = field(init=False)  # contents found outside what is trusted
    _firsts: list[int | None] = field(init=False)
    _from: list[int] = field(init=False)  # of each tail: a record from this offset on would be in it
    _placed: bool = field(init=False)  # records are in the partitions that their keys choose

    def __post_init__(self) -> None:
        self._offsets = _by_print(self.window.records)
        self.certain = {
            print: copies[0].offset
            for print, copies in self._offsets.items()
            if len(copies) == 1 and not self._is_shared(print)
        }
        self.there = Counter(print for tail in self.tails for print in tail.prints)
        self.present = [
            seen for seen in self.window.records if seen.print in self.certain and self.there[seen.print]
        ]
        self._trusted, self._doubtful = [], set()
        for tail in self.tails:
            first = self._first_trusted(tail)
            self._trusted.append(tail.prints[first:])
            self._doubtful.update(tail.prints[:first])
        self._firsts = [self.certain[part[0]] if part else None for part in self._trusted]
        lowest = min((first for first in self._firsts if first is not None), default=NEVER)
        self._from = [
            lowest if tail.begin == 0 else NEVER if first is None else first
            for tail, first in zip(self.tails, self._firsts, strict=True)
        ]
        held = [set(tail.prints) for tail in self.tails]
        self._placed = all(seen.place is None or seen.print in held[seen.place] for seen in self.present)

    def last(self) -> tuple[int, int]:
        """The last certain record on the destination: the last trusted one, and the last of all; -1: none."""
        trusted = max((self.certain.get(print, -1) for part in self._trusted for print in part), default=-1)
        return trusted, self.present[-1].offset if self.present else -1

    def missing(self, last: int) -> list[SeenRecord]:
        """Records that should be there, since later ones are."""
        if self.lenient:
            return []
        wanted = [
            seen
            for seen in self.window.records
            if seen.offset <= last and not seen.optional and self._is_covered(seen)
        ]
        short = Counter(seen.print for seen in wanted if not self._is_shared(seen.print)) - self.there
        found = []
        for seen in wanted:
            if short[seen.print] > 0:
                short[seen.print] -= 1
                found.append(seen)
        return found

    def present_from(self, start: int) -> CountRange:
        """How many records from this offset on would be duplicated: the destination has them."""
        later = [seen for seen in self.window.records if seen.offset >= start and not seen.optional]
        least = most = 0
        for print, copies in _by_print(later).items():
            before = [seen for seen in self._offsets[print] if seen.offset < start]
            there = self.there[print]
            hidden = sum(not self._is_covered(seen) for seen in copies)
            if self._is_shared(print):
                most += min(len(copies), there + hidden)
                continue
            most += min(len(copies), max(0, there - sum(map(self._is_needed, before))) + hidden)
            least += min(len(copies), max(0, there - len(before)))
        return CountRange(least, most)

    def behind(self, last: int) -> tuple[list[SeenRecord], bool]:
        """Uncertain records after `last`, up to one that is certainly absent; and whether there is one."""
        uncertain = []
        for seen in self.window.records:
            if seen.offset > last:
                if seen.print not in self.certain or not self._is_covered(seen):
                    uncertain.append(seen)
                elif not seen.optional:
                    return uncertain, True
        return uncertain, False

    def extend(self, last: int, uncertain: Sequence[SeenRecord], *, ordered: bool) -> tuple[int, int]:
        """Between which offsets the handoff lies: equal if counting the uncertain records decides it.

        `ordered`: what was counted must also be what the one tail ends with.
        """
        counted = Counter(print for part in self._trusted for print in part)
        more: dict[bytes, int] = {}  # copies on the destination that no earlier record accounts for
        unknown: set[bytes] = set()
        for print in {seen.print for seen in uncertain}:
            before = [seen for seen in self._offsets[print] if seen.offset <= last]
            most = counted[print] - sum(map(self._is_covered, before))
            least = counted[print] - sum(map(self._may_be_counted, before))
            more[print] = max(0, most)
            doubted = self.lenient or print in self._doubtful or self._is_shared(print)
            if (doubted and self.there[print]) or (most > 0 and least != most):
                unknown.add(print)
        hidden = [seen.offset for seen in uncertain if not self._is_covered(seen)]
        low = last + 1
        left = dict(more)
        for seen in uncertain:
            if seen.print in unknown or seen.offset in hidden or left[seen.print] <= 0:
                break
            left[seen.print] -= 1
            low = seen.offset + 1
        possible = [seen.offset for seen in uncertain if seen.print in unknown or left[seen.print] > 0]
        high = max([low, *(offset + 1 for offset in (*possible, *hidden))])
        # If the old tool produced records twice, an extra copy need not be the next record.
        doubled = any(counted[print] > 1 for print in self.certain)
        taken = [seen.print for seen in uncertain if seen.offset < low]
        rest = [print for print in self._rest(last) if print in more] if ordered else taken
        if (taken and doubled) or rest != taken:
            return last + 1, max(high, self.furthest(last, uncertain))
        return low, high

    def furthest(self, last: int, uncertain: Iterable[SeenRecord]) -> int:
        """The highest offset where the handoff may be."""
        may = [seen.offset for seen in uncertain if self.there[seen.print] or not self._is_covered(seen)]
        return max([last, *may]) + 1

    def _is_shared(self, print: bytes) -> bool:
        return self.windows_with.get(print, 1) > 1

    def _first_trusted(self, tail: Tail) -> int:
        """Index of the certain record from which on a tail is trusted: see the module's docstring."""
        certain: list[int] = []  # indexes of certain records, after what cannot be explained
        highest = -1
        for n, print in enumerate(tail.prints):
            offset = self.certain.get(print, highest)
            if not self.complete and (offset < highest or not self._is_explained(print)):
                certain, highest = [], -1
            if print in self.certain:
                certain.append(n)
                highest = offset
        believed = certain if self.complete else certain[DOUBTED:]
        return believed[0] if believed else len(tail.prints)

    def _is_explained(self, print: bytes) -> bool:
        return print in self._offsets or self.windows_with.get(print, 0) > 0

    def _is_covered(self, seen: SeenRecord) -> bool:
        """Whether the record must be in a tail, if it was replicated."""
        if seen.place is None or not self._placed:
            return seen.offset >= max(self._from)
        return seen.offset >= self._from[seen.place]

    def _is_needed(self, seen: SeenRecord) -> bool:
        """Whether one of the copies in the tails is this record."""
        return self._is_covered(seen) and not seen.optional

    def _may_be_counted(self, seen: SeenRecord) -> bool:
        return any(seen.offset >= first for first in self._firsts if first is not None)

    def _rest(self, last: int) -> Sequence[bytes]:
        """What the one tail holds after the last certain record."""
        prints = self.tails[0].prints
        at = max(n for n, print in enumerate(prints) if self.certain.get(print) == last)
        return prints[at + 1 :]


def _by_print(records: Iterable[SeenRecord]) -> dict[bytes, list[SeenRecord]]:
    found: dict[bytes, list[SeenRecord]] = {}
    for seen in records:
        found.setdefault(seen.print, []).append(seen)
    return found
