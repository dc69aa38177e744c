"""Compares compacted topics by the latest record of each key.

What compaction took is gone on either side at its own time, so only latest records can be compared,
and their order among each other says nothing. A key whose latest record deletes it (a tombstone) is as
good as absent: that record goes too, a while later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causeway.model.verdict import Findings
from causeway.policy.differences import Catalogue, Span

KeyedBatch = tuple[list[int], list[bytes], list[bytes], list[bool]]
"""Offsets, digests of keys, digests of records, and whether each record deletes its key."""


@dataclass(frozen=True, slots=True)
class Latest:
    """A key's latest record."""

    offset: int
    digest: bytes
    deletes: bool


class _Keys:
    """The latest record of each key before a boundary, and all records from there on."""

    def __init__(self, batches: Iterable[KeyedBatch], boundary: int | None = None) -> None:
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
    source: Iterable[KeyedBatch], destination: Iterable[KeyedBatch], span: Span, *, keep: int = 10
) -> Findings:
    """Names what differs between the latest records of both sides; records are counted by living keys.

    Source records at or behind the ledger's position may have been carried meanwhile or not: with one
    of those at or behind the captured end a key is equal, with an older one it is behind.
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
