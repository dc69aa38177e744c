"""Classifies unmatched records.

Records come from the alignment: on one side only, in a gap between two matches. A gap is named by the
number of matches before it, so gap 0 lies before the first match.

- The same digest unmatched on both sides, at any distance: out of order.
- A destination record whose digest the source holds elsewhere: duplicated.
- What is left on both sides of the same gap, one to one: changed.
- The rest: missing or behind on the source side, unexpected on the destination side.

Identical records may repeat on the source, so this counts occurrences; a set would lose some.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from causeway.core.verify_report import KINDS, Coordinates, DifferenceKind, Findings

Originals = Callable[[set[bytes]], Mapping[bytes, int]]
"""Which of these digests the source holds anywhere, and at which offset first."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Source records before `settled` must have arrived; those before `end` may be behind.

    Where retention has trimmed a side, the other side's records before the first match are explained.
    """

    settled: int
    end: int
    source_trimmed: bool = False
    destination_trimmed: bool = False


def with_unreadable(
    findings: Findings, here: Iterable[int], there: Iterable[tuple[int, int | None]], *, keep: int = 10
) -> Findings:
    """The same with records that could not be compared: source offsets, and destination offsets with their
    partition, if several are compared as a pool."""
    found = [Coordinates(offset, None) for offset in sorted(here)]
    found += [Coordinates(None, offset, partition=number) for offset, number in sorted(there)]
    if not found:
        return findings
    return replace(
        findings,
        counts={**findings.counts, "unreadable": len(found)},
        first={**findings.first, "unreadable": tuple(found[:keep])},
    )


class Catalogue:
    """How many differences of each kind there are, and where the first ones are."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._counts: dict[DifferenceKind, int] = dict.fromkeys(KINDS, 0)
        self._first: dict[DifferenceKind, list[tuple[int, Coordinates]]] = {kind: [] for kind in KINDS}

    def __getitem__(self, kind: DifferenceKind) -> int:
        return self._counts[kind]

    def note(self, kind: DifferenceKind, source: int | None, destination: int | None) -> None:
        self._counts[kind] += 1
        first = self._first[kind]
        at = destination if destination is not None else source
        assert at is not None
        if len(first) < self._keep or at < first[-1][0]:
            insort(first, (at, Coordinates(source, destination)), key=lambda one: one[0])
            del first[self._keep :]

    def note_source(self, kind: DifferenceKind, offsets: list[int]) -> None:
        """Many at once, ascending."""
        for offset in offsets[: self._keep]:
            self.note(kind, offset, None)
        self.count(kind, len(offsets[self._keep :]))

    def count(self, kind: DifferenceKind, more: int) -> None:
        """Without coordinates."""
        self._counts[kind] += more

    @property
    def counts(self) -> dict[DifferenceKind, int]:
        return {kind: count for kind, count in self._counts.items() if count}

    @property
    def first(self) -> dict[DifferenceKind, tuple[Coordinates, ...]]:
        return {kind: tuple(one for _, one in found) for kind, found in self._first.items() if found}


