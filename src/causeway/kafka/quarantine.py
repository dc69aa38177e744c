"""A mirror's quarantine topic, and the labels of the rejected records in it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from causeway.core.filtering import FilterRecord
from causeway.core.plural import counted
from causeway.core.task_order import quarantine_topic
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import durability
from causeway.kafka.range_reader import read_spans
from causeway.rules.quarantine import Label, label_of

_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(100 * 1024 * 1024),
}

AT_ONCE = 200
"""Offsets per read when only a few labels are wanted: records here are usually large."""

MARKER_SECONDS = 10.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The requested labels."""

    labels: tuple[Label, ...] = ()
    unlabelled: int = 0  # records without a readable label: their origin is unknown
    trimmed: bool = False  # the log does not begin at offset 0: some labels are gone


def ensure_quarantine(view: ClusterView, mirror: str, replication: int | None, aside: int) -> str:
    """Create a missing quarantine. Returns what was lost, if the ledger counts quarantined records."""
    name = quarantine_topic(mirror)
    if view.describe([name]):
        return ""
    copies, in_sync = durability(view, replication)
    created = view.create_topic(name, 1, copies, {**_CONFIG, **in_sync})
    if not (created and aside):
        return ""
    return (
        f"topic {name} was deleted, with {counted(aside, 'quarantined record')} in it:"
        " it was created again, empty"
    )


def read_labels(
    view: ClusterView, mirror: str, *, topic: str | None = None, most: int | None = None
) -> Quarantine:
    """Return all labels, or the first ones of a source topic; none where there is no quarantine.

    A caller that read the ledger before finds every record here that the ledger counts.
    """
    name = quarantine_topic(mirror)
    facts = view.describe([name]).get(name)
    if facts is None:
        return Quarantine()
    spots = [(name, number) for number in range(facts.partitions)]
    starts, ends = view.all_offsets(spots, "earliest"), _settled_ends(view, spots)
    labels: list[Label] = []
    unlabelled = 0
    for spot in spots:
        begin, end = starts[spot], ends[spot]
        while begin < end and (most is None or len(labels) < most):
            until = end if most is None else min(end, begin + AT_ONCE)
            (read,) = read_spans(view.cluster, {spot: (begin, until)}, _label).values()
            unlabelled += read.count(None)
            labels += [label for label in read if label is not None and topic in (None, label.source.topic)]
            begin = until
    return Quarantine(tuple(labels[:most]), unlabelled, any(starts.values()))


def _label(record: FilterRecord) -> Label | None:
    return label_of(record.headers)


def _settled_ends(view: ClusterView, spots: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return up to where committed records can be read.

    The ledger may show a commit a moment before its markers are written here. So wait until everything
    written by now is stable, for MARKER_SECONDS at most: an open transaction may hold it back.
    """
    written = view.all_offsets(spots, "latest")
    deadline = time.monotonic() + MARKER_SECONDS
    while True:
        stable = view.all_offsets(spots, "stable")
        if all(stable[spot] >= end for spot, end in written.items()):
            return written
        if time.monotonic() > deadline:
            return stable
        time.sleep(POLL_SECONDS)
