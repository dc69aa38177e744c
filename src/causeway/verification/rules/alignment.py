"""Aligns the records of a source partition with those of its destination, by digest alone.

Both sides are read once, in step; while they agree nothing is kept. Where they differ:

1. *Near*: windows of both sides, growing step by step, are compared by their longest common
   subsequence, until a run of matches proves where both continue together. Records without a partner
   before that run are differences, and reading continues after it.
2. *Far*: if even the largest windows have no such run, one side lost or gained more than a window (or
   everything differs). Both sides are read ahead, keeping only records that their own digest selects
   (the same on both sides), until these show where both agree again. Each side then continues shortly
   before that place. If they never do, the windows are matched as they are, and there is no reading
   ahead again.

A side is a function that reads from an offset on, so it can be read twice; it must always end at the
same place. This module does not depend on Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from causeway.core.digests import DigestReader
from causeway.core.verify_report import Findings
from causeway.verification.rules.difference_types import Differences, SourceSpan
from causeway.verification.rules.record_stream import LookAhead, RecordStream
from causeway.verification.rules.subsequence import Pairs, common_subsequence, runs


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of the search and of its memory. The defaults hold about 100 MB in the worst case."""

    windows: tuple[int, ...] = (4_096, 16_384, 65_536, 262_144)
    proof: int = 8  # matches in a row that prove the same place
    far_proof: int = 4  # the same, among the selected records
    one_in: int = 256  # one record in this many is selected, at most 256
    keep: int = 10  # coordinates reported for each kind
    limit: int = 1_000_000  # unmatched records held for each side


def align(
    source: DigestReader,
    destination: DigestReader,
    span: SourceSpan,
    *,
    source_from: int = 0,
    destination_from: int = 0,
    effort: Effort | None = None,
) -> Findings:
    """Compares two sides record by record and classifies every difference."""
    return _Alignment(source, destination, span, source_from, destination_from, effort or Effort()).findings()


