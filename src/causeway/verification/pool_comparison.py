"""What one task does for a pool: read all of it, partition after partition, and compare it as a whole.

Both sides stay in memory as fingerprints, 28 bytes a record, and about twice that while they are compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from causeway.core.cluster import Cluster
from causeway.core.pool import Pool, PoolFindings, PoolPlace
from causeway.core.verify_report import Findings, Pair, Passage
from causeway.kafka.digest_reader import Expired, PartitionReader
from causeway.verification.expected_records import ATTEMPTS, Arrived, ExpectedRecords, with_fields
from causeway.verification.rules.allowed_differences import Unseen
from causeway.verification.rules.difference_types import with_unreadable
from causeway.verification.rules.fingerprints import Gathering, Rows, key_words
from causeway.verification.rules.pool_compare import compare_pool


def compare_whole(
    pool: Pool, sources: Mapping[str, Cluster], destination: Cluster, passage: Passage
) -> PoolFindings:
    """Read both sides of a pool and classify the differences."""
    timestamps = pool.members[0].timestamps
    here = [ExpectedRecords(sources[one.source.cluster], one, passage) for one in pool.members]
    there = [
        Arrived(
            destination,
            (pool.topic, one.partition),
            one.end,
            passage,
            timestamps=timestamps,
            compacted=pool.compacted,
        )
        for one in pool.places
    ]
    source, starts = _gathered(here, [one.source_from for one in pool.members], pool.compacted)
    arrived, place_starts = _gathered(there, [one.start for one in pool.places], pool.compacted)
    pool = replace(
        pool,
        members=tuple(map(_member, pool.members, starts, here)),
        places=tuple(map(_place, pool.places, place_starts)),
    )
    unseen = Unseen(
        key_words([key for one in here for key in one.unseen]),
        key_words([key for one in there for key in one.left_out.keys]),
    )
    found = compare_pool(pool, source, arrived, unseen=unseen)
    places = {place.partition: side for place, side in zip(pool.places, there, strict=True)}
    # Many members write to a place: what cannot be read there is reported with the first member.
    unread = [(offset, number) for number, side in places.items() for offset in sorted(side.unreadable)]
    members = [
        replace(
            with_unreadable(
                _with_fields(findings, side, places, timestamps),
                [offset for offset in side.unreadable if offset < member.end],
                () if number else unread,
            ),
            filtered=side.left_out.count,
            skipped=side.skipped.count,
            quarantined=side.quarantined.count,
            notes=tuple(side.notes(member)),
            lost=side.lost,
        )
        for number, (member, side, findings) in enumerate(zip(pool.members, here, found.members, strict=True))
    ]
    own = [f"{pool.topic}[{number}]: {note}" for number, side in places.items() for note in side.notes()]
    return PoolFindings(tuple(members), (*(f"topic {pool.topic}: {note}" for note in found.notes), *own))


def _gathered(sides: Sequence[PartitionReader], starts: Sequence[int], keyed: bool) -> tuple[Rows, list[int]]:
    """All rows of the partitions, and where each of them was read from."""
    gathering = Gathering()
    begun = [
        _read(gathering, number, side, start, keyed)
        for number, (side, start) in enumerate(zip(sides, starts, strict=True))
    ]
    return gathering.rows(), begun


def _read(gathering: Gathering, number: int, side: PartitionReader, start: int, keyed: bool) -> int:
    for attempt in range(ATTEMPTS):
        before = gathering.mark()
        try:
            if keyed:
                for offsets, keys, digests, deletes in side.keyed_digests(start):
                    gathering.add(number, offsets, digests, keys, deletes)
            else:
                for offsets, digests in side.digests(start):
                    gathering.add(number, offsets, digests)
            return start
        except Expired:
            if attempt == ATTEMPTS - 1:
                raise
            gathering.forget(before)
            start = max(start, side.log_start())
            time.sleep(1)
    raise AssertionError("unreachable")


def _member(pair: Pair, start: int, side: ExpectedRecords) -> Pair:
    """The pair as it was read: with what retention deleted meanwhile, and where a filter stops it."""
    taken = start - pair.source_from
    return replace(
        pair,
        source_from=start,
        source_taken=pair.source_taken + taken,
        source_trimmed=pair.source_trimmed or taken > 0,
        settled=min(pair.settled, side.stop[0]) if side.stop else pair.settled,
    )


def _place(place: PoolPlace, start: int) -> PoolPlace:
    return replace(place, start=start, taken=place.taken + start - place.start)


def _with_fields(
    findings: Findings, here: PartitionReader, places: Mapping[int, PartitionReader], timestamps: bool
) -> Findings:
    changed = findings.first.get("changed", ())
    if not changed:
        return findings
    named = tuple(
        with_fields(one, here, places[one.partition], timestamps)
        for one in changed
        if one.partition is not None
    )
    return replace(findings, first={**findings.first, "changed": named})
