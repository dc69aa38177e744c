"""Compares compacted topics by the latest record of each key.

Each side is compacted at its own time, so only latest records can be compared, and their relative
order means nothing. A key whose latest record deletes it (a tombstone) counts as absent: compaction
removes that record too, some time later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causeway.core.digests import KeyedDigestBatch
from causeway.core.verify_report import Findings
from causeway.verification.rules.difference_types import Catalogue, SourceSpan


@dataclass(frozen=True, slots=True)
class Latest:
    """A key's latest record."""

    offset: int
    digest: bytes
    deletes: bool


class _Keys:
    """The latest record of each key before a boundary, and all records from there on."""

    def __init__(self, batches: Iterable[KeyedDigestBatch], boundary: int | None = None) -> None:
        self.settled: dict[bytes, Latest] = {}
        self.later: dict[bytes, list[Latest]] = {}
        for offsets, keys, digests, deletes in batches:
            for offset, key, digest, delete in zip(offsets, keys, digests, deletes, strict=True):
                one = Latest(offset, digest, delete)
                if boundary is None or offset < boundary:
                    self.settled[key] = one
                else:
                    self.later.setdefault(key, []).append(one)


def compare_latest(
    source: Iterable[KeyedDigestBatch],
    destination: Iterable[KeyedDigestBatch],
    span: SourceSpan,
    *,
    keep: int = 10,
) -> Findings:
    """Classifies differences between the latest records of both sides; counts are of live keys.

    Source records at or after the ledger's position may have been replicated meanwhile or not. If the
    destination has one of those at or after the captured end, the key is equal. If it lacks the latest one
    before the captured end, the key is `behind`.
    """
    here, there = _Keys(source, span.settled), _Keys(destination)
    found = Catalogue(keep)
    living_here = living_there = expired = faded = 0
    for key in here.settled.keys() | here.later.keys() | there.settled.keys():
        settled, later, arrived = here.settled.get(key), here.later.get(key, []), there.settled.get(key)
        owed = [one for one in later if one.offset < span.end]
        current = owed[-1] if owed else settled
        living_here += current is not None and not current.deletes
        living_there += arrived is not None and not arrived.deletes
        if _same(current, arrived) or any(_same(one, arrived) for one in later[len(owed) :]):
            continue
        if owed:
            found.note("behind", owed[-1].offset, None)
        elif later:
            continue  # the version that arrived may be gone from the source: nothing contradicts it
        elif settled is None:
            assert arrived is not None
            if span.source_trimmed:
                expired += 1
            else:
                found.note("unexpected", None, arrived.offset)
        elif arrived is None and span.destination_trimmed:
            faded += 1
        elif arrived is None or settled.deletes != arrived.deletes:
            found.note("missing", settled.offset, None)
        else:
            found.note("changed", settled.offset, arrived.offset)
    return Findings(
        source_records=living_here,
        destination_records=living_there,
        counts=found.counts,
        first=found.first,
        expired=expired,
        faded=faded,
    )


def _same(source: Latest | None, destination: Latest | None) -> bool:
    if source is None or destination is None:
        return (source is None or source.deletes) and (destination is None or destination.deletes)
    return source.digest == destination.digest
