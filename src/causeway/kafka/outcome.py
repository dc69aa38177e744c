"""How an attempt at a shard can end other than well.

Again       start the protocol anew at 1: the outcome is unknown, or trying again can help
Refused     the same, and a record failed inside the transaction: find out which one
Unfit       the same, and one record is the cause: it is named
LedgerGone  the same; met again and again, somebody deleted the ledger
Fenced      another attempt owns the transactional id: end, and never start again by yourself
"""

from __future__ import annotations

from causeway.policy.repeats import RecordFailure


class Again(Exception):
    """Destroy the clients, back off, fence, read the ledger, go on from there."""


class Refused(Again):
    """The transaction must be aborted since a record of it was not taken; nobody said which one."""


class Unfit(Again):
    """One record made the attempt fail; the task counts how often."""

    def __init__(self, failure: RecordFailure) -> None:
        super().__init__(failure.finding.what)
        self.failure = failure


class LedgerGone(Again):
    """The ledger's topic does not exist, as far as the broker that answered knows."""


class Fenced(Exception):
    """Only the newest epoch of a transactional id can commit (invariant A), and this is not it."""
