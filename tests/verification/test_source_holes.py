"""What `verify` finds missing in the middle of a source log, each offset once."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.pair import Pair
from causeway.core.position import SourcePartition
from causeway.kafka.batches import Read
from causeway.rules.holes import Hole, LogBatch
from causeway.verification import source_holes
from causeway.verification.source_holes import SourceHoles

SOURCE = SourcePartition("c", "t", 0)


class Watched:
    """A partition from 0 to 100 that holds some offsets, in batches of ten messages."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *log: LogBatch, skipped: tuple[Any, ...] = ()
    ) -> None:
        self.read_holes: list[Hole] = []
        pair = Pair(SOURCE, 0, 100, 100, 100, None, 0, 0, False, True, skipped=skipped)
        self.holes = SourceHoles(None, pair)  # type: ignore[arg-type]

        def batches(_cluster: Any, _topic: str, _partition: int, begin: int, end: int) -> Read:
            self.read_holes.append(Hole(begin, end))
            return Read(list(log), end)

        monkeypatch.setattr(source_holes, "batches_between", batches)

    def read(self, held: Iterable[int], start: int = 0) -> None:
        messages = [
            SimpleNamespace(offset=lambda offset=offset: offset) for offset in held if offset >= start
        ]
        tens = [messages[at : at + 10] for at in range(0, len(messages), 10)]
        assert list(self.holes.watched(tens, start)) == tens


def test_a_complete_log_needs_no_read_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    watched.read(range(100))
    assert (watched.read_holes, watched.holes.lost, watched.holes.notes()) == ([], 0, [])


def test_an_unexplained_hole_is_lost_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, LogBatch(20, 24, False))
    held = [*range(20), *range(40, 95)]
    for start in (0, 0, 50):
        watched.read(held, start)
    assert watched.read_holes == [(20, 40), (95, 100)], "the end of the log is a hole too"
    assert watched.holes.lost == 20
    assert watched.holes.notes() == [
        "the source lost its records at offsets 25 to 39 (15)",
        "the source lost its records at offsets 95 to 99 (5)",
    ]


def test_markers_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, *(LogBatch(offset, offset, True) for offset in range(1, 100, 2)))
    watched.read(range(0, 100, 2))
    assert (watched.read_holes, watched.holes.lost) == ([(1, 2)], 0)


def test_offsets_that_the_ledger_skipped_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, skipped=((20, 40),))
    watched.read([*range(20), *range(40, 100)])
    assert (watched.read_holes, watched.holes.lost) == ([], 0)


def test_offsets_that_retention_deleted_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    watched.holes.begin_at(30)
    watched.read(range(30, 100), 30)
    assert (watched.read_holes, watched.holes.lost) == ([], 0)
