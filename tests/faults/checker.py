"""Decides every invariant from a history: it holds, is broken, or is unknown.

I1–I6 need only what was written and what was read, so they can be checked for any mirroring tool.

    I1  no loss             lost · unseen · lost-in-source
    I2  no phantom          phantom · aborted-delivered · inconsistent-offsets
    I3  order               out-of-order · broken-replay
    I4  no repeats          repeated
    I5  placement           misplaced · key-split
    I6  fidelity            {key, value, key-nullness, value-nullness, headers, timestamp, …}-changed
    I7  offset map, groups  map-wrong · map-incomplete · translation-ahead · translation-back
    I8  ledger              ledger-unbalanced · position-back · start-moved · tally-back · tally-wrong ·
                            ledger-ahead · ledger-short · skipped-unsaid · quarantine-wrong
    I9  source untouched    source-written · source-inconsistent · source-topics-changed
    I10 loud integrity      silent-… · false-alarm · misnamed · quiet-exit · delivered-after-stop ·
                            delivered-inside-gap
    I11 liveness            no-recovery · slow-recovery · bystander-stalled
    I12 convergence         lag-left · position-short · verify-differs · not-converged
    I13 single writer       two-writers
    I14 secrecy             secret-shown
    I15 bounded resources   memory-grow · files-grow · threads-grow
    I16 idempotent control  not-idempotent
"""

from __future__ import annotations

from faults import behaviour, damage, delivery_invariants, ledger_invariants
from faults.exemptions import exemptions
from faults.history import History
from faults.invariant_result import Report
from faults.trace import trace

RECORDS = ("I1", "I2", "I3", "I4", "I5", "I6")
"""Invariants that hold for any correct mirroring tool."""


def check(history: History) -> Report:
    traced = trace(history)
    exempt = exemptions(history, traced)
    exactly = history.terms.delivery == "exactly-once"
    results = [
        delivery_invariants.no_loss(history, traced, exempt),
        delivery_invariants.no_phantom(history, traced),
        delivery_invariants.order(traced, exactly),
        delivery_invariants.no_repeats(history, traced),
        delivery_invariants.placement(traced),
        delivery_invariants.fidelity(traced),
        ledger_invariants.translation(history, traced),
        ledger_invariants.ledger_correct(history, traced, exempt),
        behaviour.source_untouched(history, traced),
        damage.loud(history, traced, exempt),
        behaviour.liveness(history),
        behaviour.convergence(history, traced, exempt),
        ledger_invariants.one_writer(history),
        behaviour.secrecy(history),
        behaviour.bounded(history),
        behaviour.idempotent(history),
    ]
    measured = [(fault.name, took) for fault, took in behaviour.recoveries(history) if took is not None]
    return Report({result.invariant: result for result in results}, tuple(measured))
