"""How an attempt at a shard can fail.

Again       restart the protocol at step 1, the fence: the outcome is unknown, or a retry can help
Refused     the same, and a record failed inside the transaction: find out which one
Unfit       the same, and one record is the cause: it is named
NodeLeft    the same, and records are read from another node of their source pool
LedgerGone  the same; if it repeats, the ledger was deleted
Fenced      another attempt owns the transactional id: end, and never restart by itself
"""

from __future__ import annotations

from causeway.rules.repeats import RecordFailure


class Again(Exception):
    """Destroy the clients, back off, fence, read the ledger, resume from there."""

    def __init__(self, why: str, *, cluster: str = "") -> None:
        super().__init__(why)
        self.cluster = cluster  # alias of the cluster that did not respond, if that is the cause


class Refused(Again):
    """The transaction must be aborted since one of its records was rejected; it is unknown which one."""


class Unfit(Again):
    """One record made the attempt fail; the task counts how often."""

    def __init__(self, failure: RecordFailure) -> None:
        super().__init__(failure.finding.what)
        self.failure = failure


class NodeLeft(Again):
    """The source pool's node must not be read from any more."""


class LedgerGone(Again):
    """The ledger's topic does not exist, as far as the broker that responded knows."""


class Fenced(Exception):
    """Only the newest epoch of a transactional id can commit (invariant A), and this is not it."""
