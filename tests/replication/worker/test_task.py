"""What a task does if the ledger does not contain what its order expects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from causeway.kafka.task_errors import Again
from causeway.replication.worker.attempt import Attempt
from causeway.replication.worker.node_log import NodeLog
from causeway.replication.worker.source_nodes import SourceNodes
from causeway.replication.worker.task import serve_order
from causeway.replication.worker.task_state import TaskState
from support.ordering import order_of
from support.world import World


def test_a_ledger_before_the_committed_position_is_not_resumed_from(world: World) -> None:
    topic = world.topic("t")
    world.topic("t", on="destination")
    world.produce(topic, world.numbers(100))
    order = order_of(world, topic, 100)
    assert serve_order(order).outcome == "done"
    world.produce(topic, world.numbers(50))
    (lane,) = order.lanes

    ahead = serve_order(replace(order, lanes=(replace(lane, until=150, reached=101),)), pause=lambda _: None)

    assert ahead.outcome == "broken"
    assert ahead.error is not None
    assert (ahead.error.code, ahead.error.where) == ("integrity", f"{order.ledger}[1]")
    assert "has lost" in ahead.error.what
    assert "at 100, it was at 101 before" in ahead.error.why
    assert ahead.error.todo
    assert len(world.read(topic)[0]) == 100
    as_known = serve_order(replace(order, lanes=(replace(lane, until=150, reached=100),)))
    assert as_known.outcome == "done"
    assert world.read(topic) == world.read(topic, "source")


def test_a_ledger_without_a_known_position_is_not_started_again(world: World) -> None:
    topic = world.topic("t")
    world.topic("t", on="destination")
    world.produce(topic, world.numbers(10))
    order = order_of(world, topic, 10)
    (lane,) = order.lanes
    known = serve_order(replace(order, lanes=(replace(lane, reached=0),)), pause=lambda _: None)
    assert known.outcome == "broken"
    assert known.error is not None
    assert "at no offset" in known.error.why
    assert world.read(topic) == {0: []}


def test_a_tasks_own_commits_must_be_in_the_ledger(world: World) -> None:
    """An order is older than what its task has replicated since."""
    topic = world.topic("t")
    world.topic("t", on="destination")
    world.produce(topic, world.numbers(10))
    order = order_of(world, topic, 10)
    (lane,) = order.lanes
    memory = TaskState()
    first = Attempt(order, memory, SourceNodes(order, NodeLog(order.shard, memory)), None)
    assert first.run() == "done"
    first.close()
    assert memory.positions[lane.source].offset == 10
    memory.positions[lane.source] = replace(memory.positions[lane.source], offset=11)
    second = Attempt(order, memory, SourceNodes(order, NodeLog(order.shard, memory)), None)
    try:
        with pytest.raises(Again, match="at 10, it was at 11 before"):
            second.run()
    finally:
        second.close()
