"""Aligns the records of a source partition with those of its destination, by digest alone.

Both sides are read once, side by side; while they agree nothing is kept. Where they part:

1. *Near*: windows of both sides, growing step by step, are compared by their longest common
   subsequence, until a run of matches proves where both go on together. What found no partner before
   that run is a difference, and reading goes on behind it.
2. *Far*: if even the largest windows have no such run, one side lost or gained more than a window (or
   everything differs). Both sides are walked ahead, keeping only records that their own digest selects
   (the same on both sides), until these show where both meet again. Each side is then wound back to
   that place. If they never meet, the windows are taken as they are, and nobody looks ahead again.

A side is a function that reads from an offset on, so it can be read twice; it must always end at the
same place. Nothing here knows Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from causeway.model.verdict import Findings
from causeway.policy.differences import Differences, Span
from causeway.policy.subsequence import Pairs, common_subsequence, runs
from causeway.policy.tape import Scout, Side, Tape


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look, and how much to remember. The defaults hold some 100 MB at the very worst."""

    windows: tuple[int, ...] = (4_096, 16_384, 65_536, 262_144)
    proof: int = 8  # matches in a row that prove the same place
    far_proof: int = 4  # the same, among the selected records
    one_in: int = 256  # how many records a selected one stands for, at most 256
    keep: int = 10  # coordinates reported for each kind
    limit: int = 1_000_000  # unmatched records remembered for each side


def align(
    source: Side,
    destination: Side,
    span: Span,
    *,
    source_from: int = 0,
    destination_from: int = 0,
    effort: Effort | None = None,
) -> Findings:
    """Compares two sides record by record and names every difference."""
    return _Alignment(source, destination, span, source_from, destination_from, effort or Effort()).findings()


class _Alignment:
    def __init__(
        self,
        source: Side,
        destination: Side,
        span: Span,
        source_from: int,
        destination_from: int,
        effort: Effort,
    ) -> None:
        self._sides = (source, destination)
        self._source_from = source_from
        self._effort = effort
        self._source = Tape(source, source_from)
        self._destination = Tape(destination, destination_from)
        self._differences = Differences(span, keep=effort.keep, limit=effort.limit)
        self._matched = 0  # also the name of the gap behind the last match
        self._look_far = True

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
                self._part()
        self._rest()
        return self._differences.findings(self._matched, self._originals)

    def _match(self, count: int) -> None:
        self._source.take(count)
        self._destination.take(count)
        self._matched += count

    def _part(self) -> None:
        """The next records differ: settle as much as the nearest proof of the same place allows."""
        source, destination = self._source, self._destination
        pairs: Pairs = []
        for window in self._effort.windows:
            source.fill(window)
            destination.fill(window)
            left, right = source.digests[:window], destination.digests[:window]
            pairs = common_subsequence(left, right)
            if all(tape.ended and len(tape.digests) <= window for tape in (source, destination)):
                self._settle(pairs, len(left), len(right))
                return
            # A side that has almost ended can prove no more than it has.
            proof = min(self._effort.proof, len(left), len(right))
            if cut := _cut(pairs, runs(pairs, left, proof), len(left), len(right)):
                self._settle(pairs[:cut])
                return
        if 2 * len(pairs) >= min(len(left), len(right)):  # records that repeat all over: no proof, but plenty
            self._settle(pairs[: len(pairs) * 3 // 4 + 1])
            return
        place = _meeting_place(self._sides, (source, destination), self._effort) if self._look_far else None
        if place is None:
            self._look_far = False
            self._settle(pairs, len(left), len(right))
        elif place != (source.offsets[0], destination.offsets[0]):
            self._drain(*place)
        elif pairs:  # sparse matches, but both sides do go on together from here
            self._settle(pairs)
        else:
            self._settle(pairs, len(left), len(right))

    def _settle(self, pairs: Pairs, left: int | None = None, right: int | None = None) -> None:
        """Matches the pairs, and calls unmatched what lies between them (and up to left and right)."""
        i = j = 0
        for a, b in pairs:
            self._gap(i, a, j, b)
            self._matched += 1
            i, j = a + 1, b + 1
        if left is not None and right is not None:
            self._gap(i, left, j, right)
            i, j = left, right
        self._source.take(i)
        self._destination.take(j)

    def _gap(self, i: int, a: int, j: int, b: int) -> None:
        source, destination = self._source, self._destination
        if i < a:
            self._differences.on_source(self._matched, source.offsets[i:a], source.digests[i:a])
        if j < b:
            self._differences.on_destination(
                self._matched, destination.offsets[j:b], destination.digests[j:b]
            )

    def _drain(self, source_to: int, destination_to: int) -> None:
        """What lies before the place where both sides meet again has no partner."""
        while left := self._source.below(source_to):
            self._differences.on_source(self._matched, *self._source.take(left))
        while right := self._destination.below(destination_to):
            self._differences.on_destination(self._matched, *self._destination.take(right))

    def _rest(self) -> None:
        """One side has ended: whatever the other still holds has no partner."""
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
        """The second reading of the source: does it hold these at all?"""
        found: dict[bytes, int] = {}
        for offsets, digests in self._sides[0](self._source_from):
            if not wanted.isdisjoint(digests):
                for offset, digest in zip(offsets, digests, strict=True):
                    if digest in wanted:
                        found.setdefault(digest, offset)
        return found


def _common_prefix(left: list[bytes], right: list[bytes], length: int) -> int:
    if left[:length] == right[:length]:
        return length
    return next(i for i in range(length) if left[i] != right[i])


def _cut(pairs: Pairs, proven: Iterator[tuple[int, int]], left: int, right: int) -> int:
    """How many pairs to settle: up to the last proof well inside the windows, or the first there is.

    Near a window's end a record that repeats may be matched with the wrong one of its likes, the right
    one lying beyond.
    """
    cut = 0
    for _, last in proven:
        cut = last + 1
        if 4 * pairs[last][0] < 3 * left and 4 * pairs[last][1] < 3 * right:
            break
    return cut


def _meeting_place(
    sides: tuple[Side, Side], tapes: tuple[Tape, Tape], effort: Effort
) -> tuple[int, int] | None:
    """Offsets on both sides, shortly before the place where they agree again; None if they never do."""
    selects: Callable[[bytes], bool] = lambda digest: digest[0] % effort.one_in == 0  # noqa: E731
    for tape in tapes:
        # The rest of a side that has almost ended is small enough to look for all of it.
        if tape.ended and len(tape.digests) <= effort.windows[-1]:
            selects = frozenset(tape.digests).__contains__
    margin = effort.windows[0]
    left, right = (
        Scout(side, tape.offsets[0], selects, margin) for side, tape in zip(sides, tapes, strict=True)
    )
    distance = 2 * effort.windows[-1]
    while True:
        left.walk(distance)
        right.walk(distance)
        pairs = common_subsequence(left.picked, right.picked)
        # A side that has ended can prove no more than it has.
        proof = min([effort.far_proof, *(len(one.picked) for one in (left, right) if one.ended)])
        proven = list(runs(pairs, left.picked, max(1, proof)))
        if proven:
            first, _ = proven[-1]
            return left.before(pairs[first][0]), right.before(pairs[first][1])
        if left.ended and right.ended:
            return None
        distance *= 2
