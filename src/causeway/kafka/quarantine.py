"""A mirror's quarantine: the topic, and the labels of records in it that the destination would not take."""

from __future__ import annotations

import time
from dataclasses import dataclass

from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import safely_kept
from causeway.kafka.tails import read_spans
from causeway.model.filtering import Record
from causeway.model.order import quarantine_topic
from causeway.policy.quarantine import Label, label_of

_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(100 * 1024 * 1024),
}

AT_ONCE = 200
"""Records here are large as a rule: whoever wants a few does not read them all."""

MARKER_SECONDS = 10.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Labels, as far as they were asked for."""

    labels: tuple[Label, ...] = ()
    unlabelled: int = 0  # records that nobody can tell the origin of
    trimmed: bool = False  # the log does not begin where it began: some labels are gone


def ensure_quarantine(view: ClusterView, mirror: str, replication: int | None, aside: int) -> str:
    """The quarantine exists. Answers what was lost, if the ledger has counted records that were set aside."""
    name = quarantine_topic(mirror)
    if view.describe([name]):
        return ""
    copies, in_sync = safely_kept(view, replication)
    made = view.create_topic(name, 1, copies, {**_CONFIG, **in_sync})
    if not (made and aside):
        return ""
    return (
        f"topic {name} was deleted, with {aside:,} quarantined records in it: it is made anew, without them"
    )


def read_labels(
    view: ClusterView, mirror: str, *, topic: str | None = None, most: int | None = None
) -> Quarantine:
    """All labels, or the first ones of a source topic; none where there is no quarantine.

    Whoever read the ledger before finds here all that it counts.
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
            (found,) = read_spans(view.cluster, {spot: (begin, until)}, _label).values()
            unlabelled += found.count(None)
            labels += [one for one in found if one is not None and topic in (None, one.source.topic)]
            begin = until
    return Quarantine(tuple(labels[:most]), unlabelled, any(starts.values()))


def _label(record: Record) -> Label | None:
    return label_of(record.headers)


def _settled_ends(view: ClusterView, spots: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Up to where committed records can be read. The markers of a commit that the ledger shows come a
    moment later: what is written by now is waited for, unless somebody holds it back.
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
