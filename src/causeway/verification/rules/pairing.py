"""What to compare with what: from the ledger's position and the current state of both sides.

Content decides; the ledger only gives where to start, what may be `lagging`, and what was declared. A source
partition that has its own place forms a pair with it; those that share places form pools (grouping.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from causeway.core.ledger_record import Gap
from causeway.core.offsets import describe_gap, offset_range
from causeway.core.pair import Pair
from causeway.core.plural import counted, is_are
from causeway.core.position import Position, SourcePartition
from causeway.core.route import BY_KEY
from causeway.core.verify_report import Findings
from causeway.rules.coverage import Coverage, compare_quarantine, coverage_of, quarantined_ranges
from causeway.rules.integrity import same_topic

NO_LABELS: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Bounds:
    """One partition on both sides, as the brokers report it. Read in this order, the ledger after `end`."""

    topic_id: str
    log_start: int
    end: int  # the source's end: what is before it must have been replicated, or is `lagging`
    place_topic_id: str | None  # None if the destination topic does not exist
    place_log_start: int
    place_end: int
    now: int  # the source's end again: whatever was replicated meanwhile is before it


def pair_of(
    source: SourcePartition,
    position: Position | None,
    bounds: Bounds,
    *,
    compacted: bool,
    timestamps: bool,
    source_compacted: bool = False,
    stopped: str = "",
    gaps: Sequence[Gap] = (),
    labels: Mapping[int, int] = NO_LABELS,
) -> Pair:
    """The comparison of one source partition, with notes on it.

    `gaps` are the moves of its position without replication. `labels`: how many times each offset is in
    quarantine.
    """
    notes = [f"stopped: {stopped}"] if stopped else []
    notes += map(describe_gap, gaps)
    if position is None or not same_topic(position.topic_id, bounds.topic_id):
        if position is not None:
            notes.append("the source topic was deleted and created again after it was replicated")
        elif bounds.end > bounds.log_start:
            notes.append("never replicated")
        return Pair(
            source, bounds.log_start, bounds.end, bounds.end, bounds.end, None, 0, 0, compacted, timestamps,
            notes=tuple(notes), source_compacted=source_compacted,
        )  # fmt: skip
    coverage = coverage_of(position, gaps)
    mismatch = compare_quarantine(position.tally.quarantined, labels, position.offset)
    notes += _notes_on_source(position, bounds, coverage)
    if mismatch.missing or mismatch.uncounted:
        notes.append(
            f"the ledger counts {counted(position.tally.quarantined, 'quarantined record')},"
            f" the quarantine topic holds {sum(labels.values()):,}"
        )
    place, place_from = position.place, max(position.place_start, bounds.place_log_start)
    place_trimmed = bounds.place_log_start > position.place_start
    if had_another_place(position):
        notes.append(
            f"its records went to another partition of {place.topic} before: all partitions are compared"
        )
    if in_any_partition(position):
        # The ledger does not know where it began in each partition: grouping.py does.
        place, place_from, place_trimmed = place._replace(partition=BY_KEY), 0, False
    if bounds.place_topic_id is None:
        notes.append(f"the destination topic {place.topic} does not exist")
    elif not same_topic(place.topic_id, bounds.place_topic_id):
        notes.append(f"the destination topic {place.topic} was deleted and created again")
        place_from, place_trimmed = bounds.place_log_start, False
    elif not in_any_partition(position):
        notes += _notes_on_destination(position, bounds)
    expired = coverage.within(coverage.begin, bounds.log_start)
    return Pair(
        source=source,
        source_from=max(coverage.begin, bounds.log_start),
        position=position.offset,
        end=bounds.end,
        source_to=max(bounds.now, bounds.end),
        place=place if bounds.place_topic_id is not None else None,
        place_from=place_from,
        place_to=bounds.place_end,
        compacted=compacted,
        timestamps=timestamps,
        source_trimmed=expired > 0,
        place_trimmed=place_trimmed,
        source_expired=expired,
        place_expired=bounds.place_log_start - position.place_start if place_trimmed else 0,
        delivered=position.tally.delivered,
        ledger_counts=_ledger_counts(position),
        notes=tuple(notes),
        skipped=coverage.skipped(),
        quarantined=quarantined_ranges(coverage, labels),
        repeats=coverage.repeats,
        earlier_topic_records=sum(gap.begin for gap in gaps if gap.to_topic_id != gap.topic_id),
        missing_in_quarantine=mismatch.missing,
        uncounted_in_quarantine=mismatch.uncounted,
        source_compacted=source_compacted,
    )


def had_another_place(position: Position) -> bool:
    """Whether more was delivered than fits into the place: it had another place before, which is unknown."""
    room = max(0, position.place_end - position.place_start)
    return position.place.partition != BY_KEY and position.tally.delivered > room


def in_any_partition(position: Position) -> bool:
    """Whether its records may be in any partition of the destination topic."""
    return position.place.partition == BY_KEY or had_another_place(position)


def _notes_on_source(position: Position, bounds: Bounds, coverage: Coverage) -> list[str]:
    notes = []
    if coverage.begin > bounds.log_start:
        before = coverage.begin - bounds.log_start
        notes.append(
            f"the mirror was configured to start at offset {coverage.begin}:"
            f" {counted(before, 'offset')} before it {is_are(before)} not compared"
        )
    if position.offset < bounds.log_start:
        notes.append(f"source {offset_range(position.offset, bounds.log_start)} expired before replication")
    elif coverage.within(coverage.begin, bounds.log_start):
        notes.append(f"the source log starts at offset {bounds.log_start} now: earlier records expired there")
    if position.offset > bounds.now:
        notes.append(
            f"the source log ends at offset {bounds.now}, but was replicated up to {position.offset}"
        )
    return notes


def _notes_on_destination(position: Position, bounds: Bounds) -> list[str]:
    notes = []
    if bounds.place_log_start > position.place_start:
        notes.append(
            f"the destination log starts at offset {bounds.place_log_start} now:"
            " earlier records expired there"
        )
    if bounds.place_end < position.place_end:
        notes.append(
            f"the destination can be read up to offset {bounds.place_end}, but was written up to"
            f" {position.place_end}: an open transaction, or lost records"
        )
    return notes


def _ledger_counts(position: Position) -> Mapping[str, int]:
    tally = position.tally
    counts = {"filtered": tally.filtered, "quarantined": tally.quarantined}
    return {name: count for name, count in counts.items() if count}


def with_quarantine_mismatch(findings: Findings, *, missing: int, uncounted: int) -> Findings:
    """Records that the quarantine lacks, or that the ledger does not count, are differences too.

    A record that it lacks and that the source still has was found missing already.
    """
    counts = dict(findings.counts)
    if missing:
        counts["missing"] = max(missing, counts.get("missing", 0))
    if uncounted:
        counts["unexpected"] = counts.get("unexpected", 0) + uncounted
    return replace(findings, counts=counts)
