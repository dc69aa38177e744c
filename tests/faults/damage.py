"""I10: data that was lost or replaced was reported, and correctly; nothing continued silently."""

from __future__ import annotations

from faults.events import Damage, Exited, Verdict
from faults.exemptions import Exemptions
from faults.history import History
from faults.invariant_result import Anomaly, InvariantResult, decide
from faults.trace import Log, Trace

_CAUSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gap": ("source", ("removed",)),
    "truncated": ("source", ("truncated",)),
    "recreated": ("source", ("recreated", "deleted")),
    "deleted": ("source", ("deleted", "recreated")),
    "destination-recreated": ("destination", ("recreated", "deleted")),
    "destination-deleted": ("destination", ("deleted", "recreated")),
    "destination-shrunk": ("destination", ("recreated",)),
    "destination-truncated": ("destination", ("removed", "truncated")),
    "poison": ("source", ("poison",)),
    "filter": ("source", ("poison",)),
}
"""Verdict → the side, and the damage that can cause it."""


def loud(history: History, traced: Trace, exempt: Exemptions) -> InvariantResult:
    damages, verdicts = history.of(Damage), history.of(Verdict)
    broken: list[Anomaly] = []
    for damage in damages:
        broken += _unsaid(traced, damage, verdicts)
    for verdict in verdicts:
        if verdict.verdict != "resumed":
            broken += _unfounded(traced, exempt, verdict, damages)
    broken += _gone_on(traced, exempt, verdicts)
    broken += _quiet_exits(history)
    doubts = [] if damages else ["nothing was done to the data, so nothing had to be said"]
    return decide("I10", broken, doubts)


def _unsaid(traced: Trace, damage: Damage, verdicts: list[Verdict]) -> list[Anomaly]:
    """Damage that affected the mirror and that it did not report."""
    sources = [damage.topic] if damage.side == "source" else [
        route.topic for route in traced.routes.values() if route.to == damage.topic
    ]  # fmt: skip
    said = [
        verdict
        for verdict in verdicts
        if verdict.topic in sources and verdict.partition == damage.partition
        and verdict.verdict in _CAUSES and _CAUSES[verdict.verdict][0] == damage.side
        and damage.kind in _CAUSES[verdict.verdict][1]
    ]  # fmt: skip
    log = Log(damage.topic, damage.topic_id, damage.partition)
    where = str(log)
    originals = traced.originals.get(log, ())
    if damage.side == "source" and damage.kind == "removed":
        gone = [
            one for one in originals
            if traced.start(log) <= one.offset < damage.offset and one not in traced.first
        ]  # fmt: skip
        covered = [one for one in gone if any(v.expected <= one.offset < v.found for v in said)]
        if len(covered) == len(gone):
            return []
        first = next(one for one in gone if one not in covered)
        what = f"{len(gone) - len(covered)} unreplicated records before {damage.offset} removed, unreported"
        return [Anomaly("I10", "silent-gap", str(first), what)]
    if damage.side == "source" and damage.kind == "truncated":
        replicated = [one for one in originals if one.offset >= damage.offset and one in traced.first]
        if replicated and not said:
            what = f"it was replicated, the source was cut to {damage.offset}, and that was not reported"
            return [Anomaly("I10", "silent-truncation", str(replicated[0]), what)]
        return []
    if damage.kind == "poison" and damage.offset >= 0:
        # Quarantined by its own offset; or the partition stopped, here or at an earlier offset.
        said = [
            v
            for v in said
            if v.expected == damage.offset or (v.action == "stop" and v.expected < damage.offset)
        ]
    begun = any(one in traced.first for one in originals) if damage.side == "source" else True
    if begun and not said and damage.kind != "removed":
        what = f"on the {damage.side} it was {damage.kind} under the mirror, and that was not reported"
        return [Anomaly("I10", f"silent-{damage.side}-{damage.kind}", where, what)]
    return []


def _unfounded(traced: Trace, exempt: Exemptions, verdict: Verdict, damages: list[Damage]) -> list[Anomaly]:
    """A verdict without damage, or with wrong offsets."""
    log = Log(verdict.topic, verdict.topic_id, verdict.partition)
    side, kinds = _CAUSES.get(verdict.verdict, ("source", ()))
    route = traced.routes.get(verdict.topic)
    topic = verdict.topic if side == "source" else route.to if route else ""
    causes = [
        one for one in damages
        if (one.side, one.topic, one.partition) == (side, topic, verdict.partition) and one.kind in kinds
        and one.at <= verdict.at
    ]  # fmt: skip
    if not causes:
        what = f"“{verdict.verdict}” was reported, and no such thing had been done"
        return [Anomaly("I10", "false-alarm", str(log), what)]
    if verdict.verdict in ("gap", "truncated") and verdict.found not in [one.offset for one in causes]:
        what = f"{verdict.verdict}: {verdict.found} was named, the log was cut at {causes[-1].offset}"
        return [Anomaly("I10", "misnamed", f"{log}@{verdict.expected}", what)]
    known = [one.offset for one in causes]
    if verdict.verdict == "poison" and -1 not in known and verdict.expected not in (-1, *known):
        what = f"poison: {verdict.expected} was named, and the unfit records are at {known}"
        return [Anomaly("I10", "misnamed", f"{log}@{verdict.expected}", what)]
    if verdict.verdict == "gap":
        missing = [
            one for one in traced.originals.get(log, ())
            if traced.start(log) <= one.offset < verdict.expected and one not in traced.first
            and exempt.exemption(one) != "gap"  # another one, before this
        ]  # fmt: skip
        if missing:
            what = f"the gap was said to begin at {verdict.expected}, and this is missing too"
            return [Anomaly("I10", "misnamed", str(missing[0]), what)]
    return []


def _gone_on(traced: Trace, exempt: Exemptions, verdicts: list[Verdict]) -> list[Anomaly]:
    """Records that arrived although the mirror had declared them skipped or stopped."""
    if not verdicts:
        return []
    broken: list[Anomaly] = []
    for one, arrival in traced.first.items():
        exemption = exempt.exemption(one)
        if exemption == "stopped":
            what = f"the partition was said to have stopped before it, and it is at {arrival}"
            broken.append(Anomaly("I10", "delivered-after-stop", str(one), what))
        elif exemption == "gap":
            what = f"it was declared gone, and it is at {arrival}"
            broken.append(Anomaly("I10", "delivered-inside-gap", str(one), what))
    return broken


def _quiet_exits(history: History) -> list[Anomaly]:
    """A run with --stop-at-end that exited with 0 although partitions are stopped."""
    stopped: dict[tuple[str, int], Verdict] = {}
    broken: list[Anomaly] = []
    for event in history.events:
        match event:
            case Verdict(action="stop"):
                stopped[event.topic, event.partition] = event
            case Verdict():
                stopped.pop((event.topic, event.partition), None)
            case Exited(code=0) if "--stop-at-end" in event.command and stopped:
                names = ", ".join(f"{topic}[{partition}]" for topic, partition in stopped)
                broken.append(Anomaly("I10", "quiet-exit", names, f"`{event.command}` ended with 0"))
    return broken
