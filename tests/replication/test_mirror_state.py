"""Which state is displayed, since when, and which cluster a mirror waits for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import Heartbeat
from causeway.core.plan import Plan
from causeway.core.snapshot import EventView
from causeway.errors import AccessDenied, Unreachable
from causeway.replication.event_log import EventLog
from causeway.replication.mirror_state import MirrorState, Side

MIRROR = MirrorSettings(name="m", source=["paris", "rome"], destination="tokyo", topics=["t"])


def beat(shard: int) -> Heartbeat:
    return Heartbeat(shard, 7, 1, 1, "host", 1)


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def state(reported: list[str]) -> MirrorState:
    def say(_mirror: str, event: EventView) -> None:
        reported.append(event.what)

    def view(alias: str) -> Any:
        return SimpleNamespace(cluster=Cluster(alias, {}), cluster_id=lambda: f"{alias}-id")

    setup: Any = SimpleNamespace(
        name="m",
        mirror=MIRROR,
        sources={alias: view(alias) for alias in MIRROR.source},
        destination=view("tokyo"),
        control=SimpleNamespace(lease=7),
    )
    planner: Any = SimpleNamespace(plan=Plan((), (), {}))
    return MirrorState(setup, planner, EventLog("m", say), "configuration")


def shown(state: MirrorState) -> str:
    return state.status.view.state


def running(state: MirrorState) -> None:
    state.ordered([1])
    state.heartbeat(beat(1))
    state.settle("running")
    assert shown(state) == "running"


def test_a_mirror_runs_once_every_shard_that_was_ordered_has_sent_a_heartbeat(state: MirrorState) -> None:
    state.settle("running")
    assert shown(state) == "starting", "nothing was ordered"
    state.ordered([1, 2])
    assert not state.heartbeat(beat(1))
    state.settle("running")
    assert shown(state) == "starting"
    assert state.heartbeat(beat(2))
    state.settle("running")
    assert shown(state) == "running"
    state.ordered([1, 2, 3])
    state.settle("running")
    assert shown(state) == "running", "a shard that comes later does not make it start again"


@pytest.mark.parametrize(
    ("side", "cluster", "waits", "named"),
    [
        ("source", "rome", "source", "rome"),
        ("source", "tokyo", "destination", "tokyo"),  # planning queries both sides
        ("source", "", "source", "a source"),
        ("destination", "", "destination", "tokyo"),
        ("destination", "tokyo", "destination", "tokyo"),
    ],
)
def test_the_error_names_the_cluster_that_the_mirror_waits_for(
    state: MirrorState, side: Side, cluster: str, waits: Side, named: str
) -> None:
    running(state)
    state.wait_for(side, cluster)
    assert (shown(state), state.status.view.waiting_for) == ("waiting", named)
    assert state.waits_for(waits)
    state.responded("source" if waits == "destination" else "destination")
    assert shown(state) == "waiting", "the other side has responded all the time"
    state.responded(waits)
    assert shown(state) == "running"


def test_another_cluster_that_does_not_respond_is_shown_at_once(state: MirrorState) -> None:
    running(state)
    state.wait_for("source", "paris")
    since = state.status.view.state_since
    state.wait_for("source", "rome")
    assert (state.status.view.waiting_for, state.status.view.state_since) == ("rome", since)


def test_a_response_is_shown_at_once_with_its_event(state: MirrorState, reported: list[str]) -> None:
    """Without waiting for the next measurement: the page would show a state that is over."""
    running(state)
    state.wait_for("source", "rome")
    state.responded("source")
    view = state.status.view
    assert (view.state, view.waiting_for) == ("running", "")
    assert [event.what for event in view.events] == reported == ["the source responds again"]
    state.responded("source")
    assert len(reported) == 1


def test_waiting_ends_in_the_state_that_was_settled_meanwhile(state: MirrorState) -> None:
    running(state)
    state.wait_for("destination", "tokyo")
    state.settle("paused")
    assert shown(state) == "waiting"
    state.responded("destination")
    assert shown(state) == "paused"


@pytest.mark.parametrize("ended", ["done", "stopped", "failed"])
def test_a_mirror_that_has_ended_stays_ended(state: MirrorState, ended: Any) -> None:
    state.ordered([1])
    state.settle(ended)
    assert state.heartbeat(beat(1))
    state.settle("running")
    assert shown(state) == ended


def test_why_a_cluster_refuses_the_mirror_is_shown_until_it_responds(
    state: MirrorState, reported: list[str]
) -> None:
    running(state)
    state.wait_for("source", "paris", Unreachable("no response"))
    assert state.status.view.waiting_why == ""
    denied = AccessDenied("connecting: access denied", why="wrong password", todo="correct it")
    assert not state.waits_because_of(denied)
    state.wait_for("source", "paris", denied)
    view = state.status.view
    assert (view.state, view.waiting_for) == ("waiting", "paris")
    assert "wrong password" in view.waiting_why
    assert view.waiting_todo == "correct it"
    assert state.waits_because_of(denied)
    state.responded("source")
    assert (state.status.view.waiting_why, shown(state)) == ("", "running")
    assert reported[-1] == "the source responds again"
