"""What a scenario waits for, and what it leaves: records owed, processes that live, files that are kept."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from faults.conftest import NewScenario
from faults.content import Content
from faults.events import DeliveryReport, Route, Seen, Sent, Side, TransactionEnded, Verdict
from faults.history import History, Journal
from faults.processes import held, is_held, kill, usage
from faults.unseen import PendingRecords
from support.process import eventually

CONTENT = Content(None, None, (), 1)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "history.jsonl") as journal:
        journal.add(Route("t", "t"))
        yield journal


@pytest.fixture
def owed(journal: Journal) -> PendingRecords:
    return PendingRecords(journal)


def sent(token: str, transaction: str = "", topic: str = "t", partition: int = 0) -> Sent:
    return Sent(1, token, topic, partition, CONTENT, transaction)


def test_only_what_is_acknowledged_is_owed(journal: Journal, owed: PendingRecords) -> None:
    journal.add(sent("a"), sent("b"), sent("c"), sent("d"))
    assert owed.count() == 0
    journal.add(
        DeliveryReport(10, "a", "ok", 0),
        DeliveryReport(20, "b", "failed"),
        DeliveryReport(30, "c", "unknown"),
    )
    assert owed.count() == 1
    assert owed.count(before=9) == 0
    owed.arrived |= {"a", "d"}
    assert owed.count() == 0
    assert owed.newest() == 1, "the other one is not acknowledged"
    journal.add(replace(sent("e"), at=12), DeliveryReport(15, "e", "ok", 1))
    owed.arrived |= {"e"}
    assert owed.newest() == 12, "sent, whenever its report came"


def test_a_transaction_is_owed_when_it_is_committed_and_then_as_a_whole(
    journal: Journal, owed: PendingRecords
) -> None:
    journal.add(sent("a", "x"), sent("b", "x"), sent("c", "y"), sent("d", "z"))
    journal.add(*(DeliveryReport(10, token, "ok", 0) for token in "abcd"))
    assert owed.count() == 0
    journal.add(
        TransactionEnded(20, "x", "committed"),
        TransactionEnded(21, "y", "aborted"),
        TransactionEnded(22, "z", "unknown"),
    )
    assert (owed.count(before=19), owed.count()) == (0, 2)


def test_what_a_reader_of_the_source_has_seen_is_owed_whatever_its_producer_was_told(
    journal: Journal, owed: PendingRecords
) -> None:
    journal.add(
        sent("a"), DeliveryReport(10, "a", "unknown"), sent("b", "z"), TransactionEnded(11, "z", "unknown")
    )
    journal.add(*(Seen(30, "source", "t", 0, n, token, CONTENT) for n, token in enumerate("ab")))
    assert owed.count() == 2
    owed.arrived |= {"a", "b"}
    assert owed.count() == 0


def test_what_the_mirror_has_given_up_is_not_waited_for(journal: Journal, owed: PendingRecords) -> None:
    journal.add(*(sent(token, partition=n) for n, token in enumerate("abc")))
    journal.add(*(DeliveryReport(10, token, "ok", 5) for token in "abc"))
    assert owed.count() == 3
    journal.add(Verdict(20, "gap", "t", 0, 3, 9), Verdict(20, "gap", "t", 1, 3, 5, "continue"))
    assert owed.count() == 2, "one is stopped; the gap of the other ends before its record"
    journal.add(Verdict(30, "gap", "t", 1, 3, 6, "continue"))
    assert owed.count() == 1
    journal.add(Verdict(40, "gap", "t", 0, 3, 5, "continue"))
    assert owed.count() == 2, "it resumed after a gap that ends before the record"


def test_topics_without_a_route_are_ignored(journal: Journal, owed: PendingRecords) -> None:
    journal.add(
        sent("a", topic="elsewhere"),
        DeliveryReport(10, "a", "ok", 0),
        sent("b"),
        DeliveryReport(11, "b", "ok", 0),
    )
    assert (owed.count(), owed.count(topic="t"), owed.count(topic="u")) == (1, 1, 0)


def test_what_is_given_up_with_a_topic_is_not_its_successors(journal: Journal, owed: PendingRecords) -> None:
    journal.add(replace(sent("a"), topic_id="old"), replace(sent("b"), topic_id="new"))
    journal.add(*(DeliveryReport(10, token, "ok", 5) for token in "ab"))
    journal.add(Verdict(20, "recreated", "t", 0, 3, -1, "continue", topic_id="old"))
    assert owed.count() == 1


def test_a_partition_that_must_resume_is_waited_for_while_it_is_stopped(
    journal: Journal, owed: PendingRecords
) -> None:
    journal.add(sent("a"), DeliveryReport(10, "a", "ok", 5), Verdict(20, "deleted", "t", 0, 3))
    assert owed.count() == 0
    owed.excuses_stops = False
    assert owed.count() == 1


def test_a_scenario_that_fails_keeps_what_may_tell_why(new_scenario: NewScenario, tmp_path: Path) -> None:
    """Brokers and their logs are gone soon; what was said and seen so far is judged."""
    scenario, _ = new_scenario()

    with pytest.raises(AssertionError, match="on purpose") as failed, scenario:
        writer = scenario.write(scenario.topics)
        eventually(lambda: writer.visible, "something was written")
        raise AssertionError("on purpose")

    (note,) = failed.value.__notes__
    assert str(tmp_path) in note
    assert History.read(tmp_path / "history.jsonl").of(Sent)
    assert "I1" in (tmp_path / "verdict.txt").read_text()
    assert (tmp_path / "mirror.log").exists()
    for side in get_args(Side):
        assert "Kafka" in (tmp_path / f"{side}-broker-0.log").read_text()


def test_processes_are_held_and_go_on_and_are_killed() -> None:
    one = subprocess.Popen(["sleep", "60"])
    try:
        with held([one.pid]):
            assert is_held(one.pid)
            (used,) = usage(7, {"sleeper": [one.pid], "absent": []})
        assert (used.at, used.process, used.threads) == (7, "sleeper", 1)
        assert used.memory > 0
        assert used.files >= 3
        kill([one.pid], signal.SIGTERM)
        assert one.wait(5) == -signal.SIGTERM
        assert not is_held(one.pid)
        assert usage(8, {"sleeper": [one.pid]}) == []
    finally:
        one.kill()
        one.wait()
