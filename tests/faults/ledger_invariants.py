"""I7, I8, I13: the offset map, translated positions, the ledger, and that one instance writes it.

All of it is optional: a history without ledger, map or translated groups leaves these unknown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from faults.events import Damage, Drained, LedgerPosition, Mapped, Translated, Verdict
from faults.exemptions import Exemptions, compacted_away
from faults.history import History
from faults.invariant_result import Anomaly, InvariantResult, decide
from faults.trace import Log, Original, Trace


def translation(history: History, traced: Trace) -> InvariantResult:
    """I7: the map leads from each record to its copy, and a group that fails over skips nothing."""
    runs, groups = history.of(Mapped), history.of(Translated)
    if not runs and not groups:
        return decide("I7", [], ["no offset map and no translated positions in the history"])
    doubts = (
        [] if any(side == "destination" for side, _ in traced.drains) else ["the destination was not read"]
    )
    return decide("I7", [*_mapped(traced, runs), *_groups(traced, groups)], doubts)


def _mapped(traced: Trace, runs: list[Mapped]) -> Iterator[Anomaly]:
    arrived = {
        (place.topic, place.partition, arrival.offset): arrival.original
        for place, row in traced.arrivals.items()
        for arrival in row
    }
    mapped: dict[Log, set[int]] = defaultdict(set)
    for run in runs:
        log = Log(run.topic, run.topic_id, run.partition)
        for n in range(run.length):
            source, there = run.source + n, run.destination + n
            mapped[log].add(source)
            found = arrived.get((run.to, run.to_partition, there))
            if found is None or (found.log, found.offset) != (log, source):
                what = f"the map leads to {run.to}[{run.to_partition}]@{there}, where {found or 'nothing'} is"
                yield Anomaly("I7", "map-wrong", f"{log}@{source}", what)
    for log, offsets in mapped.items():
        for one in traced.originals.get(log, ()):
            if one in traced.first and one.offset not in offsets:
                what = f"it is at {traced.first[one]}, and the map does not lead there"
                yield Anomaly("I7", "map-incomplete", str(one), what)


def _groups(traced: Trace, groups: list[Translated]) -> Iterator[Anomaly]:
    reached: dict[tuple[str, Log], Translated] = {}
    furthest = _furthest(traced) if groups else {}
    for now in groups:
        log = Log(now.topic, now.topic_id, now.partition)
        where = f"{now.group} {log}@{now.offset}"
        passed = furthest.get((log, now.to, now.to_partition), [])
        at = bisect_left(passed, now.to_offset, key=lambda one: one[0]) - 1
        if at >= 0 and passed[at][1].offset >= now.offset:
            what = f"it would begin at {now.to}[{now.to_partition}]@{now.to_offset} and skip {passed[at][1]}"
            yield Anomaly("I7", "translation-ahead", where, what)
        before = reached.setdefault((now.group, log), now)
        if now.offset >= before.offset and now.to_offset < before.to_offset:
            what = f"its position over there went back from {before.to_offset} to {now.to_offset}"
            yield Anomaly("I7", "translation-back", where, what)
        reached[now.group, log] = now


def _furthest(traced: Trace) -> dict[tuple[Log, str, int], list[tuple[int, Original]]]:
    """For each destination offset: the highest original of a source partition up to it."""
    found: dict[tuple[Log, str, int], list[tuple[int, Original]]] = defaultdict(list)
    for place, row in traced.arrivals.items():
        for arrival in row:
            one = arrival.original
            if one is not None and arrival.occurrence == 1:
                rows = found[one.log, place.topic, place.partition]
                further = rows[-1][1] if rows and rows[-1][1].offset > one.offset else one
                rows.append((arrival.offset, further))
    return found


def ledger_correct(history: History, traced: Trace, exempt: Exemptions) -> InvariantResult:
    """I8: the ledger balances, only moves forward, and counts exactly what is there."""
    entries = _by_log(history.of(LedgerPosition))
    if not entries:
        return decide("I8", [], ["no ledger in the history"])
    broken: list[Anomaly] = []
    doubts: list[str] = []
    cut = {
        Log(one.topic, one.topic_id, one.partition)
        for one in history.of(Damage)
        if one.side == "source" and one.kind == "truncated"
    }
    for log, rows in entries.items():
        broken += _over_time(log, rows)
        broken += _against_verdicts(history, log, rows)
        if log.topic in traced.routes:
            broken += _against_records(history, traced, exempt, log, rows)
        source = traced.drains.get(("source", log))
        if source is None and all(row.offset == row.start for row in rows):
            continue  # a partition without records, and the ledger says the same
        if source is None:
            doubts.append(f"the source partition {log} was not read to its end")
        elif log not in cut:
            broken += [
                Anomaly("I8", "ledger-ahead", f"{log}@{row.offset}", f"the source ends at {source.end}")
                for row in rows
                if row.at <= source.began and row.offset > source.end
            ]
        if not _read_after(traced, rows):
            doubts.append(f"the destination of {log} was not read after its ledger")
    return decide("I8", broken, doubts)


def _over_time(log: Log, rows: list[LedgerPosition]) -> Iterator[Anomaly]:
    previous: LedgerPosition | None = None
    for row in _steps(rows):
        counted = row.delivered + row.filtered + row.quarantined + row.holes + row.gone
        if row.offset - row.start != counted:
            what = f"{row.offset - row.start} offsets since {row.start}, {counted} accounted for"
            yield Anomaly("I8", "ledger-unbalanced", f"{log}@{row.offset}", what)
        if previous is not None:
            if row.offset < previous.offset:
                what = f"the position went back from {previous.offset}"
                yield Anomaly("I8", "position-back", f"{log}@{row.offset}", what)
            elif row.start != previous.start:
                what = f"the mirror began at {previous.start} once, and at {row.start} now"
                yield Anomaly("I8", "start-moved", f"{log}@{row.offset}", what)
            elif row.delivered < previous.delivered:
                what = f"{previous.delivered} records were delivered once, {row.delivered} now"
                yield Anomaly("I8", "tally-back", f"{log}@{row.offset}", what)
        previous = row


def _against_verdicts(history: History, log: Log, rows: list[LedgerPosition]) -> Iterator[Anomaly]:
    """The ledger's skipped offsets were declared, and its quarantined ones are in the quarantine."""
    said = _said_of(history, log)
    row = rows[-1]
    declared = sum(one.found - one.expected for one in said if one.action == "continue" and one.found >= 0)
    if row.gone > declared:
        what = f"{row.gone} offsets skipped by the ledger, {declared} declared"
        yield Anomaly("I8", "skipped-unsaid", f"{log}@{row.offset}", what)
    aside = sum(one.action == "quarantine" and one.expected < row.offset for one in said)
    if row.quarantined != aside:
        what = f"{row.quarantined} records quarantined by the ledger, {aside} in the quarantine"
        yield Anomaly("I8", "quarantine-wrong", f"{log}@{row.offset}", what)


