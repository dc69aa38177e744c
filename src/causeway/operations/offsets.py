"""`causeway offsets show`: what the ledger records for every source partition, beside the sources' logs."""

from __future__ import annotations

from causeway.config import MirrorSettings, Settings
from causeway.core.offsets import OffsetsReport, PartitionOffsets, QuarantinedRecord
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import ledger_topic
from causeway.errors import AccessDenied, IntegrityError, PlanRefused, Unreachable, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_access import LEDGER_SECONDS
from causeway.kafka.quarantine import read_labels
from causeway.planning.clusters import cluster_of
from causeway.planning.pool_nodes import read_pools
from causeway.planning.source_pools import source_view
from causeway.rules.ledger_state import LedgerState

QUARANTINED_SHOWN = 20
SOURCE_SECONDS = 5.0
"""A source that does not respond must not prevent the rest from being shown."""


def read_offsets(settings: Settings, mirror: MirrorSettings, topic: str | None = None) -> OffsetsReport:
    """All positions in a mirror's ledger, or those of one topic, beside the sources' logs."""
    view = ClusterView(cluster_of(settings, mirror.destination))
    ledger = read_ledger(view, mirror)
    wanted = {
        source: position
        for source, position in sorted(ledger.positions.items())
        if topic in (None, source.topic)
    }
    if topic is not None and not wanted:
        raise unknown_topic(topic, ledger, mirror)
    bounds: dict[SourcePartition, tuple[int, int]] = {}
    aliases: dict[str, str] = {}
    notes: list[str] = []
    for alias in mirror.source:
        source = source_view(settings, alias)
        try:
            source.connect(SOURCE_SECONDS)
            reads, refused = read_pools(mirror, {alias: source}, view.cluster)
            notes += [*refused, *map(str, reads)]
            aliases[source.cluster_id()] = alias
            bounds |= _bounds(source, wanted)
        except (Unreachable, AccessDenied, IntegrityError) as error:
            notes.append(f'no log start and log end of "{alias}": {error}')
    if any(position.tally.quarantined for position in wanted.values()):
        labels = read_labels(view, mirror.name, topic=topic, most=QUARANTINED_SHOWN).labels
    else:
        labels = ()
    return OffsetsReport(
        mirror=mirror.name,
        sources=tuple(mirror.source),
        destination=mirror.destination,
        partitions=tuple(
            PartitionOffsets(position, *bounds.get(source, (None, None)))
            for source, position in wanted.items()
        ),
        stopped=tuple(
            stopped for source, stopped in sorted(ledger.stopped.items()) if topic in (None, source.topic)
        ),
        gaps=tuple(gap for gap in ledger.gaps_in_order() if topic in (None, gap.topic)),
        first_quarantined=tuple(
            QuarantinedRecord(label.source, label.offset, label.reason) for label in labels
        ),
        notes=tuple(notes),
        aliases=aliases,
    )


def _bounds(
    view: ClusterView, positions: dict[SourcePartition, Position]
) -> dict[SourcePartition, tuple[int, int]]:
    on_cluster = [source for source in positions if source.cluster == view.cluster_id()]
    spots = [(source.topic, source.partition) for source in on_cluster]
    starts, ends = view.offsets(spots, "earliest"), view.offsets(spots, "stable")
    return {
        source: (starts[spot], ends[spot])
        for source, spot in zip(on_cluster, spots, strict=True)
        if spot in starts and spot in ends
    }


def read_ledger(view: ClusterView, mirror: MirrorSettings) -> LedgerState:
    view.connect()
    ledger = read_image(view.cluster, mirror.name, LEDGER_SECONDS)
    if ledger.lease is None and not ledger.positions:
        raise PlanRefused(
            "no ledger yet: nothing was replicated",
            where=f'mirror "{mirror.name}", topic {ledger_topic(mirror.name)} on "{mirror.destination}"',
            todo="start the mirror: causeway run CONFIG",
        )
    return ledger


def unknown_topic(topic: str, ledger: LedgerState, mirror: MirrorSettings) -> UsageError:
    topics = sorted({source.topic for source in ledger.positions})
    return UsageError(
        f"the ledger has no positions of topic {topic}",
        where=f'mirror "{mirror.name}"',
        todo=f"it has: {', '.join(topics[:10])}{' …' * (len(topics) > 10)}",
    )
