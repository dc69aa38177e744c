"""A node that was away at the start, and one that is another cluster now."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.cluster import Cluster
from causeway.core.control_records import PoolMembers
from causeway.core.snapshot import EventView
from causeway.core.source_pool import PoolNode, SourcePool
from causeway.kafka.task_errors import Again
from causeway.replication import pool_membership
from causeway.replication.event_log import EventLog
from causeway.replication.pool_membership import PoolMembership


class Scene:
    """A pool of two nodes; the ledger knows the first one."""

    def __init__(self) -> None:
        nodes = (PoolNode(Cluster("a", {}), "A"), PoolNode(Cluster("b", {}), ""))
        self.pool = SourcePool("p", "A", nodes)
        self.cluster = nodes[0].cluster
        self.known = {"p": PoolMembers("p", "A", {"a": "A"}, 1)}
        self.written: list[PoolMembers] = []
        self.responses: dict[str, str] = {}
        self.reported: list[tuple[str, str]] = []
        self.fails = False

        def say(_mirror: str, event: EventView) -> None:
            self.reported.append((event.level, event.what))

        self.events = EventLog("m", say)

    def settle(self, pool: SourcePool) -> None:
        self.pool = pool

    def record(self, records: list[PoolMembers]) -> None:
        if self.fails:
            raise Again("not acknowledged")
        self.written += records
        self.known = {record.name: record for record in records}

    @property
    def ids(self) -> dict[str, str]:
        return {node.name: node.cluster_id for node in self.pool.nodes}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def membership(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> PoolMembership:
    fake = SimpleNamespace(ask=lambda: None, responses=lambda: scene.responses)
    monkeypatch.setattr(pool_membership, "NodeIds", lambda _nodes: fake)
    view: Any = scene
    return PoolMembership(view)


def settled(membership: PoolMembership, scene: Scene, **responses: str) -> str:
    scene.responses = responses
    ledger: Any = SimpleNamespace(state=SimpleNamespace(pools=scene.known), record=scene.record)
    return membership.settle(ledger, scene.events)


def test_a_node_that_responds_for_the_first_time_is_added(membership: PoolMembership, scene: Scene) -> None:
    assert settled(membership, scene) == ""
    assert settled(membership, scene, a="A", b="B") == "pool p: b can be read from now"
    assert scene.ids == {"a": "A", "b": "B"}
    assert [record.members for record in scene.written] == [{"a": "A", "b": "B"}]
    assert settled(membership, scene, a="A", b="B") == "", "once"
    assert len(scene.written) == 1


def test_what_could_not_be_written_is_tried_again(membership: PoolMembership, scene: Scene) -> None:
    scene.fails = True
    with pytest.raises(Again):
        settled(membership, scene, b="B")
    assert scene.ids["b"] == "", "no task reads it before the ledger knows it"
    scene.fails = False
    assert settled(membership, scene, b="B") == "pool p: b can be read from now"


def test_another_cluster_is_reported_once_and_not_read_any_more(
    membership: PoolMembership, scene: Scene
) -> None:
    assert settled(membership, scene, a="X") == "pool p: a is not read any more"
    assert scene.ids == {"a": "", "b": ""}
    assert "another cluster than before" in membership.rejected["a"]
    assert settled(membership, scene, a="X") == ""
    errors = [what for level, what in scene.reported if level == "error"]
    assert len(errors) == 1
    assert scene.written == []
    assert settled(membership, scene, b="B") == "pool p: b can be read from now"
    assert "a" in membership.rejected, "although it does not respond"
    assert settled(membership, scene, a="A") == "pool p: a can be read from now"
    assert membership.rejected == {}
