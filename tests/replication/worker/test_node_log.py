"""What a shard writes to the ledger about the nodes that it reads."""

from __future__ import annotations

import pytest

from causeway.core.control_records import NodeRequest
from causeway.core.pool_health import NodeSwitch
from causeway.core.shard_records import NodeMoved, NodeRequestDone
from causeway.replication.worker import node_log
from causeway.replication.worker.node_log import NodeLog
from causeway.replication.worker.task_state import TaskState

DEAD = NodeSwitch(5.0, "a", "b", "dead", "a is dead (no response)")
MOVED = NodeMoved(3, "p", "a", "b", "dead", "a is dead (no response)", 1_000)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> NodeLog:
    monkeypatch.setattr(node_log, "now_ms", lambda: 1_000)
    return NodeLog(3, TaskState())


def test_a_move_is_written_at_once_and_again_with_its_pause(log: NodeLog) -> None:
    log.committed(900, delivered=True)
    assert not log.due
    log.switched("p", DEAD)
    assert log.due
    assert list(log.records(1_100, delivered=False)) == [MOVED]
    log.committed(1_100, delivered=False)
    assert not log.due
    assert list(log.records(1_200, delivered=False)) == []
    (again,) = log.records(1_300, delivered=True)
    assert isinstance(again, NodeMoved)
    assert (again.pause_ms, again.key()) == (400, MOVED.key())
    log.committed(1_300, delivered=True)
    assert list(log.records(1_400, delivered=True)) == []


def test_a_commit_that_failed_writes_the_move_again(log: NodeLog) -> None:
    log.committed(900, delivered=True)
    log.switched("p", DEAD)
    log.records(1_100, delivered=True)
    (again,) = log.records(1_500, delivered=True)
    assert isinstance(again, NodeMoved)
    assert again.pause_ms == 600


def test_without_a_record_before_the_pause_is_not_known(log: NodeLog) -> None:
    log.switched("p", DEAD)
    assert list(log.records(1_100, delivered=True)) == [MOVED]


def test_no_node_and_one_again_are_moves_too(log: NodeLog) -> None:
    log.switched("p", NodeSwitch(5.0, "a", None, "dead", "why"))
    log.switched("p", NodeSwitch(6.0, None, "a", "resumed", "why"))
    records = [record for record in log.records(1_100, delivered=False) if isinstance(record, NodeMoved)]
    assert [(record.left, record.to, record.reason) for record in records] == [
        ("a", "", "dead"),
        ("", "a", "resumed"),
    ]


def test_what_became_of_a_request_is_written_once(log: NodeLog) -> None:
    log.executed(NodeRequest("p", "b", "ann", 700), "refused", "a", "b is short")
    assert log.due
    assert list(log.records(1_100, delivered=False)) == [
        NodeRequestDone(3, "p", 700, "refused", "a", "b is short", 1_000)
    ]
    log.committed(1_100, delivered=False)
    assert not log.due
    assert list(log.records(1_200, delivered=False)) == []
