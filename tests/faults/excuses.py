"""Which originals need not arrive, and which must not: what the mirror itself has said about a partition.

A stop excuses everything from the offset where the partition stopped, and forbids it to arrive. Going on
over a gap excuses the offsets of the gap, and forbids those alone. Whether the mirror was right to say so
is another question (damage.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from faults.events import Verdict
from faults.history import History
from faults.trace import Log, Original, Trace

Excuse = Literal["stopped", "gap"]


@dataclass(frozen=True, slots=True)
class Excuses:
    _stops: dict[tuple[str, int], Verdict]  # partitions whose last word was a stop
    _gaps: dict[Log, list[tuple[int, int]]]

    def stopped(self, log: Log) -> bool:
        return (log.topic, log.partition) in self._stops

    def excuse(self, original: Original) -> Excuse | None:
        log, offset = original.log, original.offset
        stop = self._stops.get((log.topic, log.partition))
        if stop is not None and (stop.topic_id != log.topic_id or offset >= stop.expected):
            return "stopped"
        if any(begin <= offset < end for begin, end in self._gaps.get(log, ())):
            return "gap"
        return None


def excuses(history: History, traced: Trace) -> Excuses:
    stops: dict[tuple[str, int], Verdict] = {}
    gaps: dict[Log, list[tuple[int, int]]] = {}
    for verdict in history.of(Verdict):
        log = Log(verdict.topic, verdict.topic_id, verdict.partition)
        if verdict.action == "stop":
            reached = [one.offset for one in traced.originals.get(log, ()) if one in traced.first]
            said = verdict.expected >= 0
            stops[log.topic, log.partition] = (
                verdict if said else replace(verdict, expected=max(reached, default=-1) + 1)
            )
            continue
        stops.pop((log.topic, log.partition), None)
        # Going on with a recreated topic gives up what was left of the old one, whose end nobody knows.
        end = verdict.found if verdict.verdict in ("gap", "poison") else _beyond(traced, log)
        gaps.setdefault(log, []).append((verdict.expected, end))
    return Excuses(stops, gaps)


def _beyond(traced: Trace, log: Log) -> int:
    records = traced.originals.get(log, ())
    return records[-1].offset + 1 if records else 0


def compacted_away(traced: Trace, original: Original) -> bool:
    """Whether compaction may have taken it: a later record with its key exists on a compacted route."""
    if not traced.routes[original.log.topic].compacted or original.content.key is None:
        return False
    return any(
        later.offset > original.offset and later.content.key == original.content.key
        for later in traced.originals[original.log]
    )