def _against_records(
    history: History, traced: Trace, exempt: Exemptions, log: Log, rows: list[LedgerPosition]
) -> Iterator[Anomaly]:
    """The last entry before the destination was read counts no more than it held, the next no less."""
    originals = traced.originals.get(log, [])
    drains = _places_read(traced, log)
    if not drains:
        return
    began, ended = min(drain.began for drain in drains), max(drain.at for drain in drains)
    whole = all(drain.start == 0 for drain in drains)
    before = [row for row in rows if row.at <= began]
    if before and whole:
        row = before[-1]
        passed = originals[: bisect_left(originals, row.offset, key=lambda one: one.offset)]
        for one in passed:
            missing = one.offset >= row.start and one not in traced.first
            if missing and not exempt.exemption(one) and not compacted_away(traced, one):
                what = f"the position {row.offset} is after it, and it is not on the destination"
                yield Anomaly("I8", "ledger-ahead", str(one), what)
        arrived = sum(one in traced.first and one.offset >= row.start for one in passed)
        exact = history.terms.delivery == "exactly-once" and not traced.routes[log.topic].compacted
        if exact and row.delivered != arrived:
            what = f"{row.delivered} records delivered by the ledger, {arrived} on the destination"
            yield Anomaly("I8", "tally-wrong", f"{log}@{row.offset}", what)
    harmed = {(one.topic, one.partition) for one in history.of(Damage) if one.side == "destination"}
    for drain in drains:
        for row in rows if (drain.topic, drain.partition) not in harmed else ():
            same = (row.to, row.to_partition) == (drain.topic, drain.partition)
            if same and row.at <= drain.began and row.to_end > drain.end:
                what = f"its place reaches {row.to_end} by the ledger, and ends at {drain.end}"
                yield Anomaly("I8", "ledger-ahead", f"{log}@{row.offset}", what)
    after = [row for row in rows if row.at >= ended]
    if after and history.terms.delivery == "exactly-once":
        position = max(row.offset for row in after if row.at == after[0].at)  # one reading, all its steps
        # Of a replaced topic, compaction keeps what its former shards wrote. The last
        # position is where the mirror left it.
        left = [one.expected for one in _said_of(history, log) if one.verdict == "recreated"]
        position = max([position, *left])
        for one in originals:
            if one in traced.first and one.offset >= position:
                what = f"it is at {traced.first[one]}, and the position is still {position}"
                yield Anomaly("I8", "ledger-short", str(one), what)


def one_writer(history: History) -> InvariantResult:
    """I13: once another instance has moved a partition's position, the former one never does again."""
    broken: list[Anomaly] = []
    writers: set[str] = set()
    for log, rows in _by_log(history.of(LedgerPosition)).items():
        past: list[str] = []
        for row in _steps(rows):
            if row.writer and (not past or row.writer != past[-1]):
                if row.writer in past:
                    what = f"{row.writer} wrote again after {past[-1]} had taken over"
                    broken.append(Anomaly("I13", "two-writers", f"{log}@{row.offset}", what))
                past.append(row.writer)
        writers.update(past)
    return decide("I13", broken, [] if len(writers) > 1 else ["no second instance wrote to the ledger"])


def _said_of(history: History, log: Log) -> list[Verdict]:
    return [one for one in history.of(Verdict) if Log(one.topic, one.topic_id, one.partition) == log]


def _by_log(rows: Iterable[LedgerPosition]) -> dict[Log, list[LedgerPosition]]:
    found: dict[Log, list[LedgerPosition]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.at):
        found[Log(row.topic, row.topic_id, row.partition)].append(row)
    return found


def _steps(rows: list[LedgerPosition]) -> list[LedgerPosition]:
    """The distinct entries: a later reading repeats them."""
    return list(dict.fromkeys(replace(row, at=0) for row in rows))


def _places_read(traced: Trace, log: Log) -> list[Drained]:
    route = traced.routes[log.topic]
    return [
        drain
        for (side, place), drain in traced.drains.items()
        if side == "destination" and place.topic == route.to
        and (route.placement == "key" or place.partition == log.partition)
    ]  # fmt: skip


def _read_after(traced: Trace, rows: list[LedgerPosition]) -> bool:
    log = Log(rows[0].topic, rows[0].topic_id, rows[0].partition)
    drains = _places_read(traced, log) if log.topic in traced.routes else []
    return bool(drains) and any(row.at <= drain.began for row in rows for drain in drains)
