"""Causeway's ledger and quarantine as the history's Verdict events.

Each Stopped and each Gap of the ledger becomes one event, in commit order, when a test asks. The checker then
decides whether the mirror reported what it had to, and correctly (I10).
"""

from __future__ import annotations

from collections.abc import Iterator

from causeway.core.ledger_record import Gap, Stopped, decode
from causeway.core.task_order import ledger_topic, quarantine_topic
from causeway.rules.quarantine import PREFIX, label_of
from faults.content import Content, content
from faults.events import Verdict
from faults.history import Journal
from support.records import Rec, read_offsets

_Spot = tuple[str, int, int]


class Verdicts:
    """Follows one mirror; returns each verdict once."""

    def __init__(self, servers: str, mirror: str) -> None:
        self._servers, self._mirror = servers, mirror
        self._heard: set[_Spot] = set()
        self._read: dict[int, int] = {}  # of the ledger: that of a soak is long, and is read again and again

    def note(self, journal: Journal, seconds: float = 30.0) -> list[Verdict]:
        """Add all that is new to the journal."""
        new = []
        for spot, record in self._records(seconds):
            if spot not in self._heard:
                self._heard.add(spot)
                new.append(verdict_of(record, journal.now()))
        journal.add(*new)
        return new

    def note_quarantine(self, journal: Journal) -> list[tuple[Verdict, Content]]:
        """Add the quarantine's records; returns each with the content that its original must have."""
        topic = quarantine_topic(self._mirror)
        new = []
        for partition, found in read_offsets(self._servers, topic).items():
            for offset, rec in found:
                spot = (topic, partition, offset)
                if spot not in self._heard:
                    self._heard.add(spot)
                    new.append(_set_aside(rec, journal.now()))
        journal.add(*(verdict for verdict, _ in new))
        return new

    def _records(self, seconds: float) -> Iterator[tuple[_Spot, Stopped | Gap]]:
        topic = ledger_topic(self._mirror)
        found = []
        read = read_offsets(self._servers, topic, seconds=seconds, starts=self._read)
        for partition, entries in read.items():
            for offset, entry in entries:
                self._read[partition] = offset + 1
                record = decode(entry.value) if entry.value is not None else None
                if isinstance(record, Stopped | Gap):
                    found.append(((topic, partition, offset), record))
        # A partition's records are in one log, unless the sharding changed between them.
        yield from sorted(found, key=lambda one: (one[1].at, one[0]))


def verdict_of(record: Stopped | Gap, at: int) -> Verdict:
    where = (record.topic, record.partition)
    if isinstance(record, Gap):
        same = record.topic_id == record.to_topic_id
        end = record.end if same else -1  # the old topic's end is unknown
        return Verdict(at, record.verdict, *where, record.begin, end, "continue", record.topic_id)
    if not record.verdict:
        return Verdict(at, "resumed", *where, 0, 0, "continue", record.topic_id)
    return Verdict(
        at, record.verdict, *where, record.expected, record.found, "stop", topic_id=record.topic_id
    )


def _set_aside(rec: Rec, at: int) -> tuple[Verdict, Content]:
    label = label_of(rec.headers)
    assert label is not None, f"a quarantined record without a label: {rec.headers}"
    source = label.source
    verdict = Verdict(
        at, "poison", source.topic, source.partition, label.offset, label.offset + 1, "quarantine",
        label.topic_id,
    )  # fmt: skip
    own = tuple((name, value) for name, value in rec.headers if not name.startswith(PREFIX))
    return verdict, content(rec.key, rec.value, own, label.timestamp, "create")
