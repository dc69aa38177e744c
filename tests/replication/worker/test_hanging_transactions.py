"""How an attempt handles hanging transactions; faults/test_markers.py has real ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Hidden
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.task_order import Lane, ProduceSettings, TaskOrder
from causeway.core.topic import Spot
from causeway.errors import IntegrityError, Unreachable
from causeway.kafka import hanging_transactions
from causeway.kafka.hanging_transactions import LedgerEnd, OpenTransactions
from causeway.kafka.task_errors import Again
from causeway.replication.worker.hanging_transactions import end_hanging, find_hanging, must_be_checked
from causeway.replication.worker.task_state import TaskState
from support.plain_order import LIMITS, plain_order

SOURCE = SourcePartition("c", "t", 0)
OTHER = SourcePartition("c", "t", 1)
PLACE = Place("t", "there", 0)
LANE = Lane(SOURCE, "id", PLACE, None)
REPLICATED = Position(SOURCE, "id", 0, 50, 7, PLACE, 0, 60, 1, 0)
ORDER = plain_order(LANE, limits=replace(LIMITS, transaction_timeout=0.2))
LEDGER, MAP = f"{ORDER.ledger}_1", f"{ORDER.offset_map}_1"
BY_KEY = replace(ORDER, lanes=(replace(LANE, place=PLACE._replace(partition=-1)),))
T = ("t", 0)
HIDDEN = Hidden("t", 0, 60, *SOURCE, offset=50, at=1)


class There:
    """The destination: log ends and last stable offsets; partitions without an offset do not respond."""

    cluster = Cluster("there", {"bootstrap.servers": "there:9092"})

    def __init__(self, **stable: int | None) -> None:
        spots = {name: name.rsplit("_", 1) for name in stable}
        self._stable = {(topic, int(number)): stable[name] for name, (topic, number) in spots.items()}
        self.asked: set[Spot] = set()

    def describe(self, topics: Iterable[str], **_how: Any) -> dict[str, Any]:
        return {topic: SimpleNamespace(partitions=3) for topic in topics}

    def offsets(self, spots: Iterable[Spot], at: str) -> dict[Spot, int]:
        self.asked |= set(spots)
        stable = {spot: self._stable.get(spot, 100) for spot in spots}
        return {spot: end if at == "stable" else 100 for spot, end in stable.items() if end is not None}


@pytest.fixture(autouse=True)
def done(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The writes that were made."""
    writes: list[tuple[Any, ...]] = []
    monkeypatch.setattr(hanging_transactions, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(
        hanging_transactions, "abort", lambda *given: writes.append(("abort", set(given[3]), given[4]))
    )

    def end_ledger(_view: Any, _mirror: str, shard: int, *_more: Any) -> LedgerEnd:
        writes.append(("ledger", shard))
        return LedgerEnd("ended", frozenset({SOURCE}))

    monkeypatch.setattr(hanging_transactions, "end_ledger", end_ledger)
    return writes


def find(order: TaskOrder = ORDER, memory: TaskState | None = None, /, **stable: int | None) -> Any:
    there: Any = There(**stable)
    transactions = find_hanging(order, there, memory or TaskState())
    return transactions.opened, transactions.unseen


def end(
    opened: dict[Spot, int], memory: TaskState, hidden: Iterable[Hidden] = (), position: Position = REPLICATED
) -> Any:
    there: Any = There()
    transactions = OpenTransactions(opened, {(ORDER.ledger, 1): 90}, set())
    return end_hanging(ORDER, there, transactions, {SOURCE: position}, list(hidden), memory)


def test_without_open_transactions_nothing_is_done(done: list[tuple[Any, ...]]) -> None:
    assert find() == ({}, set())
    assert end({}, TaskState()) == []
    assert done == []


def test_at_least_once_does_not_search_for_hanging_transactions() -> None:
    there: Any = There()
    assert find_hanging(
        replace(ORDER, produce=ProduceSettings("at-least-once")), there, TaskState()
    ) == OpenTransactions({}, {}, set())
    assert not there.asked


def test_a_place_that_does_not_respond_does_not_count_as_one_without_open_transactions() -> None:
    opened, unseen = find(t_0=None)
    assert (opened, unseen) == ({}, {T})
    with pytest.raises(Again, match="responds now"):
        must_be_checked([PLACE], unseen)
    must_be_checked([PLACE._replace(partition=1)], unseen)


def test_a_ledger_or_map_that_does_not_respond_is_retried() -> None:
    with pytest.raises(Again, match="open transactions there are unknown"):
        find(**{LEDGER: None})
    with pytest.raises(Again, match="open transactions there are unknown"):
        find(**{MAP: None})


def test_with_placement_by_key_every_partition_must_respond() -> None:
    assert find(BY_KEY, t_2=70) == ({("t", 2): 70}, set())
    with pytest.raises(Again, match="open transactions there are unknown"):
        find(BY_KEY, t_2=None)


def test_an_open_transaction_in_the_ledger_is_ended_before_it_is_read_but_not_for_ever(
    done: list[tuple[Any, ...]],
) -> None:
    memory = TaskState()
    for _ in range(2):
        with pytest.raises(Again, match="ended"):
            find(ORDER, memory, **{LEDGER: 90})
    with pytest.raises(IntegrityError, match="its shard cannot end it"):
        find(ORDER, memory, **{LEDGER: 90})
    assert done == [("ledger", 1)] * 2


def test_a_commit_that_returned_and_was_aborted_with_its_ledger_is_not_expected_there_again() -> None:
    """A coordinator responds before it writes the markers, and may forget all of them (exit 6 otherwise)."""
    memory = TaskState()
    memory.positions = {SOURCE: REPLICATED, OTHER: REPLICATED}

    with pytest.raises(Again, match="ended"):
        find(ORDER, memory, **{LEDGER: 90})

    assert memory.positions == {OTHER: REPLICATED}


def test_a_transaction_that_the_ledger_does_not_have_is_aborted_and_one_that_stays_is_another_producers(
    done: list[tuple[Any, ...]],
) -> None:
    memory = TaskState()
    for _ in range(2):  # one of the aborts may be lost like the transaction before it
        with pytest.raises(Again, match="was aborted"):
            end({T: 60}, memory)
    assert end({T: 60}, memory) == []
    assert done == [("abort", {T}, {(ORDER.ledger, 1): 90})] * 2, (
        "only if no task has served the shard meanwhile"
    )


def test_what_counts_as_replicated_is_recorded_once(done: list[tuple[Any, ...]]) -> None:
    memory = TaskState()
    (hidden,) = end({T: 59}, memory)
    assert replace(hidden, at=1) == HIDDEN
    assert "hidden from offset 59" in memory.events[0][1]
    assert end({T: 59}, TaskState(), [HIDDEN]) == []
    (further,) = end({T: 59}, TaskState(), [HIDDEN], replace(REPLICATED, offset=70, place_end=80))
    assert (further.end, further.offset) == (80, 70)
    assert done == []


@pytest.mark.parametrize(
    ("aborted", "position", "fails"),
    [
        (False, REPLICATED, False),
        (True, REPLICATED, True),
        (True, replace(REPLICATED, offset=49), False),  # an operator moved back: it is replicated again
    ],
)
def test_hidden_records_must_exist_once_no_transaction_is_open(
    monkeypatch: pytest.MonkeyPatch, aborted: bool, position: Position, fails: bool
) -> None:
    monkeypatch.setattr(hanging_transactions, "was_aborted", lambda *given: aborted and given[1:] == (T, 59))
    if fails:
        with pytest.raises(IntegrityError, match="aborted at the destination"):
            end({}, TaskState(), [HIDDEN], position)
    else:
        assert end({}, TaskState(), [HIDDEN], position) == [replace(HIDDEN, end=-1)]


def test_another_broker_failure_does_not_end_the_repetition_of_a_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failed attempt is aborted by the next fence, with what it repeats: repeating must continue."""
    entry = (b"k", b"v")
    committed: list[Any] = []
    troubles = [Again("no response"), Unreachable("no leader")]

    def read(*_given: Any) -> list[tuple[bytes, bytes]]:
        if troubles:
            raise troubles.pop()
        return [entry, entry]  # and the copy of an earlier attempt

    made = SimpleNamespace(fence=lambda: None, close=lambda: None, commit=committed.append)
    monkeypatch.setattr(hanging_transactions, "DestinationProducer", lambda *_given, **_more: made)
    monkeypatch.setattr(hanging_transactions, "written_from", read)
    there: Any = There()

    hanging_transactions.commit_again(there, "x", ORDER.limits, {T: 5}, {T: [entry]})

    assert committed == [[(*T, *entry)]]
