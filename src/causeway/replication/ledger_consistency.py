"""Detects, before anything is replicated, a ledger that knows less than its offset map."""

from __future__ import annotations

from causeway.core.task_order import ledger_topic, offset_map_topic
from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.offset_map import tail
from causeway.rules.ledger_consistency import contradicted
from causeway.rules.ledger_state import LedgerState


def refuse_older(view: ClusterView, mirror: str, image: LedgerState) -> None:
    """Refuse a ledger that knows less than the offset map. The shards are fenced: neither is written now."""
    offsets = offset_map_topic(mirror)
    known = view.describe([offsets])
    if offsets not in known:
        return
    spots = [(offsets, number) for number in range(known[offsets].partitions)]
    entry = contradicted(tail(view, spots), image.positions, image.gaps.values())
    if entry is None:
        return
    position = image.positions.get(entry.source)
    raise IntegrityError(
        f"the ledger is older than what was replicated: {entry.source} up to offset {entry.end},"
        + (f" the ledger says {position.offset}" if position else " the ledger does not know it"),
        where=f'topic {ledger_topic(mirror)} on cluster "{view.cluster.alias}"',
        why=f"the offset map, written with it, says so ({offsets})",
        todo="the ledger was restored or changed; to continue would repeat records:"
        " replicate under a new mirror name, or `causeway adopt` under it",
    )
