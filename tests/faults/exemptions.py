"""Which originals need not arrive, and which must not: what the mirror itself reported about a partition.

A stop exempts everything from the offset where the partition stopped, and forbids it to arrive. A gap exempts
its own offsets, and forbids only those. Whether the report was correct is decided elsewhere (damage.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from faults.events import Verdict
from faults.history import History
from faults.trace import Log, Original, Trace

Exemption = Literal["stopped", "gap"]


@dataclass(frozen=True, slots=True)
class Exemptions:
    _stops: dict[tuple[str, int], Verdict]  # partitions whose last report was a stop
    _gaps: dict[Log, list[tuple[int, int]]]
    _given_up: set[Log]  # topics that were recreated under the same name

    def stopped(self, log: Log) -> bool:
        return (log.topic, log.partition) in self._stops

    def given_up(self, log: Log) -> bool:
        return log in self._given_up

    def exemption(self, original: Original) -> Exemption | None:
        log, offset = original.log, original.offset
        stop = self._stops.get((log.topic, log.partition))
        if stop is not None and (stop.topic_id != log.topic_id or offset >= stop.expected):
            return "stopped"
        if any(begin <= offset < end for begin, end in self._gaps.get(log, ())):
            return "gap"
        return None


def exemptions(history: History, traced: Trace) -> Exemptions:
    stops: dict[tuple[str, int], Verdict] = {}
    gaps: dict[Log, list[tuple[int, int]]] = {}
    given_up: set[Log] = set()
    for verdict in history.of(Verdict):
        log = Log(verdict.topic, verdict.topic_id, verdict.partition)
        if verdict.action == "stop":
            reached = [one.offset for one in traced.originals.get(log, ()) if one in traced.first]
            # Verdicts about the destination's log have the destination's offset.
            said = verdict.expected >= 0 and not verdict.verdict.startswith("destination-")
            stops[log.topic, log.partition] = (
                verdict if said else replace(verdict, expected=max(reached, default=-1) + 1)
            )
            continue
        stops.pop((log.topic, log.partition), None)
        if verdict.verdict == "resumed":
            continue
        # Continuing with a recreated topic skips the rest of the old one, whose end is unknown.
        whole = verdict.verdict not in ("gap", "poison")
        given_up |= {log} if whole else set()
        end = _beyond(traced, log) if whole else verdict.found
        gaps.setdefault(log, []).append((verdict.expected, end))
    return Exemptions(stops, gaps, given_up)


def _beyond(traced: Trace, log: Log) -> int:
    records = traced.originals.get(log, ())
    return records[-1].offset + 1 if records else 0


def compacted_away(traced: Trace, original: Original) -> bool:
    """Whether compaction may have removed it: a later record with its key exists on a compacted route."""
    if not traced.routes[original.log.topic].compacted or original.content.key is None:
        return False
    return any(
        later.offset > original.offset and later.content.key == original.content.key
        for later in traced.originals[original.log]
    )