class _Alignment:
    def __init__(
        self,
        source: DigestReader,
        destination: DigestReader,
        span: SourceSpan,
        source_from: int,
        destination_from: int,
        effort: Effort,
    ) -> None:
        self._sides = (source, destination)
        self._source_from = source_from
        self._effort = effort
        self._source = RecordStream(source, source_from)
        self._destination = RecordStream(destination, destination_from)
        self._differences = Differences(span, keep=effort.keep, limit=effort.limit)
        self._matched = 0  # also the number of the gap after the last match
        self._search_far = True

    def findings(self) -> Findings:
        source, destination = self._source, self._destination
        while True:
            source.fill(1)
            destination.fill(1)
            shorter = min(len(source.digests), len(destination.digests))
            if not shorter:
                break
            same = _common_prefix(source.digests, destination.digests, shorter)
            self._match(same)
            if same < shorter:
                self._resync()
        self._finish()
        return self._differences.findings(self._matched, self._originals)

    def _match(self, count: int) -> None:
        self._source.take(count)
        self._destination.take(count)
        self._matched += count

    def _resync(self) -> None:
        """The next records differ: match as much as the nearest run of matches proves."""
        source, destination = self._source, self._destination
        pairs: Pairs = []
        for window in self._effort.windows:
            source.fill(window)
            destination.fill(window)
            left, right = source.digests[:window], destination.digests[:window]
            pairs = common_subsequence(left, right)
            if all(stream.ended and len(stream.digests) <= window for stream in (source, destination)):
                self._match_pairs(pairs, len(left), len(right))
                return
            # A side that has almost ended cannot have more matches than records.
            proof = min(self._effort.proof, len(left), len(right))
            if cut := _cut(pairs, runs(pairs, left, proof), len(left), len(right)):
                self._match_pairs(pairs[:cut])
                return
        if 2 * len(pairs) >= min(len(left), len(right)):  # repeated records: no proof, many matches
            self._match_pairs(pairs[: len(pairs) * 3 // 4 + 1])
            return
        offsets = (
            _resync_offsets(self._sides, (source, destination), self._effort) if self._search_far else None
        )
        if offsets is None:
            self._search_far = False
            self._match_pairs(pairs, len(left), len(right))
        elif offsets != (source.offsets[0], destination.offsets[0]):
            self._skip_to(*offsets)
        elif pairs:  # few matches, but both sides continue together from here
            self._match_pairs(pairs)
        else:
            self._match_pairs(pairs, len(left), len(right))

    def _match_pairs(self, pairs: Pairs, left: int | None = None, right: int | None = None) -> None:
        """Matches the pairs; records between them (and up to left and right) are unmatched."""
        i = j = 0
        for next_i, next_j in pairs:
            self._add_gap(i, next_i, j, next_j)
            self._matched += 1
            i, j = next_i + 1, next_j + 1
        if left is not None and right is not None:
            self._add_gap(i, left, j, right)
            i, j = left, right
        self._source.take(i)
        self._destination.take(j)

    def _add_gap(self, i: int, next_i: int, j: int, next_j: int) -> None:
        source, destination = self._source, self._destination
        if i < next_i:
            self._differences.on_source(self._matched, source.offsets[i:next_i], source.digests[i:next_i])
        if j < next_j:
            self._differences.on_destination(
                self._matched, destination.offsets[j:next_j], destination.digests[j:next_j]
            )

    def _skip_to(self, source_to: int, destination_to: int) -> None:
        """Records before the offsets where both sides agree again have no partner."""
        while left := self._source.count_before(source_to):
            self._differences.on_source(self._matched, *self._source.take(left))
        while right := self._destination.count_before(destination_to):
            self._differences.on_destination(self._matched, *self._destination.take(right))

    def _finish(self) -> None:
        """One side has ended: the remaining records of the other have no partner."""
        source, destination = self._source, self._destination
        while destination.digests:
            batch = destination.take(len(destination.digests))
            self._differences.on_destination(self._matched, *batch)
            destination.fill(1)
        while source.digests:
            batch = source.take(len(source.digests))
            self._differences.on_source(self._matched, *batch, nothing_follows=True)
            source.fill(1)

    def _originals(self, wanted: set[bytes]) -> dict[bytes, int]:
        """Reads the source a second time: which of these does it hold, and where first?"""
        originals: dict[bytes, int] = {}
        for offsets, digests in self._sides[0](self._source_from):
            if not wanted.isdisjoint(digests):
                for offset, digest in zip(offsets, digests, strict=True):
                    if digest in wanted:
                        originals.setdefault(digest, offset)
        return originals


def _common_prefix(left: list[bytes], right: list[bytes], length: int) -> int:
    if left[:length] == right[:length]:
        return length
    return next(i for i in range(length) if left[i] != right[i])


def _cut(pairs: Pairs, proven: Iterator[tuple[int, int]], left: int, right: int) -> int:
    """How many pairs to match: up to the last proof well inside the windows, or else the first proof.

    Near a window's end, a record that repeats may be matched with the wrong copy, since the right one may
    lie beyond the window.
    """
    cut = 0
    for _, last in proven:
        cut = last + 1
        if 4 * pairs[last][0] < 3 * left and 4 * pairs[last][1] < 3 * right:
            break
    return cut


def _resync_offsets(
    sides: tuple[DigestReader, DigestReader], streams: tuple[RecordStream, RecordStream], effort: Effort
) -> tuple[int, int] | None:
    """Offsets on both sides, shortly before the place where they agree again; None if they never do."""
    selects: Callable[[bytes], bool] = lambda digest: digest[0] % effort.one_in == 0  # noqa: E731
    for stream in streams:
        # The rest of a side that has almost ended is small enough to search for all of it.
        if stream.ended and len(stream.digests) <= effort.windows[-1]:
            selects = frozenset(stream.digests).__contains__
    margin = effort.windows[0]
    left, right = (
        LookAhead(side, stream.offsets[0], selects, margin)
        for side, stream in zip(sides, streams, strict=True)
    )
    distance = 2 * effort.windows[-1]
    while True:
        left.read(distance)
        right.read(distance)
        pairs = common_subsequence(left.selected, right.selected)
        # A side that has ended cannot have more matches than records.
        proof = min([effort.far_proof, *(len(side.selected) for side in (left, right) if side.ended)])
        proven = list(runs(pairs, left.selected, max(1, proof)))
        if proven:
            first, _ = proven[-1]
            return left.before(pairs[first][0]), right.before(pairs[first][1])
        if left.ended and right.ended:
            return None
        distance *= 2