class Differences:
    """The unmatched records of both sides, until `findings` classifies them."""

    def __init__(self, span: SourceSpan, *, keep: int, limit: int) -> None:
        self._span = span
        self._limit = limit
        self._found = Catalogue(keep)
        self._source = _Unmatched()
        self._destination = _Unmatched()
        self._expired = 0
        self._faded = 0

    def on_source(
        self, gap: int, offsets: list[int], digests: list[bytes], *, nothing_follows: bool = False
    ) -> None:
        """Source records without a partner.

        If nothing follows on the destination, they are held only as long as a destination record of the
        same gap might be their changed version: a destination that lags far costs no memory.
        """
        span = self._span
        if gap == 0 and span.destination_trimmed:
            faded = bisect_left(offsets, span.settled)
            self._faded += faded
            offsets, digests = offsets[faded:], digests[faded:]
        if nothing_follows and not self._destination.held:
            self._owed(offsets)
            return
        for offset, digest in zip(offsets, digests, strict=True):
            moved = self._destination.take(digest)
            if moved is not None:
                self._found.note("out_of_order", offset, moved)
            elif self._source.held < self._limit and not (
                nothing_follows and self._source.gaps[gap] >= self._destination.gaps[gap]
            ):
                self._source.hold(gap, offset, digest)
            elif nothing_follows or offset >= span.settled:
                self._owed([offset])
            else:
                self._source.overflow[gap] += 1

    def on_destination(self, gap: int, offsets: list[int], digests: list[bytes]) -> None:
        """Destination records without a partner."""
        if gap == 0 and self._span.source_trimmed:
            self._expired += len(offsets)
            return
        for offset, digest in zip(offsets, digests, strict=True):
            moved = self._source.take(digest)
            if moved is not None:
                self._found.note("out_of_order", moved, offset)
            elif self._destination.held < self._limit:
                self._destination.hold(gap, offset, digest)
            else:
                self._destination.overflow[gap] += 1

    def findings(self, matched: int, originals: Originals) -> Findings:
        """Classifies what is still unmatched; calls `originals` only if there are digests to look up."""
        strangers = self._destination.digests()
        known = originals(strangers) if strangers else {}
        lost = self._source.by_gap()
        strange: dict[int, list[int]] = defaultdict(list)
        for gap, offset, digest in self._destination.entries():
            if digest in known:
                self._found.note("duplicated", known[digest], offset)
            else:
                strange[gap].append(offset)
        for gap in {*lost, *strange}:
            self._name(lost.get(gap, []), sorted(strange.get(gap, [])))
        guessed = self._name_overflow()
        found = self._found
        both = matched + found["out_of_order"] + found["changed"]
        return Findings(
            source_records=both + found["missing"] + found["behind"] + self._faded,
            destination_records=both + found["duplicated"] + found["unexpected"] + self._expired,
            counts=found.counts,
            first=found.first,
            expired=self._expired,
            faded=self._faded,
            guessed=guessed,
        )

    def _name(self, lost: list[int], strange: list[int]) -> None:
        """One gap: pairs in their order, then the rest of the longer side."""
        required = bisect_left(lost, self._span.settled)
        pairs = min(required, len(strange))
        for source, destination in zip(lost[:pairs], strange[:pairs], strict=True):
            self._found.note("changed", source, destination)
        self._owed(lost[pairs:])
        for destination in strange[pairs:]:
            self._found.note("unexpected", None, destination)

    def _name_overflow(self) -> bool:
        lost, strange = self._source.overflow, self._destination.overflow
        for gap in {*lost, *strange}:
            changed = min(lost[gap], strange[gap])
            self._found.count("changed", changed)
            self._found.count("missing", lost[gap] - changed)
            self._found.count("unexpected", strange[gap] - changed)
        return bool(lost or strange)

    def _owed(self, offsets: list[int]) -> None:
        """Ascending source offsets that are not on the destination: missing, behind, or after the end."""
        settled = bisect_left(offsets, self._span.settled)
        end = max(settled, bisect_left(offsets, self._span.end))
        self._found.note_source("missing", offsets[:settled])
        self._found.note_source("behind", offsets[settled:end])


class _Unmatched:
    """One side's records without a partner, by digest; `overflow` counts, by gap, what was not held."""

    def __init__(self) -> None:
        self._by_digest: dict[bytes, list[tuple[int, int]]] = {}
        self.held = 0
        self.gaps: defaultdict[int, int] = defaultdict(int)
        self.overflow: defaultdict[int, int] = defaultdict(int)

    def hold(self, gap: int, offset: int, digest: bytes) -> None:
        self._by_digest.setdefault(digest, []).append((gap, offset))
        self.held += 1
        self.gaps[gap] += 1

    def take(self, digest: bytes) -> int | None:
        """The offset of a record with this digest, which is removed; None if there is none."""
        places = self._by_digest.get(digest)
        if places is None:
            return None
        gap, offset = places.pop()
        if not places:
            del self._by_digest[digest]
        self.held -= 1
        self.gaps[gap] -= 1
        return offset

    def digests(self) -> set[bytes]:
        return set(self._by_digest)

    def entries(self) -> Iterable[tuple[int, int, bytes]]:
        for digest, places in self._by_digest.items():
            for gap, offset in places:
                yield gap, offset, digest

    def by_gap(self) -> dict[int, list[int]]:
        gaps: defaultdict[int, list[int]] = defaultdict(list)
        for gap, offset, _ in self.entries():
            gaps[gap].append(offset)
        return {gap: sorted(offsets) for gap, offsets in gaps.items()}
