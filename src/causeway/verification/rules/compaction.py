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
from causeway.verification.rules.difference_types import DifferenceCounts, SourceSpan


@dataclass(frozen=True, slots=True)
class Latest:
    """A key's latest record."""

    offset: int
    digest: bytes
    deletes: bool


class _LatestByKey:
    """The latest record of each key before a boundary, and all records from there on."""

    def __init__(self, batches: Iterable[KeyedDigestBatch], boundary: int | None = None) -> None:
        self.before: dict[bytes, Latest] = {}
        self.later: dict[bytes, list[Latest]] = {}
        for offsets, keys, digests, deletes in batches:
            for offset, key, digest, delete in zip(offsets, keys, digests, deletes, strict=True):
                record = Latest(offset, digest, delete)
                if boundary is None or offset < boundary:
                    self.before[key] = record
                else:
                    self.later.setdefault(key, []).append(record)


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
    before the captured end, the key is `lagging`.
    """
    source_keys, destination_keys = _LatestByKey(source, span.position), _LatestByKey(destination)
    counts = DifferenceCounts(keep)
    live_source_keys = live_destination_keys = expired_on_source = expired_on_destination = 0
    for key in source_keys.before.keys() | source_keys.later.keys() | destination_keys.before.keys():
        required, later = source_keys.before.get(key), source_keys.later.get(key, [])
        arrived = destination_keys.before.get(key)
        lagging = [record for record in later if record.offset < span.end]
        current = lagging[-1] if lagging else required
        live_source_keys += current is not None and not current.deletes
        live_destination_keys += arrived is not None and not arrived.deletes
        if _same(current, arrived) or any(_same(record, arrived) for record in later[len(lagging) :]):
            continue
        if lagging:
            counts.add("lagging", lagging[-1].offset, None)
        elif later:
            continue  # the version that arrived may be gone from the source: nothing contradicts it
        elif required is None:
            assert arrived is not None
            if span.source_trimmed:
                expired_on_source += 1
            else:
                counts.add("unexpected", None, arrived.offset)
        elif arrived is None and span.destination_trimmed:
            expired_on_destination += 1
        elif arrived is None or required.deletes != arrived.deletes:
            counts.add("missing", required.offset, None)
        else:
            counts.add("changed", required.offset, arrived.offset)
    return Findings(
        source_records=live_source_keys,
        destination_records=live_destination_keys,
        counts=counts.counts,
        first=counts.first,
        expired_on_source=expired_on_source,
        expired_on_destination=expired_on_destination,
    )


def _same(source: Latest | None, destination: Latest | None) -> bool:
    if source is None or destination is None:
        return (source is None or source.deletes) and (destination is None or destination.deletes)
    return source.digest == destination.digest
