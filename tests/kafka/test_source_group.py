"""When a mirror commits to the source's consumer group, and what happens if the group does not respond."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from causeway.core.position import Place, Position, SourcePartition
from causeway.kafka import source_group
from causeway.kafka.source_group import SourceGroup
from support.process import eventually
from support.proxy import Proxy
from support.world import World

ONE, OTHER = SourcePartition("c", "t", 0), SourcePartition("c", "t", 1)


def at(source: SourcePartition, offset: int) -> Position:
    return Position(source, "id", 0, offset, -1, Place("t", "there", 0), 0, -1, 1, 0)


class View:
    """A source that responds when `respond` is called."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[tuple[int, int]], Future[Any]]] = []

    def request_group_commit(self, group: str, offsets: list[TopicPartition]) -> Future[Any]:
        assert group == "g"
        self.asked.append(([(offset.partition, offset.offset) for offset in offsets], Future()))
        return self.asked[-1][1]

    @property
    def offsets(self) -> list[list[tuple[int, int]]]:
        return [offsets for offsets, _ in self.asked]

    def respond(self, *failed: int) -> None:
        offsets, future = self.asked[-1]
        partitions = [
            SimpleNamespace(topic="t", partition=n, error="no" if n in failed else None) for n, _ in offsets
        ]
        future.set_result(SimpleNamespace(topic_partitions=partitions))


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> View:
    monkeypatch.setattr(source_group, "SECONDS", 0.0)
    return View()


def group(view: Any, name: str | None = "g") -> SourceGroup:
    return SourceGroup(view, name)


def test_an_unchanged_offset_is_not_committed_again(view: View) -> None:
    consumer_group = group(view)
    assert consumer_group.advance([at(ONE, 5), at(OTHER, 7)])
    view.respond()
    assert not consumer_group.advance([at(ONE, 5), at(OTHER, 7)])
    assert consumer_group.advance([at(ONE, 6), at(OTHER, 7)])
    assert view.offsets == [[(0, 5), (1, 7)], [(0, 6)]]


def test_there_is_one_group_commit_in_flight_at_a_time(view: View) -> None:
    """Requests to an unreachable coordinator do not pile up."""
    consumer_group = group(view)
    consumer_group.advance([at(ONE, 5)])
    assert not consumer_group.advance([at(ONE, 6)])
    assert not consumer_group.advance([at(ONE, 7)], final=True)
    view.respond()
    assert consumer_group.advance([at(ONE, 7)])
    assert view.offsets == [[(0, 5)], [(0, 7)]]


def test_a_rejected_offset_is_committed_again(view: View) -> None:
    consumer_group = group(view)
    consumer_group.advance([at(ONE, 5), at(OTHER, 7)])
    view.respond(1)
    assert consumer_group.advance([at(ONE, 5), at(OTHER, 7)])
    view.asked[-1][1].set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    assert consumer_group.advance([at(ONE, 5), at(OTHER, 7)])
    assert view.offsets[1:] == [[(1, 7)], [(1, 7)]]


def test_the_group_is_committed_at_intervals_and_at_the_end(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_group, "SECONDS", math.inf)
    consumer_group = group(view)
    assert consumer_group.advance([at(ONE, 5)])
    view.respond()
    assert not consumer_group.advance([at(ONE, 6)])
    assert consumer_group.advance([at(ONE, 6)], final=True)


def test_the_end_waits_for_a_commit_in_flight_but_not_for_ever(view: View) -> None:
    consumer_group = group(view)
    consumer_group.settle(60)
    consumer_group.advance([at(ONE, 5)])
    consumer_group.settle(0.01)
    view.respond()
    consumer_group.settle(60)
    assert not consumer_group.advance([at(ONE, 5)])


def test_without_a_group_nothing_is_committed(view: View) -> None:
    consumer_group = group(view, None)
    assert not consumer_group.advance([at(ONE, 5)], final=True)
    consumer_group.settle(60)
    assert not view.asked


ASKING = """
import sys
from confluent_kafka import TopicPartition
from causeway.kafka.admin import ClusterView
from causeway.core.cluster import Cluster
view = ClusterView(Cluster("src", {"bootstrap.servers": sys.argv[1]}))
asked = view.request_group_commit(sys.argv[2], [TopicPartition(sys.argv[2], 0, 7)])
print(asked.result(60).topic_partitions[0].error)
"""


def commits(world: World, group: str, offset: int) -> bool:
    wanted = [ConsumerGroupTopicPartitions(group, [TopicPartition(group, 0, offset)])]
    (response,) = world.admin().alter_consumer_group_offsets(wanted).values()
    try:
        return not any(partition.error for partition in response.result().topic_partitions)
    except KafkaException:
        return False


def test_a_group_commit_survives_a_lost_connection(world: World) -> None:
    """In its own process: a client that had dropped the request would fail an assertion at the response."""
    topic = world.topic("t")
    eventually(lambda: commits(world, topic, 3), "the group's coordinator has loaded")
    line = Proxy()
    try:
        line.target(int(world.servers["source"].rpartition(":")[2]))
        line.mute("requests")
        asking = subprocess.Popen(
            [sys.executable, "-c", ASKING, f"127.0.0.1:{line.port}", topic],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        eventually(lambda: line.stopped["requests"] > 1, "it gives a connection up")
        line.heal()
        output, _ = asking.communicate(timeout=60)
    finally:
        line.close()
    assert (asking.returncode, output) == (0, "None\n")
    admin = world.admin()
    (group,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic)]).values()
    assert [partition.offset for partition in group.result().topic_partitions] == [7]
