"""How a start fails: with the cause that the user can act on, and with its clients closed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from causeway.config import MirrorSettings
from causeway.core.cluster import Cluster
from causeway.errors import IntegrityError, Unreachable
from causeway.kafka.task_errors import Again, Fenced
from causeway.planning.topology import UNKNOWN, Topology
from causeway.replication import preparation
from causeway.replication.preparation import NOT_PREPARED, prepare

MIRROR = MirrorSettings(name="m", source=["paris"], destination="tokyo", topics=["t"])
SHORTAGE = SimpleNamespace(what="1 of 3 replicas is in sync", todo="start the others")


class Start:
    """A start whose clusters respond to everything before the ledger is read."""

    def __init__(self) -> None:
        self.closed = 0
        self.shortage: Any = None
        self.topology = Topology(at=1)
        destination = SimpleNamespace(cluster=Cluster("tokyo", {}), connect=lambda: None)
        self.setup: Any = SimpleNamespace(
            name="m",
            mirror=MIRROR,
            unsafe=(),
            filters=(),
            sources={},
            destination=destination,
            stop_at_end=False,
            schemas=None,
        )
        self.planner: Any = SimpleNamespace(topology=UNKNOWN, read_topology=self._read_topology)
        self.state: Any = SimpleNamespace(
            in_sync=SimpleNamespace(find=lambda _places: self.shortage),
            pools=SimpleNamespace(reject=lambda _rejected: None),
        )

    def _read_topology(self) -> None:
        self.planner.topology = self.topology

    def take_lease(self, *_asked: Any) -> tuple[Any, Any]:
        return None, SimpleNamespace(close=self._close)

    def _close(self) -> None:
        self.closed += 1


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    made = Start()
    monkeypatch.setattr(preparation, "refuse_timeout", lambda *_asked: None)
    monkeypatch.setattr(preparation, "_take_lease", made.take_lease)
    return made


def fail(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def begin(*_asked: Any) -> None:
        raise error

    monkeypatch.setattr(preparation, "_begin", begin)


@pytest.mark.parametrize("error", [Again("not acknowledged"), Fenced("a newer epoch")])
def test_a_failure_that_is_retried_later_is_an_error_at_the_start(
    start: Start, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fail(monkeypatch, error)
    with pytest.raises(Unreachable) as caught:
        prepare(start.setup, start.planner, start.state, 1)
    assert (caught.value.what, caught.value.where, caught.value.why) == (NOT_PREPARED, "m", str(error))
    assert start.closed == 1


def test_other_errors_are_raised_as_they_are_and_clients_are_closed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, IntegrityError("the ledger is older"))
    with pytest.raises(IntegrityError, match="the ledger is older"):
        prepare(start.setup, start.planner, start.state, 1)
    assert start.closed == 1


@pytest.mark.parametrize("error", [Again("not acknowledged"), Unreachable("no response", cluster="tokyo")])
def test_too_few_in_sync_replicas_are_named_as_the_cause(
    start: Start, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """No client reports them: it retries until its timeout."""
    fail(monkeypatch, error)
    start.shortage = SHORTAGE
    with pytest.raises(Unreachable) as caught:
        prepare(start.setup, start.planner, start.state, 1)
    assert (caught.value.why, caught.value.todo) == (SHORTAGE.what, SHORTAGE.todo)
    assert caught.value.cluster == "tokyo"


def test_a_cluster_that_does_not_respond_at_all_lacks_more_than_replicas(start: Start) -> None:
    def no_response() -> None:
        raise Unreachable("no response", cluster="tokyo")

    start.setup.destination.connect = no_response
    start.shortage = SHORTAGE
    with pytest.raises(Unreachable, match="no response"):
        prepare(start.setup, start.planner, start.state, 1)
