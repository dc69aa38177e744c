"""What a shard's task remembers from attempt to attempt. Correctness does not depend on it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from causeway.core.position import Position, SourcePartition
from causeway.core.topic import Spot
from causeway.rules.holes import Hole
from causeway.rules.integrity import Finding
from causeway.rules.positions import Waits
from causeway.rules.repeats import ATTEMPTS, RecordFailure, Repeated, decided, repeated
from causeway.rules.unreadable import UnreadableLog

EVENTS_WAITING = 20


@dataclass(slots=True)
class TaskState:
    began: float = field(default_factory=time.monotonic)
    restarts: int = 0
    fruitless: int = 0  # attempts in a row that committed no record
    records: int = 0
    bytes: int = 0
    transactions: int = 0
    transaction_seconds: float = 0.0
    group_commits: int = 0
    fetch_to_commit: Waits = field(default_factory=Waits)
    event_number: int = 0
    events: list[tuple[str, str]] = field(default_factory=list)  # level and text, not yet in the ledger
    report_each: set[SourcePartition] = field(default_factory=set)  # report each record, not each stretch
    single: bool = False  # one record per batch, to isolate the one that the destination rejects
    poison: dict[SourcePartition, dict[int, Finding]] = field(default_factory=dict)  # by offset
    denied: set[str] = field(default_factory=set)  # destination topics that writes were denied to
    rejected_timings: dict[str, str] = field(default_factory=dict)  # timings topics, and why they did
    without_timings: dict[str, str] = field(default_factory=dict)  # timings topics not written to, and why
    no_quarantine: set[SourcePartition] = field(default_factory=set)  # they stop instead of quarantining
    repeated: dict[SourcePartition, Repeated] = field(default_factory=dict)  # where attempts failed, and how
    unexplained: tuple[str, int] = ("", 0)  # kind of an error that names no record, how often in a row
    one_at_a_time: bool = False  # one record at a time, to isolate the one that causes such an error
    without_ledger: int = 0  # attempts in a row that did not find the ledger
    short_ledger: int = 0  # attempts in a row that found less in it than was committed
    positions: dict[SourcePartition, Position] = field(default_factory=dict)  # as the last attempt left them
    # Logs that were truncated before their positions, with the client's error. The client reports it once:
    # the next fetch would go on as if nothing had happened.
    truncated: dict[SourcePartition, str] = field(default_factory=dict)
    compacted: set[SourcePartition] = field(default_factory=set)  # the last record seen may be compacted
    compacted_topics: dict[tuple[str, str], bool] = field(default_factory=dict)  # by cluster and name
    holes: dict[SourcePartition, Hole] = field(default_factory=dict)  # that nothing explains
    looks: int = 0  # checks of holes in source logs, in the current commit
    # Parts of holes that were checked and explained, and are not committed yet.
    explained: dict[SourcePartition, list[Hole]] = field(default_factory=dict)
    unreadable: dict[SourcePartition, UnreadableLog] = field(default_factory=dict)  # damaged at the position
    stopped: dict[SourcePartition, Finding] = field(default_factory=dict)
    # How often attempts in a row ended a transaction of ours there, with nothing written since.
    ended: Counter[Spot] = field(default_factory=Counter)

    def add_event(self, level: str, what: str) -> None:
        if (level, what) not in self.events:
            self.events = [*self.events[-EVENTS_WAITING:], (level, what)]

    def forget_logs(self) -> None:
        """Forget what was found in source logs: they are read from another node of a pool now."""
        for found in (self.truncated, self.compacted, self.compacted_topics, self.holes, self.explained):
            found.clear()
        self.unreadable.clear()

    def count_failure(self, failure: RecordFailure) -> bool:
        """One record made an attempt fail; returns whether it has its verdict now.

        A record that already had its verdict failed on its way to the quarantine. And if the cause may lie
        outside the record (`refused`), no record of the partition is quarantined: that would empty the
        partition into the quarantine. In both cases the partition stops instead.
        """
        source = failure.source
        count = self.repeated[source] = repeated(self.repeated.get(source), failure)
        if not decided(failure, count):
            return False
        verdicts = self.poison.setdefault(source, {})
        if failure.offset in verdicts or failure.finding.verdict == "refused":
            self.no_quarantine.add(source)
        verdicts.setdefault(failure.offset, failure.finding)
        self.single = self.one_at_a_time = False
        return True

    def count_unexplained_failure(self, kind: str) -> None:
        """An attempt failed, and it is unknown which record is the cause, if one is."""
        known, times = self.unexplained
        self.unexplained = (kind, times + 1 if kind == known else 1)
        self.one_at_a_time |= self.unexplained[1] >= ATTEMPTS
