"""Classifies unmatched records.

Records come from the alignment: on one side only, in a gap between two matches. A gap is named by the
number of matches before it, so gap 0 lies before the first match.

- The same digest unmatched on both sides, at any distance: out of order.
- A destination record whose digest the source holds elsewhere: duplicated.
- What is left on both sides of the same gap, one to one: changed.
- The rest: missing or lagging on the source side, unexpected on the destination side.

Identical records may repeat on the source, so this counts occurrences; a set would lose some.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from causeway.core.verify_report import KINDS, Coordinates, DifferenceKind, Findings

Originals = Callable[[set[bytes]], Mapping[bytes, int]]
"""Which of these digests the source holds anywhere, and at which offset first."""


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Source records before `position` must have arrived; those before `end` may be lagging.

    Where retention has trimmed a side, the other side's records before the first match are explained.
    """

    position: int
    end: int
    source_trimmed: bool = False
    destination_trimmed: bool = False


def with_unreadable(
    findings: Findings,
    source: Iterable[int],
    destination: Iterable[tuple[int, int | None]],
    *,
    keep: int = 10,
) -> Findings:
    """The same with records that could not be compared: source offsets, and destination offsets with their
    partition, if several are compared as a pool."""
    unreadable = [Coordinates(offset, None) for offset in sorted(source)]
    unreadable += [Coordinates(None, offset, partition=number) for offset, number in sorted(destination)]
    if not unreadable:
        return findings
    return replace(
        findings,
        counts={**findings.counts, "unreadable": len(unreadable)},
        first={**findings.first, "unreadable": tuple(unreadable[:keep])},
    )


class DifferenceCounts:
    """How many differences of each kind there are, and where the first ones are."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._counts: dict[DifferenceKind, int] = dict.fromkeys(KINDS, 0)
        self._first: dict[DifferenceKind, list[tuple[int, Coordinates]]] = {kind: [] for kind in KINDS}

    def __getitem__(self, kind: DifferenceKind) -> int:
        return self._counts[kind]

    def add(self, kind: DifferenceKind, source: int | None, destination: int | None) -> None:
        self._counts[kind] += 1
        first = self._first[kind]
        at = destination if destination is not None else source
        assert at is not None
        if len(first) < self._keep or at < first[-1][0]:
            insort(first, (at, Coordinates(source, destination)), key=itemgetter(0))
            del first[self._keep :]

    def add_source(self, kind: DifferenceKind, offsets: list[int]) -> None:
        """Many at once, ascending."""
        for offset in offsets[: self._keep]:
            self.add(kind, offset, None)
        self.add_count(kind, len(offsets[self._keep :]))

    def add_count(self, kind: DifferenceKind, more: int) -> None:
        """Without coordinates."""
        self._counts[kind] += more

    @property
    def counts(self) -> dict[DifferenceKind, int]:
        return {kind: count for kind, count in self._counts.items() if count}

    @property
    def first(self) -> dict[DifferenceKind, tuple[Coordinates, ...]]:
        return {kind: tuple(record for _, record in first) for kind, first in self._first.items() if first}


class Differences:
    """The unmatched records of both sides, until `findings` classifies them."""

    def __init__(self, span: SourceSpan, *, keep: int, limit: int) -> None:
        self._span = span
        self._limit = limit
        self._counts = DifferenceCounts(keep)
        self._source = _Unmatched()
        self._destination = _Unmatched()
        self._expired_on_source = 0
        self._expired_on_destination = 0

    def on_source(
        self, gap: int, offsets: list[int], digests: list[bytes], *, nothing_follows: bool = False
    ) -> None:
        """Source records without a partner.

        If nothing follows on the destination, they are held only as long as a destination record of the
        same gap might be their changed version: a destination that lags far costs no memory.
        """
        span = self._span
        if gap == 0 and span.destination_trimmed:
            expired = bisect_left(offsets, span.position)
            self._expired_on_destination += expired
            offsets, digests = offsets[expired:], digests[expired:]
        if nothing_follows and not self._destination.held:
            self._not_on_destination(offsets)
            return
        for offset, digest in zip(offsets, digests, strict=True):
            partner = self._destination.take(digest)
            if partner is not None:
                self._counts.add("out_of_order", offset, partner)
            elif self._source.held < self._limit and not (
                nothing_follows and self._source.gaps[gap] >= self._destination.gaps[gap]
            ):
                self._source.hold(gap, offset, digest)
            elif nothing_follows or offset >= span.position:
                self._not_on_destination([offset])
            else:
                self._source.overflow[gap] += 1

    def on_destination(self, gap: int, offsets: list[int], digests: list[bytes]) -> None:
        """Destination records without a partner."""
        if gap == 0 and self._span.source_trimmed:
            self._expired_on_source += len(offsets)
            return
        for offset, digest in zip(offsets, digests, strict=True):
            partner = self._source.take(digest)
            if partner is not None:
                self._counts.add("out_of_order", partner, offset)
            elif self._destination.held < self._limit:
                self._destination.hold(gap, offset, digest)
            else:
                self._destination.overflow[gap] += 1

    def findings(self, matched: int, originals: Originals) -> Findings:
        """Classifies what is still unmatched; calls `originals` only if there are digests to look up."""
        unmatched = self._destination.digests()
        known = originals(unmatched) if unmatched else {}
        missing = self._source.by_gap()
        unexpected: dict[int, list[int]] = defaultdict(list)
        for gap, offset, digest in self._destination.entries():
            if digest in known:
                self._counts.add("duplicated", known[digest], offset)
            else:
                unexpected[gap].append(offset)
        for gap in {*missing, *unexpected}:
            self._classify_gap(missing.get(gap, []), sorted(unexpected.get(gap, [])))
        approximate = self._classify_overflow()
        counts = self._counts
        both = matched + counts["out_of_order"] + counts["changed"]
        return Findings(
            source_records=both + counts["missing"] + counts["lagging"] + self._expired_on_destination,
            destination_records=both + counts["duplicated"] + counts["unexpected"] + self._expired_on_source,
            counts=counts.counts,
            first=counts.first,
            expired_on_source=self._expired_on_source,
            expired_on_destination=self._expired_on_destination,
            approximate=approximate,
        )

    def _classify_gap(self, missing: list[int], unexpected: list[int]) -> None:
        """One gap: pairs in their order, then the rest of the longer side."""
        required = bisect_left(missing, self._span.position)
        pairs = min(required, len(unexpected))
        for source, destination in zip(missing[:pairs], unexpected[:pairs], strict=True):
            self._counts.add("changed", source, destination)
        self._not_on_destination(missing[pairs:])
        for destination in unexpected[pairs:]:
            self._counts.add("unexpected", None, destination)

    def _classify_overflow(self) -> bool:
        missing, unexpected = self._source.overflow, self._destination.overflow
        for gap in {*missing, *unexpected}:
            changed = min(missing[gap], unexpected[gap])
            self._counts.add_count("changed", changed)
            self._counts.add_count("missing", missing[gap] - changed)
            self._counts.add_count("unexpected", unexpected[gap] - changed)
        return bool(missing or unexpected)

    def _not_on_destination(self, offsets: list[int]) -> None:
        """Ascending source offsets that are not on the destination: missing, lagging, or after the end."""
        required = bisect_left(offsets, self._span.position)
        end = max(required, bisect_left(offsets, self._span.end))
        self._counts.add_source("missing", offsets[:required])
        self._counts.add_source("lagging", offsets[required:end])


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
