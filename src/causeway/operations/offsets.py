"""`causeway offsets show`: what the ledger records for every source partition, beside the sources' logs."""

from __future__ import annotations

from causeway.config import MirrorSettings, Settings
from causeway.core.offsets import OffsetsReport, PartitionOffsets, QuarantinedRecord
from causeway.core.position import Position, SourcePartition
from causeway.core.task_order import ledger_topic
from causeway.errors import AccessDenied, PlanRefused, Unreachable, UsageError
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger import read_image
from causeway.kafka.ledger_access import LEDGER_SECONDS
from causeway.kafka.quarantine import read_labels
from causeway.planning.clusters import cluster_of
from causeway.rules.ledger_state import LedgerState

REFUSED_SHOWN = 20
SOURCE_SECONDS = 5.0
"""A source that does not respond must not prevent the rest from being shown."""


def show(settings: Settings, mirror: MirrorSettings, topic: str | None = None) -> OffsetsReport:
    """All positions in a mirror's ledger, or those of one topic, beside the sources' logs."""
    view = ClusterView(cluster_of(settings, mirror.destination))
    image = ledger_of(view, mirror)
    wanted = {
        source: position
        for source, position in sorted(image.positions.items())
        if topic in (None, source.topic)
    }
    if topic is not None and not wanted:
        raise unknown(topic, image, mirror)
    bounds: dict[SourcePartition, tuple[int, int]] = {}
    aliases: dict[str, str] = {}
    notes: list[str] = []
    for alias in mirror.source:
        source = ClusterView(cluster_of(settings, alias))
        try:
            aliases[source.connect(SOURCE_SECONDS)] = alias
            bounds |= _bounds(source, wanted)
        except (Unreachable, AccessDenied) as error:
            notes.append(f'without the log bounds of "{alias}": {error}')
    if any(position.tally.quarantined for position in wanted.values()):
        held = read_labels(view, mirror.name, topic=topic, most=REFUSED_SHOWN).labels
    else:
        held = ()
    return OffsetsReport(
        mirror=mirror.name,
        sources=tuple(mirror.source),
        destination=mirror.destination,
        partitions=tuple(
            PartitionOffsets(position, *bounds.get(source, (None, None)))
            for source, position in wanted.items()
        ),
        stopped=tuple(one for source, one in sorted(image.stopped.items()) if topic in (None, source.topic)),
        gaps=tuple(gap for gap in image.gaps_in_order() if topic in (None, gap.topic)),
        first_quarantined=tuple(
            QuarantinedRecord(label.source, label.offset, label.reason) for label in held
        ),
        notes=tuple(notes),
        aliases=aliases,
    )


def _bounds(
    view: ClusterView, positions: dict[SourcePartition, Position]
) -> dict[SourcePartition, tuple[int, int]]:
    mine = [source for source in positions if source.cluster == view.cluster_id()]
    spots = [(source.topic, source.partition) for source in mine]
    starts, ends = view.offsets(spots, "earliest"), view.offsets(spots, "stable")
    return {
        source: (starts[spot], ends[spot])
        for source, spot in zip(mine, spots, strict=True)
        if spot in starts and spot in ends
    }


def ledger_of(view: ClusterView, mirror: MirrorSettings) -> LedgerState:
    view.connect()
    image = read_image(view.cluster, mirror.name, LEDGER_SECONDS)
    if image.lease is None and not image.positions:
        raise PlanRefused(
            "there is no ledger yet: nothing was carried",
            where=f'mirror "{mirror.name}", topic {ledger_topic(mirror.name)} on "{mirror.destination}"',
            todo="`causeway run CONFIG` begins",
        )
    return image


def unknown(topic: str, image: LedgerState, mirror: MirrorSettings) -> UsageError:
    topics = sorted({source.topic for source in image.positions})
    return UsageError(
        f"the ledger does not know topic {topic}",
        where=f'mirror "{mirror.name}"',
        todo=f"it knows: {', '.join(topics[:10])}{' …' * (len(topics) > 10)}",
    )
