"""A ledger that knows less than its offset map is detected before anything is carried."""

from __future__ import annotations

import json

from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import LedgerImage
from causeway.kafka.tails import read_spans
from causeway.model.filtering import Record
from causeway.model.order import ledger_topic, offset_map_topic
from causeway.model.position import SourcePartition
from causeway.policy.testimony import Carried, contradicted

TAIL = 200
"""So many offsets at the end of each partition of the map: a ledger that lost its end lacks what they say."""


def refuse_older(view: ClusterView, mirror: str, image: LedgerImage) -> None:
    """A ledger that knows less than the offset map. The shards are fenced: nobody writes either of them."""
    offsets = offset_map_topic(mirror)
    known = view.describe([offsets])
    if offsets not in known:
        return
    spots = [(offsets, number) for number in range(known[offsets].partitions)]
    starts, ends = view.all_offsets(spots, "earliest"), view.all_offsets(spots, "stable")
    spans = {spot: (max(starts[spot], ends[spot] - TAIL), ends[spot]) for spot in spots}
    said = [one for found in read_spans(view.cluster, spans, _carried).values() for one in found]
    carried = contradicted(said, image.positions, image.gaps.values())
    if carried is None:
        return
    position = image.positions.get(carried.source)
    raise IntegrityError(
        f"the ledger is older than what was carried: {carried.source} was carried up to offset {carried.end},"
        + (f" the ledger says {position.offset}" if position else " the ledger does not know it"),
        where=f'topic {ledger_topic(mirror)} on cluster "{view.cluster.alias}"',
        why=f"the offset map, written with it, says so ({offsets})",
        todo="somebody restored or changed the ledger; going on would repeat records:"
        " carry under a new mirror name, or `causeway adopt` under it",
    )


def _carried(record: Record) -> Carried:
    cluster, topic, partition = (record.key or b"").decode().split("|")
    body = json.loads(record.value or b"")
    source, _, length = body["runs"][-1]
    return Carried(SourcePartition(cluster, topic, int(partition)), body["topic_id"], source + length)
