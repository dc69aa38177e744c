"""The offset map, read back: where the last records went."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from causeway.kafka.admin import ClusterView
from causeway.kafka.tails import read_spans
from causeway.model.filtering import Record
from causeway.model.position import SourcePartition
from causeway.policy.testimony import Landed, Spot

TAIL = 200
"""So many offsets at the end of each partition: a ledger that lost its end lacks what they say."""
STRETCH = 5_000


def landed(key: bytes, value: bytes) -> Landed:
    """What a record of the map says."""
    cluster, topic, partition = key.decode().split("|")
    body = json.loads(value)
    place_topic, _, place = body["to"]
    source, destination, length = body["runs"][-1]
    return Landed(
        SourcePartition(cluster, topic, int(partition)),
        body["topic_id"],
        source + length,
        (place_topic, place),
        destination + length,
    )


def tail(view: ClusterView, spots: Iterable[Spot]) -> list[Landed]:
    """What these partitions of the map said last, as far as it is committed."""
    asked = list(spots)
    starts, ends = view.all_offsets(asked, "earliest"), view.all_offsets(asked, "stable")
    spans = {spot: (max(starts[spot], ends[spot] - TAIL), ends[spot]) for spot in asked}
    return [one for found in read_spans(view.cluster, spans, _landed).values() for one in found]


def last_landed(view: ClusterView, spot: Spot, places: Collection[Spot]) -> dict[Spot, Landed]:
    """What went to each of these places last, by a partition of the map in which nothing is open."""
    (start,) = view.all_offsets([spot], "earliest").values()
    (begin,) = view.all_offsets([spot], "latest").values()
    found: dict[Spot, Landed] = {}
    back = STRETCH
    while begin > start and found.keys() < set(places):
        begin, end = max(start, begin - back), begin
        read = read_spans(view.cluster, {spot: (begin, end)}, _landed)[spot]
        found = {one.place: one for one in read if one.place in places} | found
        back *= 4
    return found


def _landed(record: Record) -> Landed:
    return landed(record.key or b"", record.value or b"")
