"""Decides every invariant from a history: each one holds, is broken, or nobody can tell.

I1–I6 need nothing but what was written and what was read back, so they judge any tool that mirrors.

    I1  no loss             lost · unseen · lost-in-source
    I2  no phantom          phantom · aborted-delivered · inconsistent-offsets
    I3  order               out-of-order · broken-replay
    I4  no repeats          repeated
    I5  placement           misplaced · key-split
    I6  fidelity            {key, value, key-nullness, value-nullness, headers, timestamp, …}-changed
    I7  offset map, groups  map-wrong · map-incomplete · translation-ahead · translation-back
    I8  books               books-unbalanced · position-back · start-moved · tally-back · tally-wrong ·
                            ledger-ahead · ledger-behind · skipped-unsaid · quarantine-wrong
    I9  source untouched    source-written · source-inconsistent · source-topics-changed
    I10 loud integrity      silent-… · false-alarm · misnamed · quiet-exit · delivered-behind-stop ·
                            delivered-inside-gap
    I11 liveness            no-recovery · slow-recovery · bystander-stalled
    I12 convergence         lag-left · position-short · verify-differs · not-converged
    I13 single writer       two-writers
    I14 secrecy             secret-shown
    I15 bounded resources   memory-grow · files-grow · threads-grow
    I16 idempotent control  not-idempotent
"""

from __future__ import annotations

from faults import books, conduct, damage, delivery
from faults.excuses import excuses
from faults.history import History
from faults.ruling import Report
from faults.trace import trace

RECORDS = ("I1", "I2", "I3", "I4", "I5", "I6")
"""What every mirroring tool can be held to."""


def check(history: History) -> Report:
    traced = trace(history)
    excused = excuses(history, traced)
    exactly = history.terms.delivery == "exactly-once"
    rulings = [
        delivery.no_loss(history, traced, excused),
        delivery.no_phantom(history, traced),
        delivery.order(traced, exactly),
        delivery.no_repeats(history, traced),
        delivery.placement(traced),
        delivery.fidelity(traced),
        books.translation(history, traced),
        books.books(history, traced, excused),
        conduct.source_untouched(history, traced),
        damage.loud(history, traced, excused),
        conduct.liveness(history),
        conduct.convergence(history, traced, excused),
        books.one_writer(history),
        conduct.secrecy(history),
        conduct.bounded(history),
        conduct.idempotent(history),
    ]
    measured = [(fault.name, took) for fault, took in conduct.recoveries(history) if took is not None]
    return Report({ruling.invariant: ruling for ruling in rulings}, tuple(measured))
