"""Reads the offset map: the destination offsets of the records replicated last."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from causeway.core.filtering import FilterRecord
from causeway.core.position import SourcePartition
from causeway.core.topic import Spot
from causeway.kafka.admin import ClusterView
from causeway.kafka.range_reader import read_spans
from causeway.rules.ledger_consistency import MapEntry

TAIL = 200
"""Offsets to read at the end of each partition. A ledger that lost its end lacks what they record."""
STRETCH = 5_000


def decode_entry(key: bytes, value: bytes) -> MapEntry:
    """Decode a record of the offset map."""
    cluster, topic, partition = key.decode().split("|")
    body = json.loads(value)
    place_topic, _, place = body["to"]
    source, destination, length = body["runs"][-1]
    return MapEntry(
        SourcePartition(cluster, topic, int(partition)),
        body["topic_id"],
        source + length,
        (place_topic, place),
        destination + length,
        body.get("base"),
    )


def tail(view: ClusterView, spots: Iterable[Spot]) -> list[MapEntry]:
    """Return the last committed entries of these partitions of the offset map."""
    asked = list(spots)
    starts, ends = view.all_offsets(asked, "earliest"), view.all_offsets(asked, "stable")
    spans = {spot: (max(starts[spot], ends[spot] - TAIL), ends[spot]) for spot in asked}
    return [entry for entries in read_spans(view.cluster, spans, _entry).values() for entry in entries]


def last_entries(view: ClusterView, spot: Spot, places: Collection[Spot]) -> dict[Spot, MapEntry]:
    """Return the last entry for each of these places. No transaction may be open in this map partition."""
    (start,) = view.all_offsets([spot], "earliest").values()
    (begin,) = view.all_offsets([spot], "latest").values()
    last: dict[Spot, MapEntry] = {}
    back = STRETCH
    while begin > start and last.keys() < set(places):
        begin, end = max(start, begin - back), begin
        entries = read_spans(view.cluster, {spot: (begin, end)}, _entry)[spot]
        last = {entry.place: entry for entry in entries if entry.place in places} | last
        back *= 4
    return last


def _entry(record: FilterRecord) -> MapEntry:
    return decode_entry(record.key or b"", record.value or b"")
