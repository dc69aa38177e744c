"""What is read of a source before a verdict on its log: retention and compaction remove records too."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from causeway.core.choices import OnGap
from causeway.core.position import Place, Position, SourcePartition, Tally
from causeway.core.task_order import Lane, Policies
from causeway.errors import AccessDenied, Unreachable
from causeway.kafka.batches import Read, Unread, _ended
from causeway.kafka.partition_state import PartitionState
from causeway.kafka.task_errors import Again
from causeway.replication.worker import source_checks
from causeway.replication.worker.source_checks import check_holes, is_cut_off, is_still_lost
from causeway.replication.worker.task_state import TaskState
from causeway.rules.holes import Hole, LogBatch
from causeway.rules.offset_runs import OffsetRun

SOURCE = SourcePartition("c", "t", 0)
PLACE = Place("t", "id", 0)


class View:
    cluster = None

    def __init__(self, log_start: int | None, policy: str | None) -> None:
        self._log_start, self._policy = log_start, policy

    def offsets(self, spots: Any, at: str) -> dict[Any, int]:
        assert at == "earliest"
        return {} if self._log_start is None else dict.fromkeys(spots, self._log_start)

    def configs(self, topics: list[str], **_how: Any) -> dict[str, dict[str, str]]:
        if self._policy is None:
            raise AccessDenied("reading the configuration is not allowed")
        return {topic: {"cleanup.policy": self._policy} for topic in topics}


def stopped() -> PartitionState:
    """The record at 4 was the last one seen, and another one came."""
    position = Position(SOURCE, "id", 0, 8, 7, PLACE, 0, -1, 1, 0, seen=5)
    state = PartitionState(Lane(SOURCE, "id", PLACE, None), position, fetch_from=(4, 7))
    state.recognize(9, 8)
    assert state.absent
    return state


@pytest.mark.parametrize(
    ("log_start", "policy", "cut", "validates"),
    [
        (4, "delete", True, False),
        (5, "delete", False, False),  # retention was faster than the fetch
        (None, "delete", False, False),  # no leader
        (4, "compact", False, True),
        (4, "compact,delete", False, True),
        (4, None, False, True),  # unknown: only the client's own check is left
    ],
)
def test_the_log_counts_as_truncated_only_if_nothing_else_removes_records(
    log_start: int | None, policy: str | None, cut: bool, validates: bool
) -> None:
    state, memory = stopped(), TaskState()
    view: Any = View(log_start, policy)
    assert is_cut_off(view, state, memory) is cut
    assert (SOURCE in memory.compacted) is validates
    assert state.done is cut


def test_there_is_no_verdict_without_a_response() -> None:
    class Silent(View):
        def offsets(self, spots: Any, at: str) -> dict[Any, int]:
            raise Unreachable("no response")

    view: Any = Silent(4, "delete")
    with pytest.raises(Unreachable):
        is_cut_off(view, stopped(), TaskState())


class Log:
    """The batches of the source's log, and the reads of them."""

    def __init__(self, *batches: LogBatch) -> None:
        self.batches = list(batches)
        self.asked: list[Hole] = []

    def __call__(
        self, _cluster: Any, _topic: str, _partition: int, begin: int, end: int, _deadline: float = math.inf
    ) -> Read:
        self.asked.append(Hole(begin, end))
        return Read(self.batches, end)


