"""What a shard's task remembers from attempt to attempt. None of it is needed to be correct."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from causeway.model.position import Position, SourcePartition
from causeway.policy.holes import Hole
from causeway.policy.integrity import Finding, Unreadable
from causeway.policy.positions import Waits
from causeway.policy.repeats import ATTEMPTS, RecordFailure, Repeated, decided, repeated
from causeway.policy.testimony import Spot

EVENTS_WAITING = 20


@dataclass(slots=True)
class Memory:
    began: float = field(default_factory=time.monotonic)
    restarts: int = 0
    fruitless: int = 0  # attempts in a row that carried nothing
    records: int = 0
    bytes: int = 0
    transactions: int = 0
    transaction_seconds: float = 0.0
    group_commits: int = 0
    carrying: Waits = field(default_factory=Waits)  # from fetch to commit
    event_number: int = 0
    events: list[tuple[str, str]] = field(default_factory=list)  # level and text, not yet in the ledger
    careful: set[SourcePartition] = field(default_factory=set)  # report each record, not each stretch
    single: bool = False  # one record a batch, to find the one that the destination refuses
    poison: dict[SourcePartition, dict[int, Finding]] = field(default_factory=dict)  # by offset
    no_quarantine: set[SourcePartition] = field(default_factory=set)  # their records are refused even there
    repeated: dict[SourcePartition, Repeated] = field(default_factory=dict)  # where attempts failed, and how
    unexplained: tuple[str, int] = ("", 0)  # kind of an error that names no record, how often in a row
    apart: bool = False  # one record at a time, to find the one that such an error belongs to
    without_ledger: int = 0  # attempts in a row that did not find it
    short_ledger: int = 0  # attempts in a row that found less in it than was committed
    positions: dict[SourcePartition, Position] = field(default_factory=dict)  # as the last attempt left them
    # Logs that were cut off under their positions, in the client's words. It says so once: the next fetch
    # would go on as if nothing had happened.
    truncated: dict[SourcePartition, str] = field(default_factory=dict)
    compacted: set[SourcePartition] = field(default_factory=set)  # the last record seen may be gone
    compacted_topics: dict[tuple[str, str], bool] = field(default_factory=dict)  # by cluster and name
    holes: dict[SourcePartition, Hole] = field(default_factory=dict)  # that nothing explains
    looks: int = 0  # into holes of source logs, in the commit that is being made
    explained: dict[SourcePartition, set[Hole]] = field(default_factory=dict)  # looked at, not committed yet
    unreadable: dict[SourcePartition, Unreadable] = field(default_factory=dict)  # damaged, where they stand
    stopped: dict[SourcePartition, Finding] = field(default_factory=dict)
    # How often attempts in a row have ended what was ours there, nothing having been written since.
    ended: Counter[Spot] = field(default_factory=Counter)

    def say(self, level: str, what: str) -> None:
        if (level, what) not in self.events:
            self.events = [*self.events[-EVENTS_WAITING:], (level, what)]

    def failed_at(self, failure: RecordFailure) -> bool:
        """One record made an attempt fail; returns whether something was decided about it.

        A record that has its verdict already failed on its way to the quarantine. And where the cause may lie
        outside of the record (`refused`), nothing of the partition is set aside: that would empty it into the
        quarantine. Either way the partition stops instead.
        """
        source = failure.source
        count = self.repeated[source] = repeated(self.repeated.get(source), failure)
        if not decided(failure, count):
            return False
        verdicts = self.poison.setdefault(source, {})
        if failure.offset in verdicts or failure.finding.verdict == "refused":
            self.no_quarantine.add(source)
        verdicts.setdefault(failure.offset, failure.finding)
        self.single = self.apart = False
        return True

    def failed_somewhere(self, kind: str) -> None:
        """An attempt failed, and nothing says which record is the cause, if one is."""
        known, times = self.unexplained
        self.unexplained = (kind, times + 1 if kind == known else 1)
        self.apart |= self.unexplained[1] >= ATTEMPTS


def now_ms() -> int:
    return time.time_ns() // 1_000_000
