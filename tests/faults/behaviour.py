"""I9, I11, I12, I14–I16: how the mirror behaved, besides what it replicated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import median

from faults.content import differences
from faults.delivery_invariants import not_read
from faults.events import Applied, Damage, Exited, Fault, Lag, LedgerPosition, Scanned, Topics, Usage
from faults.exemptions import Exemptions, compacted_away
from faults.history import History
from faults.invariant_result import Anomaly, InvariantResult, decide
from faults.trace import Log, Trace

_KAFKAS_OWN = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_ENOUGH_SAMPLES = 16
_SLACK = {"memory": 32 * 1024 * 1024, "files": 8, "threads": 4}


def source_untouched(history: History, traced: Trace) -> InvariantResult:
    """I9: the source holds what its producers wrote and nothing else; no topic was created or deleted."""
    broken = [
        Anomaly("I9", "source-inconsistent", f"{seen.topic}[{seen.partition}]@{seen.offset}",
                "two readings of the source found different records there")
        for side, seen in traced.conflicts if side == "source"
    ]  # fmt: skip
    for one in (one for row in traced.originals.values() for one in row if one.in_source):
        sent = traced.sent.get(one.token)
        if sent is None:
            broken.append(Anomaly("I9", "source-written", str(one), "no producer of this run wrote it"))
        elif traced.fates[one.token] == "hidden":
            what = "its producer knows that it was not written, or aborted, and readers see it"
            broken.append(Anomaly("I9", "source-inconsistent", str(one), what))
        elif changed := differences(sent.content, one.content):
            what = f"{', '.join(changed)} differ from what was sent"
            broken.append(Anomaly("I9", "source-inconsistent", str(one), what))
    listed = [set(event.names) for event in history.of(Topics) if event.side == "source"]
    ours = {one.topic for one in history.of(Damage) if (one.side, one.kind) == ("source", "deleted")}
    for names in listed[1:]:
        for name in sorted((names ^ listed[0]) - set(_KAFKAS_OWN) - ours):
            what = "it was created on the source" if name in names else "it is gone from the source"
            broken.append(Anomaly("I9", "source-topics-changed", name, what))
    doubts = []
    if not any(side == "source" for side, _ in traced.drains):
        doubts.append("the source was not read")
    if len(listed) < 2:
        doubts.append("the source's topics were not listed before and after")
    return decide("I9", broken, doubts)


def recoveries(history: History) -> list[tuple[Fault, int | None]]:
    """For each fault that ended: milliseconds until zero lag; None if lag never became zero."""
    samples = history.of(Lag)
    return [
        (fault, min((one.at - fault.until for one in _after(samples, fault) if one.lag == 0), default=None))
        for fault in history.of(Fault)
        if fault.until >= 0 and _after(samples, fault)
    ]


def _after(samples: list[Lag], fault: Fault) -> list[Lag]:
    return [one for one in samples if one.at >= fault.until and fault.flow in ("", one.flow)]


def liveness(history: History) -> InvariantResult:
    """I11: zero lag soon after a fault; other flows are not affected."""
    limit, faults, samples = history.terms.recovery_ms, history.of(Fault), history.of(Lag)
    broken: list[Anomaly] = []
    measured = recoveries(history)
    for fault, took in measured:
        if took is None:
            broken.append(Anomaly("I11", "no-recovery", fault.name, "the lag never came to zero after it"))
        elif limit and took > limit:
            what = f"zero lag came {took} ms after its end, {limit} were promised"
            broken.append(Anomaly("I11", "slow-recovery", fault.name, what))
    for fault in faults:
        during: dict[str, list[Lag]] = defaultdict(list)
        for one in samples:
            over = fault.until if fault.until >= 0 else one.at
            if fault.flow and one.flow != fault.flow and fault.at <= one.at <= over:
                during[one.flow].append(one)
        for flow, seen in during.items():
            if len(seen) >= 3 and all(one.lag > 0 for one in seen):
                what = f"it stalled during {fault.name}, a fault of {fault.flow}"
                broken.append(Anomaly("I11", "bystander-stalled", flow, what))
    doubts = [] if faults else ["there was no fault"]
    doubts += [f"the lag was not sampled after {f.name}" for f in faults if f not in [m for m, _ in measured]]
    return decide("I11", broken, doubts)


def convergence(history: History, traced: Trace, exempt: Exemptions) -> InvariantResult:
    """I12: when the producers are quiet, everything is replicated; lag, ledger and `verify` agree."""
    broken: list[Anomaly] = []
    witnesses = 0
    last_lag = {one.flow: one for one in history.of(Lag)}
    for flow, one in last_lag.items():
        witnesses += 1
        if one.lag:
            broken.append(Anomaly("I12", "lag-left", flow or "all", f"{one.lag} records at the end"))
    last_positions = {Log(one.topic, one.topic_id, one.partition): one for one in history.of(LedgerPosition)}
    for log, row in last_positions.items():
        read = traced.drains.get(("source", log))
        if read is None or row.at < read.at:
            continue
        witnesses += 1
        if row.offset < read.end and not exempt.stopped(log) and not exempt.given_up(log):
            what = f"the position is {row.offset}, the source ends at {read.end}"
            broken.append(Anomaly("I12", "position-short", f"{log}@{row.offset}", what))
    for event in history.of(Exited):
        if event.command.startswith("verify"):
            witnesses += 1
            if event.code:
                broken.append(Anomaly("I12", "verify-differs", event.command, f"it ended with {event.code}"))
    for log, originals in traced.originals.items():
        left = [
            one
            for one in originals
            if one.in_source and one not in traced.first and one.offset >= traced.start(log)
            and not exempt.exemption(one) and not compacted_away(traced, one)
        ]  # fmt: skip
        if left and not not_read(traced):
            what = f"{len(left)} of its records are not on the destination"
            broken.append(Anomaly("I12", "not-converged", str(left[0]), what))
    doubts = not_read(traced)
    if not witnesses:
        doubts.append("no lag, no ledger and no `verify` from after the end")
    return decide("I12", broken, doubts)


def secrecy(history: History) -> InvariantResult:
    """I14: no output shows a secret."""
    scans = history.of(Scanned)
    broken = [
        Anomaly("I14", "secret-shown", scan.where, f"it shows {name}")
        for scan in scans
        for name in scan.found
    ]
    return decide("I14", broken, [] if scans else ["no output was searched"])


def bounded(history: History) -> InvariantResult:
    """I15: at the end a process uses what it used after its warm-up."""
    broken: list[Anomaly] = []
    doubts: list[str] = []
    by_process: dict[str, list[Usage]] = defaultdict(list)
    for one in history.of(Usage):
        by_process[one.process].append(one)
    read: dict[str, Callable[[Usage], int]] = {
        "memory": lambda one: one.memory,
        "files": lambda one: one.files,
        "threads": lambda one: one.threads,
    }
    for process, samples in by_process.items():
        if len(samples) < _ENOUGH_SAMPLES:
            doubts.append(f"{len(samples)} samples of {process} are too few")
            continue
        quarter = len(samples) // 4
        for what, value in read.items():
            warm = median(map(value, samples[quarter : 2 * quarter]))
            end = median(map(value, samples[-quarter:]))
            if end > warm * 1.2 + _SLACK[what]:
                broken.append(Anomaly("I15", f"{what}-grow", process, f"from {warm:.0f} to {end:.0f}"))
    return decide("I15", broken, doubts if by_process else ["no usage was sampled"])


def idempotent(history: History) -> InvariantResult:
    """I16: a command that has just been applied has nothing to change."""
    broken: list[Anomaly] = []
    repeated = 0
    previous: Applied | None = None
    for one in history.of(Applied):
        if previous is not None and previous.command == one.command:
            repeated += 1
            if one.changes:
                what = f"it changed {one.changes} things right after it had been applied"
                broken.append(Anomaly("I16", "not-idempotent", one.command, what))
        previous = one
    return decide("I16", broken, [] if repeated else ["no command was applied twice in a row"])
