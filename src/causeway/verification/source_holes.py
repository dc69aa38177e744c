"""Finds offsets that are missing in the middle of a source log, for `verify`.

Both sides may be equal although records were lost, before any mirror could read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from causeway.core.cluster import Cluster
from causeway.core.offsets import offset_range
from causeway.core.pair import Pair
from causeway.core.plural import counted
from causeway.kafka.batches import Unread, batches_between
from causeway.rules.holes import Hole, LogBatch, ordinary, unexplained

NOTES_SHOWN = 10


class SourceHoles:
    """Looks for holes while a partition is read; each offset is checked once, however often it is read."""

    def __init__(self, cluster: Cluster, pair: Pair) -> None:
        self._cluster = cluster
        self._source = pair.source
        self._end = pair.source_to
        self._checked = pair.source_from
        self._ordinary = 0
        # What the ledger skipped, by a policy or on an operator's command, is declared.
        self._skipped = [LogBatch(begin, end - 1, False) for begin, end in pair.skipped]
        self._lost: list[Hole] = []
        self._not_checked = 0

    @property
    def lost(self) -> int:
        """How many offsets are missing without an explanation."""
        return sum(hole.size for hole in self._lost)

    def begin_at(self, offset: int) -> None:
        """The log starts at this offset now."""
        self._checked = max(self._checked, offset)

    def watched(self, batches: Iterable[list[Any]], start: int) -> Iterator[list[Any]]:
        """Yield the batches of messages, read from `start` on, and check the holes between them."""
        at = start
        for messages in batches:
            last = messages[-1].offset()
            if last - at + 1 != len(messages):
                for message in messages:
                    self._check(Hole(at, message.offset()), start)
                    at = message.offset() + 1
            at = last + 1
            yield messages
            if start <= self._checked:
                self._checked = max(self._checked, at)
        self._check(Hole(at, self._end), start)
        if start <= self._checked:
            self._checked = max(self._checked, self._end)

    def _check(self, hole: Hole, start: int) -> None:
        if hole.size <= self._ordinary or start > self._checked or hole.begin < self._checked:
            return
        if not unexplained(hole, self._skipped):
            return
        try:
            read = batches_between(self._cluster, self._source.topic, self._source.partition, *hole)
        except Unread:
            read = None
        if read is None:
            self._not_checked += 1
            return
        batches = read.batches
        missing = [part for rest in unexplained(hole, batches) for part in unexplained(rest, self._skipped)]
        self._lost += missing
        if not missing:
            self._ordinary = max(self._ordinary, ordinary(hole, batches))

    def notes(self) -> list[str]:
        notes = [
            f"the source lost its records at {offset_range(hole.begin, hole.end)}"
            for hole in self._lost[:NOTES_SHOWN]
        ]
        if len(self._lost) > NOTES_SHOWN:
            more = counted(len(self._lost) - NOTES_SHOWN, "more hole")
            notes.append(f"… and in {more}: {self.lost:,} offsets in total")
        if self._not_checked:
            notes.append(f"{counted(self._not_checked, 'hole')} in the source log could not be checked")
        return notes
