"""What one task does for a pool: read all of it, partition after partition, and compare it as a whole.

Both sides stay in memory as fingerprints, 28 bytes a record, and about twice that while they are compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.core.cluster import Cluster
from causeway.core.pair import Filtering, Pair
from causeway.core.pool import Pool, PoolFindings, PoolPlace
from causeway.core.verify_report import Findings
from causeway.kafka.digest_reader import Expired, PartitionReader
from causeway.verification.arrived_records import ArrivedRecords
from causeway.verification.expected_records import ATTEMPTS, ExpectedRecords, with_fields
from causeway.verification.rules.allowed_differences import OmittedKeys
from causeway.verification.rules.difference_types import with_unreadable
from causeway.verification.rules.fingerprints import RowBuilder, Rows, key_words
from causeway.verification.rules.pool_compare import compare_rows


def compare_pool(
    pool: Pool, sources: Mapping[str, Cluster], destination: Cluster, filtering: Filtering
) -> PoolFindings:
    """Read both sides of a pool and classify the differences."""
    timestamps = pool.members[0].timestamps
    source_readers = [
        ExpectedRecords(sources[member.source.cluster], member, filtering) for member in pool.members
    ]
    place_readers = [
        ArrivedRecords(
            destination,
            (pool.topic, place.partition),
            place.end,
            filtering,
            timestamps=timestamps,
            compacted=pool.compacted,
        )
        for place in pool.places
    ]
    source_rows, starts = _read_all(
        source_readers, [member.source_from for member in pool.members], pool.compacted
    )
    place_rows, place_starts = _read_all(
        place_readers, [place.start for place in pool.places], pool.compacted
    )
    pool = replace(
        pool,
        members=tuple(map(_member, pool.members, starts, source_readers)),
        places=tuple(map(_place, pool.places, place_starts)),
    )
    omitted = OmittedKeys(
        key_words([key for reader in source_readers for key in reader.omitted_keys]),
        key_words([key for reader in place_readers for key in reader.unmarked.keys]),
    )
    found = compare_rows(pool, source_rows, place_rows, omitted=omitted)
    places = {place.partition: reader for place, reader in zip(pool.places, place_readers, strict=True)}
    # Many members write to a place: what cannot be read there is reported with the first member.
    unreadable = [
        (offset, partition) for partition, reader in places.items() for offset in sorted(reader.unreadable)
    ]
    members = [
        replace(
            with_unreadable(
                _with_changed_fields(findings, reader, places, timestamps),
                [offset for offset in reader.unreadable if offset < member.end],
                () if number else unreadable,
            ),
            filtered=reader.filtered.count,
            skipped=reader.skipped.count,
            quarantined=reader.quarantined.count,
            notes=tuple(reader.notes(member)),
            lost=reader.lost,
        )
        for number, (member, reader, findings) in enumerate(
            zip(pool.members, source_readers, found.members, strict=True)
        )
    ]
    notes = [f"topic {pool.topic}: {note}" for note in found.notes]
    notes += [
        f"{pool.topic}[{partition}]: {note}"
        for partition, reader in places.items()
        for note in reader.notes()
    ]
    return PoolFindings(tuple(members), tuple(notes))


def _read_all(
    readers: Sequence[PartitionReader], starts: Sequence[int], keyed: bool
) -> tuple[Rows, list[int]]:
    """All rows of the partitions, and where each of them was read from."""
    builder = RowBuilder()
    read_from = [
        _read(builder, number, reader, start, keyed)
        for number, (reader, start) in enumerate(zip(readers, starts, strict=True))
    ]
    return builder.build(), read_from


def _read(builder: RowBuilder, number: int, reader: PartitionReader, start: int, keyed: bool) -> int:
    for attempt in range(ATTEMPTS):
        mark = builder.mark()
        try:
            if keyed:
                for offsets, keys, digests, deletes in reader.keyed_digests(start):
                    builder.add(number, offsets, digests, keys, deletes)
            else:
                for offsets, digests in reader.digests(start):
                    builder.add(number, offsets, digests)
            return start
        except Expired:
            if attempt == ATTEMPTS - 1:
                raise
            builder.reset(mark)
            start = max(start, reader.log_start())
            time.sleep(1)
    raise AssertionError("unreachable")


def _member(pair: Pair, start: int, reader: ExpectedRecords) -> Pair:
    """The pair as it was read: with what retention deleted meanwhile, and where a filter stops it."""
    expired = start - pair.source_from
    return replace(
        pair,
        source_from=start,
        source_expired=pair.source_expired + expired,
        source_trimmed=pair.source_trimmed or expired > 0,
        position=min(pair.position, reader.stopped_at[0]) if reader.stopped_at else pair.position,
    )


def _place(place: PoolPlace, start: int) -> PoolPlace:
    return replace(place, start=start, expired=place.expired + start - place.start)


def _with_changed_fields(
    findings: Findings, source: PartitionReader, places: Mapping[int, PartitionReader], timestamps: bool
) -> Findings:
    changed = findings.first.get("changed", ())
    if not changed:
        return findings
    with_names = tuple(
        with_fields(record, source, places[record.partition], timestamps)
        for record in changed
        if record.partition is not None
    )
    return replace(findings, first={**findings.first, "changed": with_names})