class Checked:
    """A partition that replicated offsets 0 to 9 and 20 to 29, and the check of the hole between."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log: Any, policy: str | None = "delete") -> None:
        monkeypatch.setattr(source_checks, "batches_between", log)
        self.view: Any = View(0, policy)
        self.memory = TaskState()
        self.runs = {0: [OffsetRun(0, 100, 10), OffsetRun(20, 110, 10)]}
        self.start = Position(SOURCE, "id", 0, 0, -1, PLACE, 0, -1, 1, 0)

    def check(
        self, on_gap: OnGap = "stop", ordinary: int = 0, deadline: float = math.inf
    ) -> tuple[Position, list[Any]]:
        state = PartitionState(Lane(SOURCE, "id", PLACE, None), self.start)
        state.next = 30
        after = replace(self.start, offset=30, ordinary=ordinary, tally=Tally(delivered=20, holes=10))
        order: Any = SimpleNamespace(policies=Policies(on_gap=on_gap))
        return check_holes(order, self.view, state, after, self.runs, self.memory, deadline)


MARKERS = [LogBatch(offset, offset, True) for offset in range(10, 20)]


def test_markers_explain_a_hole_and_are_ordinary_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(*MARKERS)
    checked = Checked(monkeypatch, log)
    position, gaps = checked.check()
    assert (position.ordinary, gaps, log.asked) == (10, [], [(10, 20)])
    checked.check()
    assert len(log.asked) == 1, "a commit that failed does not read again"
    Checked(monkeypatch, log).check(ordinary=10)
    assert len(log.asked) == 1, "nor does one for which such holes are ordinary"


def test_a_long_abort_explains_a_hole_and_is_checked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.rules.holes.FEW", 5)
    log = Log(LogBatch(10, 18, False), LogBatch(19, 19, True))
    assert Checked(monkeypatch, log).check()[0].ordinary == 0


@pytest.mark.parametrize(("policy", "events"), [("compact", 0), ("delete,compact", 0), (None, 1)])
def test_compaction_explains_everything(
    monkeypatch: pytest.MonkeyPatch, policy: str | None, events: int
) -> None:
    log = Log()
    checked = Checked(monkeypatch, log, policy)
    assert checked.check()[1] == []
    assert not log.asked
    assert len(checked.memory.events) == events, "an unknown policy is reported"


def test_an_unexplained_hole_stops_the_next_attempt_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch, Log(*MARKERS[:4], *MARKERS[7:]))
    with pytest.raises(Again, match=r"has no records at offsets 14 to 16 \(3\)"):
        checked.check()
    assert checked.memory.holes == {SOURCE: (14, 17)}


def test_a_policy_continues_with_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    position, gaps = Checked(monkeypatch, Log(*MARKERS[:4])).check("continue")
    assert [(gap.begin, gap.end) for gap in gaps] == [(14, 20)]
    assert (position.tally.holes, position.tally.skipped, position.ordinary) == (4, 6, 0)


def test_checks_do_not_outlast_a_transaction_and_every_attempt_gets_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("causeway.rules.holes.FEW", 0)
    log = Log(LogBatch(1, 2, False), LogBatch(4, 5, False), LogBatch(7, 8, False), LogBatch(10, 19, False))
    checked = Checked(monkeypatch, log)
    checked.runs = {
        0: [
            OffsetRun(0, 100, 1),
            OffsetRun(3, 101, 1),
            OffsetRun(6, 102, 1),
            OffsetRun(9, 103, 1),
            OffsetRun(20, 104, 10),
        ]
    }
    for attempt in (1, 2, 3):
        checked.memory.looks = 0  # as a commit begins
        with pytest.raises(Again, match="are compared with its log"):
            checked.check(deadline=0.0)
        assert len(log.asked) == attempt, "at least one read, and none twice"
    checked.memory.looks = 0
    assert checked.check(deadline=0.0)[1] == []
    assert log.asked == [(1, 3), (4, 6), (7, 9), (10, 20)]


class Slow(Log):
    """A log of which one read returns one batch."""

    def __call__(self, *where: Any) -> Read:
        begin, end = super().__call__(*where), where[4]
        first = min(batch for batch in begin.batches if batch.last >= self.asked[-1].begin)
        return Read([first], min(end, first.last + 1))


def test_a_hole_that_takes_many_reads_is_explained_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of aborted transactions in a row would take longer than a transaction's timeout."""
    checked = Checked(monkeypatch, log := Slow(*MARKERS))
    for attempt in range(1, 10):
        checked.memory.looks = 0  # as a commit begins
        with pytest.raises(Again, match=f"are compared with its log, up to {10 + attempt}"):
            checked.check(deadline=0.0)
        assert len(log.asked) == attempt
    checked.memory.looks = 0
    assert checked.check(deadline=0.0)[1] == []
    assert [hole.begin for hole in log.asked] == list(range(10, 20))


def test_a_hole_that_grows_meanwhile_is_explained_from_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Checked(monkeypatch, log := Log(*MARKERS))
    checked.memory.explained[SOURCE] = [Hole(10, 17)]
    assert checked.check()[1] == []
    assert log.asked == [(17, 20)]


def test_missing_offsets_are_reported_although_parts_around_them_are_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = Checked(monkeypatch, log := Log(*MARKERS[:4], *MARKERS[7:]))
    for _ in range(2):
        position, gaps = checked.check("continue")
        assert [(gap.begin, gap.end) for gap in gaps] == [(14, 17)]
        assert (position.tally.holes, position.tally.skipped) == (7, 3)
    assert log.asked == [(10, 20), (14, 17)]


def test_an_error_that_names_no_partition_does_not_end_a_read() -> None:
    """A client requests the coordinator of a group that it never joins, and may not be allowed to."""
    error = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "not authorized")
    message: Any = SimpleNamespace(error=lambda: error, partition=lambda: -1, offset=lambda: -1)
    message.topic = lambda: None
    errors: list[KafkaError] = []
    assert not _ended(message, 10, errors)
    assert errors == [error]
    message.topic = lambda: "orders"
    with pytest.raises(Unread, match="not authorized"):
        _ended(message, 10, errors)


def test_a_hole_that_could_not_be_read_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def unread(*_: Any) -> list[LogBatch]:
        raise Unread("nothing came")

    checked = Checked(monkeypatch, unread)
    with pytest.raises(Again, match="were not read: nothing came"):
        checked.check()
    assert not checked.memory.holes
    assert is_still_lost(checked.view, SOURCE, Hole(10, 20))


def test_a_client_that_does_not_log_batches_stops_nothing_and_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = Checked(monkeypatch, lambda *_: None)
    assert checked.check()[1] == []
    assert len(checked.memory.events) == 1


def test_a_hole_is_not_lost_any_more_if_the_log_has_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_still_lost(Checked(monkeypatch, Log()).view, SOURCE, Hole(10, 20))
    assert not is_still_lost(Checked(monkeypatch, Log(LogBatch(5, 24, False))).view, SOURCE, Hole(10, 20))
    assert not is_still_lost(Checked(monkeypatch, Log(), "compact").view, SOURCE, Hole(10, 20))
