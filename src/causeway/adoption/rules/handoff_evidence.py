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

from causeway.core.handoff import CountRange, SourceRecord, Tail, Window

NEVER = sys.maxsize

UNTRUSTED_FIRST = 3
"""This many first certain records are not trusted, if older ones might look like them."""


@dataclass(slots=True)
class Evidence:
    window: Window
    tails: Sequence[Tail]
    complete: bool  # the windows of all partitions that share the tails begin at offset 0
    compacted: bool  # records may be absent although they were replicated: compaction
    window_counts: Mapping[bytes, int]  # in how many partitions' windows contents occur
    certain: dict[bytes, int] = field(init=False)  # contents that occur once, and their offsets
    on_destination: Counter[bytes] = field(init=False)
    present: list[SourceRecord] = field(init=False)  # certain records that are on the destination
    _offsets: dict[bytes, list[SourceRecord]] = field(init=False)
    _trusted: list[Sequence[bytes]] = field(init=False)  # of each tail, from its first certain record on
    _doubtful: set[bytes] = field(init=False)  # contents found outside what is trusted
    _first_offsets: list[int | None] = field(init=False)
    _covered_from: list[int] = field(init=False)  # of each tail: a record from this offset on would be in it
    _placed: bool = field(init=False)  # records are in the partitions that their keys choose

    def __post_init__(self) -> None:
        self._offsets = _by_digest(self.window.records)
        self.certain = {
            digest: copies[0].offset
            for digest, copies in self._offsets.items()
            if len(copies) == 1 and not self._is_shared(digest)
        }
        self.on_destination = Counter(digest for tail in self.tails for digest in tail.digests)
        self.present = [
            record
            for record in self.window.records
            if record.digest in self.certain and self.on_destination[record.digest]
        ]
        self._trusted, self._doubtful = [], set()
        for tail in self.tails:
            first = self._first_trusted(tail)
            self._trusted.append(tail.digests[first:])
            self._doubtful.update(tail.digests[:first])
        self._first_offsets = [self.certain[part[0]] if part else None for part in self._trusted]
        lowest = min((first for first in self._first_offsets if first is not None), default=NEVER)
        self._covered_from = [
            lowest if tail.begin == 0 else NEVER if first is None else first
            for tail, first in zip(self.tails, self._first_offsets, strict=True)
        ]
        held = [set(tail.digests) for tail in self.tails]
        self._placed = all(
            record.place is None or record.digest in held[record.place] for record in self.present
        )

    def last(self) -> tuple[int, int]:
        """The last certain record on the destination: the last trusted one, and the last of all; -1: none."""
        trusted = max((self.certain.get(digest, -1) for part in self._trusted for digest in part), default=-1)
        return trusted, self.present[-1].offset if self.present else -1

    def missing(self, last: int) -> list[SourceRecord]:
        """Records that should be there, since later ones are."""
        if self.compacted:
            return []
        wanted = [
            record
            for record in self.window.records
            if record.offset <= last and not record.optional and self._is_covered(record)
        ]
        short = (
            Counter(record.digest for record in wanted if not self._is_shared(record.digest))
            - self.on_destination
        )
        missing = []
        for record in wanted:
            if short[record.digest] > 0:
                short[record.digest] -= 1
                missing.append(record)
        return missing

    def present_from(self, start: int) -> CountRange:
        """How many records from this offset on would be duplicated: the destination has them."""
        later = [record for record in self.window.records if record.offset >= start and not record.optional]
        least = most = 0
        for digest, copies in _by_digest(later).items():
            before = [record for record in self._offsets[digest] if record.offset < start]
            on_destination = self.on_destination[digest]
            hidden = sum(not self._is_covered(record) for record in copies)
            if self._is_shared(digest):
                most += min(len(copies), on_destination + hidden)
                continue
            most += min(len(copies), max(0, on_destination - sum(map(self._is_needed, before))) + hidden)
            least += min(len(copies), max(0, on_destination - len(before)))
        return CountRange(least, most)

    def uncertain_after(self, last: int) -> tuple[list[SourceRecord], bool]:
        """Uncertain records after `last`, up to one that is certainly absent; and whether there is one."""
        uncertain = []
        for record in self.window.records:
            if record.offset > last:
                if record.digest not in self.certain or not self._is_covered(record):
                    uncertain.append(record)
                elif not record.optional:
                    return uncertain, True
        return uncertain, False

    def extend(self, last: int, uncertain: Sequence[SourceRecord], *, ordered: bool) -> tuple[int, int]:
        """Between which offsets the handoff lies: equal if counting the uncertain records decides it.

        `ordered`: what was counted must also be what the one tail ends with.
        """
        counted = Counter(digest for part in self._trusted for digest in part)
        extra_copies: dict[bytes, int] = {}  # copies on the destination that no earlier record accounts for
        unknown: set[bytes] = set()
        for digest in {record.digest for record in uncertain}:
            before = [record for record in self._offsets[digest] if record.offset <= last]
            most = counted[digest] - sum(map(self._is_covered, before))
            least = counted[digest] - sum(map(self._may_be_counted, before))
            extra_copies[digest] = max(0, most)
            is_uncertain = self.compacted or digest in self._doubtful or self._is_shared(digest)
            if (is_uncertain and self.on_destination[digest]) or (most > 0 and least != most):
                unknown.add(digest)
        hidden = [record.offset for record in uncertain if not self._is_covered(record)]
        low = last + 1
        remaining = dict(extra_copies)
        for record in uncertain:
            if record.digest in unknown or record.offset in hidden or remaining[record.digest] <= 0:
                break
            remaining[record.digest] -= 1
            low = record.offset + 1
        possible = [
            record.offset for record in uncertain if record.digest in unknown or remaining[record.digest] > 0
        ]
        high = max([low, *(offset + 1 for offset in (*possible, *hidden))])
        # If the old tool produced records twice, an extra copy need not be the next record.
        doubled = any(counted[digest] > 1 for digest in self.certain)
        counted_in = [record.digest for record in uncertain if record.offset < low]
        tail_end = (
            [digest for digest in self._after_last_certain(last) if digest in extra_copies]
            if ordered
            else counted_in
        )
        if (counted_in and doubled) or tail_end != counted_in:
            return last + 1, max(high, self.furthest(last, uncertain))
        return low, high

    def furthest(self, last: int, uncertain: Iterable[SourceRecord]) -> int:
        """The highest offset where the handoff may be."""
        may = [
            record.offset
            for record in uncertain
            if self.on_destination[record.digest] or not self._is_covered(record)
        ]
        return max([last, *may]) + 1

    def _is_shared(self, digest: bytes) -> bool:
        return self.window_counts.get(digest, 1) > 1

    def _first_trusted(self, tail: Tail) -> int:
        """Index of the certain record from which on a tail is trusted: see the module's docstring."""
        certain: list[int] = []  # indexes of certain records, after what cannot be explained
        highest = -1
        for n, digest in enumerate(tail.digests):
            offset = self.certain.get(digest, highest)
            if not self.complete and (offset < highest or not self._is_explained(digest)):
                certain, highest = [], -1
            if digest in self.certain:
                certain.append(n)
                highest = offset
        trusted = certain if self.complete else certain[UNTRUSTED_FIRST:]
        return trusted[0] if trusted else len(tail.digests)

    def _is_explained(self, digest: bytes) -> bool:
        return digest in self._offsets or self.window_counts.get(digest, 0) > 0

    def _is_covered(self, record: SourceRecord) -> bool:
        """Whether the record must be in a tail, if it was replicated."""
        if record.place is None or not self._placed:
            return record.offset >= max(self._covered_from)
        return record.offset >= self._covered_from[record.place]

    def _is_needed(self, record: SourceRecord) -> bool:
        """Whether one of the copies in the tails is this record."""
        return self._is_covered(record) and not record.optional

    def _may_be_counted(self, record: SourceRecord) -> bool:
        return any(record.offset >= first for first in self._first_offsets if first is not None)

    def _after_last_certain(self, last: int) -> Sequence[bytes]:
        """What the one tail holds after the last certain record."""
        digests = self.tails[0].digests
        at = max(n for n, digest in enumerate(digests) if self.certain.get(digest) == last)
        return digests[at + 1 :]


def _by_digest(records: Iterable[SourceRecord]) -> dict[bytes, list[SourceRecord]]:
    by_digest: dict[bytes, list[SourceRecord]] = {}
    for record in records:
        by_digest.setdefault(record.digest, []).append(record)
    return by_digest
