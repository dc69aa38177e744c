"""What a destination's last records prove about one source partition.

A record is certain where its contents occur once in the windows: its offset is known wherever it is
found. Other contents are counted. Two things could deceive:

- Records older than the windows lie in the tails too, and their contents may come again later. So a tail
  is trusted only behind the last record that no window explains, or that breaks the source's order, and
  the first certain ones there are not believed.
- A record that is in no tail may still have been carried, into a partition where so many others followed
  that the tail begins behind it. So it is absent for certain only where each partition it may have gone
  to was read from its beginning, or holds an earlier record of the same source partition.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from causeway.model.seam import Count, Seen, Tail, Window

NEVER = sys.maxsize

DOUBTED = 3
"""So many certain records are not believed, where older ones might look like them."""


@dataclass(slots=True)
class Evidence:
    window: Window
    tails: Sequence[Tail]
    complete: bool  # the windows of all partitions that share the tails begin at offset 0
    lenient: bool  # records may be absent although they were carried: compaction
    windows_with: Mapping[bytes, int]  # in how many partitions' windows contents occur
    certain: dict[bytes, int] = field(init=False)  # contents that occur once, and where
    there: Counter[bytes] = field(init=False)
    present: list[Seen] = field(init=False)  # certain records that are on the destination
    _offsets: dict[bytes, list[Seen]] = field(init=False)
    _trusted: list[Sequence[bytes]] = field(init=False)  # of each tail, from its first certain record on
    _doubtful: set[bytes] = field(init=False)  # contents found outside of what is trusted
    _firsts: list[int | None] = field(init=False)
    _from: list[int] = field(init=False)  # of each tail: a record from here on would be in it
    _placed: bool = field(init=False)  # records are where their keys say

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
        """The last certain record on the destination, as far as it is believed, and at most; -1: none."""
        trusted = max((self.certain.get(print, -1) for part in self._trusted for print in part), default=-1)
        return trusted, self.present[-1].offset if self.present else -1

    def missing(self, last: int) -> list[Seen]:
        """Records that should be there, since others behind them are."""
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

    def present_from(self, start: int) -> Count:
        """How many records from this offset on would come twice: the destination has them."""
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
        return Count(least, most)

    def behind(self, last: int) -> tuple[list[Seen], bool]:
        """Uncertain records behind the last certain one, up to one that is certainly absent, if there is."""
        uncertain = []
        for seen in self.window.records:
            if seen.offset > last:
                if seen.print not in self.certain or not self._is_covered(seen):
                    uncertain.append(seen)
                elif not seen.optional:
                    return uncertain, True
        return uncertain, False

    def extend(self, last: int, uncertain: Sequence[Seen], *, ordered: bool) -> tuple[int, int]:
        """Between which offsets the seam lies: equal where counting the uncertain records decides it.

        `ordered`: what was counted must also be what the one tail ends with.
        """
        counted = Counter(print for part in self._trusted for print in part)
        more: dict[bytes, int] = {}  # copies on the destination that nothing before accounts for
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
        # Where the old tool sent records twice, a copy more of something need not be the next one.
        doubled = any(counted[print] > 1 for print in self.certain)
        taken = [seen.print for seen in uncertain if seen.offset < low]
        rest = [print for print in self._rest(last) if print in more] if ordered else taken
        if (taken and doubled) or rest != taken:
            return last + 1, max(high, self.furthest(last, uncertain))
        return low, high

    def furthest(self, last: int, uncertain: Iterable[Seen]) -> int:
        """Where the seam may lie at most."""
        may = [seen.offset for seen in uncertain if self.there[seen.print] or not self._is_covered(seen)]
        return max([last, *may]) + 1

    def _is_shared(self, print: bytes) -> bool:
        return self.windows_with.get(print, 1) > 1

    def _first_trusted(self, tail: Tail) -> int:
        """The certain record of a tail from which on it is believed: see above."""
        certain: list[int] = []  # where certain records are, behind what cannot be explained
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

    def _is_covered(self, seen: Seen) -> bool:
        """Whether the record, had it been carried, must be in a tail."""
        if seen.place is None or not self._placed:
            return seen.offset >= max(self._from)
        return seen.offset >= self._from[seen.place]

    def _is_needed(self, seen: Seen) -> bool:
        """Whether one of the copies in the tails is this record."""
        return self._is_covered(seen) and not seen.optional

    def _may_be_counted(self, seen: Seen) -> bool:
        return any(seen.offset >= first for first in self._firsts if first is not None)

    def _rest(self, last: int) -> Sequence[bytes]:
        """What the one tail holds behind the last certain record."""
        prints = self.tails[0].prints
        at = max(n for n, print in enumerate(prints) if self.certain.get(print) == last)
        return prints[at + 1 :]


def _by_print(records: Iterable[Seen]) -> dict[bytes, list[Seen]]:
    found: dict[bytes, list[Seen]] = {}
    for seen in records:
        found.setdefault(seen.print, []).append(seen)
    return found
