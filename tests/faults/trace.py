"""Finds the original of each record on the destination.

Originals are what the source shows to read_committed readers, and what was acknowledged and committed but is
not there any more. An arrival is traced to its original by its token, or by its content if it never had one.
A record that lost its token is identified by its neighbours, and by what it shares with the record that is
missing between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from faults.content import Content, alike
from faults.events import DeliveryReport, Drained, Route, Seen, Sent, TransactionEnded
from faults.history import History

Fate = Literal["visible", "hidden", "unknown"]
_OF_TRANSACTION: dict[str, Fate] = {"committed": "visible", "aborted": "hidden"}
_OF_OUTCOME: dict[str, Fate] = {"ok": "visible", "failed": "hidden"}


class Log(NamedTuple):
    """A partition of one incarnation of a topic, on either side."""

    topic: str
    topic_id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity
class Original:
    log: Log
    offset: int
    token: str
    content: Content
    at: int  # from when on it was certainly visible
    in_source: bool  # a reader found it there

    def __str__(self) -> str:
        return f"{self.log}@{self.offset}"


@dataclass(frozen=True, slots=True)
class Arrival:
    place: Log
    offset: int
    token: str
    content: Content
    original: Original | None
    occurrence: int = 1  # 2 and more: the original had arrived before, at a lower offset

    def __str__(self) -> str:
        return f"{self.place}@{self.offset}"


@dataclass(slots=True)
class Trace:
    routes: dict[str, Route]
    sent: dict[str, Sent]
    fates: dict[str, Fate]
    reports: dict[str, DeliveryReport]
    originals: dict[Log, list[Original]]  # in the order of offsets
    arrivals: dict[Log, list[Arrival]]  # by place, in the order of offsets
    conflicts: list[tuple[str, Seen]]  # side, a record at an offset where another one was read
    drains: dict[tuple[str, Log], Drained]  # by side: the last reading of a partition
    first: dict[Original, Arrival] = field(default_factory=dict)
    unplaced: list[Sent] = field(default_factory=list)  # certainly visible, at an unknown offset

    def placed(self, original: Original, place: Log) -> bool:
        """Whether an original belongs in this destination partition."""
        route = self.routes[original.log.topic]
        return route.to == place.topic and (
            route.placement == "key" or original.log.partition == place.partition
        )

    def start(self, log: Log) -> int:
        return dict(self.routes[log.topic].starts).get(log.partition, 0)


def trace(history: History) -> Trace:
    sent = {event.token: event for event in history.of(Sent)}
    reports = {event.token: event for event in history.of(DeliveryReport)}
    ended = {event.transaction: event for event in history.of(TransactionEnded)}
    traced = Trace(
        routes={route.topic: route for route in history.of(Route)},
        sent=sent,
        fates=_fates(sent, reports, ended),
        reports=reports,
        originals={},
        arrivals={},
        conflicts=[],
        drains={(one.side, Log(one.topic, one.topic_id, one.partition)): one for one in history.of(Drained)},
    )
    shown: dict[str, dict[Log, dict[int, Seen]]] = {"source": {}, "destination": {}}
    for seen in history.of(Seen):
        at = shown[seen.side].setdefault(Log(seen.topic, seen.topic_id, seen.partition), {})
        known = at.setdefault(seen.offset, seen)
        if (known.token, known.content) != (seen.token, seen.content):
            traced.conflicts.append((seen.side, seen))
    traced.originals = _originals(traced, shown["source"], ended)
    _follow(traced, shown["destination"])
    return traced


def _fates(
    sent: dict[str, Sent], reports: dict[str, DeliveryReport], ended: dict[str, TransactionEnded]
) -> dict[str, Fate]:
    def fate(record: Sent) -> Fate:
        if record.transaction:
            outcome = ended[record.transaction].outcome if record.transaction in ended else "unknown"
            return _OF_TRANSACTION.get(outcome, "unknown")
        return _OF_OUTCOME.get(reports[record.token].outcome if record.token in reports else "", "unknown")

    return {token: fate(record) for token, record in sent.items()}


def _originals(
    traced: Trace, shown: dict[Log, dict[int, Seen]], ended: dict[str, TransactionEnded]
) -> dict[Log, list[Original]]:
    found: dict[Log, list[Original]] = defaultdict(list)
    tokens: set[str] = set()

    def visible_from(token: str) -> int | None:
        if traced.fates.get(token) != "visible":
            return None
        record, report = traced.sent[token], traced.reports.get(token)
        end = ended[record.transaction].at if record.transaction else 0
        return max(end, report.at if report else record.at)

    for log, records in shown.items():
        for offset, seen in records.items():
            known = visible_from(seen.token)
            at = seen.at if known is None else min(known, seen.at)
            found[log].append(Original(log, offset, seen.token, seen.content, at, True))
            tokens.add(seen.token)
    for token, record in traced.sent.items():
        at_latest = visible_from(token)
        if token in tokens or at_latest is None or record.topic not in traced.routes:
            continue
        report = traced.reports.get(token)
        log = Log(record.topic, record.topic_id, record.partition)
        if report is None or report.offset < 0:
            traced.unplaced.append(record)
        else:
            found[log].append(Original(log, report.offset, token, record.content, at_latest, False))
    return {
        log: sorted(records, key=lambda one: one.offset)
        for log, records in found.items()
        if log.topic in traced.routes
    }


def _follow(traced: Trace, shown: dict[Log, dict[int, Seen]]) -> None:
    """Trace every record of the destination, by partition, in offset order."""
    known: dict[object, list[Original]] = defaultdict(list)
    for records in traced.originals.values():
        for one in records:
            known[one.token or one.content].append(one)
    taken: dict[Original, int] = defaultdict(int)
    original: Original | None
    for place in sorted(shown):
        row: list[Arrival] = []
        for offset, seen in sorted(shown[place].items()):
            candidates = known.get(seen.token or seen.content, ())
            original = min(
                candidates,
                key=lambda one: (taken[one], not traced.placed(one, place), one.offset),
                default=None,
            )
            if original is not None:
                taken[original] += 1
            occurrence = taken[original] if original is not None else 1
            row.append(Arrival(place, offset, seen.token, seen.content, original, occurrence))
        traced.arrivals[place] = row
    for place, row in traced.arrivals.items():
        traced.arrivals[place] = _by_neighbours(traced, place, row, taken)
    for row in traced.arrivals.values():
        for arrival in row:
            if arrival.original is not None and arrival.occurrence == 1:
                traced.first[arrival.original] = arrival


def _by_neighbours(
    traced: Trace, place: Log, row: list[Arrival], taken: dict[Original, int]
) -> list[Arrival]:
    """Pair records that lost their token with those missing at the same position."""
    if all(arrival.original for arrival in row):
        return row
    missing = [
        one
        for records in traced.originals.values()
        for one in records
        if not taken[one] and traced.placed(one, place)
    ]
    paired: list[Arrival] = []
    for at, arrival in enumerate(row):
        if arrival.original is None and arrival.token not in traced.sent:
            before = _neighbour(reversed(paired))
            after = _neighbour(row[at + 1 :])
            for one in missing:
                fits = (before is None or before.log != one.log or before.offset < one.offset) and (
                    after is None or after.log != one.log or one.offset < after.offset
                )
                if fits and not taken[one] and alike(one.content, arrival.content):
                    taken[one] += 1
                    arrival = Arrival(place, arrival.offset, arrival.token, arrival.content, one)
                    break
        paired.append(arrival)
    return paired


def _neighbour(row: Iterable[Arrival]) -> Original | None:
    return next((arrival.original for arrival in row if arrival.original is not None), None)
