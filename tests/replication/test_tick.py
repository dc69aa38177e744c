"""The results of a check of both sides: a cluster to wait for, a slice to cut short, a pause."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.config import MirrorSettings
from causeway.core.ledger_record import LedgerRecord, NodeRequest, NodeRequestDone, Paused
from causeway.core.plan import Plan
from causeway.core.pool_snapshot import SourcePoolView
from causeway.errors import AccessDenied, IntegrityError, PlanRefused, Superseded, Unreachable
from causeway.kafka.task_errors import Again
from causeway.replication.cut_reason import CutCause
from causeway.replication.event_log import EventLog
from causeway.replication.liveness import STARTING_SECONDS, Liveness
from causeway.replication.tick import PauseRequest, Ticker

MIRROR = MirrorSettings(name="m", source=["paris"], destination="tokyo", topics=["t"])


def nothing(*_asked: Any, **_more: Any) -> None:
    return None


class Scene:
    """A ticker whose clusters respond, until a test replaces one of these functions."""

    def __init__(self) -> None:
        self.reported: list[str] = []
        self.waits: list[tuple[str, str]] = []
        self.responses: list[str] = []
        self.written: list[LedgerRecord] = []
        self.requests: deque[PauseRequest | NodeRequest] = deque()
        self.liveness = Liveness()
        self.ledger_state = SimpleNamespace(paused=None)
        self.poll: Callable[[float], list[LedgerRecord]] = lambda _seconds: []
        self.record: Callable[[list[LedgerRecord]], None] = self._record
        self.check_topic: Callable[[Any], None] = nothing
        self.check_lease: Callable[[str], None] = nothing
        self.fetch_log_ends: Callable[[Any], None] = nothing
        self.nodes_changed = ""
        self.waits_because: Exception | None = None
        self.changed: Callable[..., bool] = lambda _ledger, *, starting: False
        self.state = SimpleNamespace(
            events=EventLog("m", lambda _mirror, event: self.reported.append(event.what)),
            in_sync=SimpleNamespace(watch=nothing, short=None, hides_heartbeats=False),
            current="running",
            slice_number=3,
            fetch_log_ends=lambda state: self.fetch_log_ends(state),
            measure=nothing,
            responded=self.responses.append,
            wait_for=self._wait_for,
            waits_because_of=self._waits_because_of,
            waits_for=lambda _side: False,
            pools=SimpleNamespace(
                settle=lambda _ledger, _events: self.nodes_changed, without_node=None, apply=nothing
            ),
        )

    def _waits_because_of(self, error: Exception | None) -> bool:
        return bool(self.state.current == "waiting") and error is self.waits_because

    def _wait_for(self, side: str, cluster: str, error: Exception | None = None) -> None:
        self.waits.append((side, cluster))
        self.waits_because = error

    def _record(self, records: list[LedgerRecord]) -> None:
        self.written += records
        for record in records:
            if isinstance(record, Paused):
                self.ledger_state.paused = record

    def ticker(self) -> Ticker:
        scene = self

        class Ledger:
            state = scene.ledger_state
            reader = SimpleNamespace(poll=lambda seconds: scene.poll(seconds))

            @property
            def paused_by(self) -> str:
                return scene.ledger_state.paused.by if scene.ledger_state.paused else ""

            def record(self, records: list[LedgerRecord]) -> None:
                scene.record(records)

            def check_topic(self, view: Any) -> None:
                scene.check_topic(view)

            def check_lease(self, mirror: str) -> None:
                scene.check_lease(mirror)

        control = SimpleNamespace(heartbeat=nothing, notices=[])
        setup: Any = SimpleNamespace(
            name="m", mirror=MIRROR, destination=None, control=control, next_node=lambda _cluster: False
        )
        run = SimpleNamespace(lease=7, shards=2)
        prepared: Any = SimpleNamespace(ledger=Ledger(), run=run, until=None)
        planner: Any = SimpleNamespace(
            plan=Plan((), (), {}),
            changed=lambda ledger, *, starting: scene.changed(ledger, starting=starting),
        )
        state: Any = self.state
        return Ticker(setup, prepared, planner, state, self.liveness, self.requests)


def raises(error: Exception) -> Callable[..., Any]:
    def fail(*_asked: Any, **_more: Any) -> None:
        raise error

    return fail


def test_both_sides_are_checked() -> None:
    scene = Scene()
    assert scene.ticker().tick(0) is None
    assert (scene.responses, scene.waits, scene.reported) == (["destination", "source"], [], [])


@pytest.mark.parametrize(
    ("error", "cluster"),
    [
        (Unreachable("listing topics: no response", where='cluster "tokyo"', cluster="tokyo"), "tokyo"),
        (Again("not acknowledged", cluster="tokyo"), "tokyo"),
        (Unreachable('topics of "tokyo"', cluster="paris"), "paris"),  # the text decides nothing
        (Unreachable('no response from "tokyo"'), ""),
    ],
)
def test_the_mirror_waits_for_the_cluster_of_the_error(error: Exception, cluster: str) -> None:
    scene = Scene()
    scene.changed = raises(error)
    assert scene.ticker().tick(0) is None
    assert scene.waits == [("source", cluster)]
    assert scene.reported == [f"waiting for a response: {error}"]


def test_a_destination_that_does_not_respond_hides_no_source() -> None:
    scene = Scene()
    scene.poll = raises(Unreachable("no response", cluster="tokyo"))
    assert scene.ticker().tick(0) is None
    assert scene.waits == [("destination", "tokyo")]
    assert scene.responses == ["source"]


def test_while_it_waits_the_same_error_is_not_repeated() -> None:
    scene = Scene()
    scene.poll = raises(Unreachable("no response", cluster="tokyo"))
    ticker = scene.ticker()
    ticker.tick(0)
    scene.state.current = "waiting"
    ticker.tick(0)
    assert len(scene.reported) == 1


def test_a_refusal_is_reported_at_once_though_the_mirror_waits_already() -> None:
    scene = Scene()
    scene.poll = raises(Unreachable("no response", cluster="tokyo"))
    ticker = scene.ticker()
    ticker.tick(0)
    scene.state.current = "waiting"
    denied = AccessDenied("access denied", why="wrong password", cluster="tokyo")
    scene.poll = raises(denied)
    ticker.tick(0)
    ticker.tick(0)
    assert scene.reported == [
        "waiting for a response: no response",
        "waiting for access: access denied · wrong password",
    ]


@pytest.mark.parametrize("error", [Superseded("a newer one"), PlanRefused("no"), IntegrityError("other ids")])
def test_an_error_that_waiting_cannot_solve_is_raised(error: Exception) -> None:
    scene = Scene()
    scene.changed = raises(error)
    with pytest.raises(type(error)):
        scene.ticker().tick(0)
    assert not scene.waits


def test_a_replaced_ledger_is_the_error_that_is_raised() -> None:
    scene = Scene()
    ticker = scene.ticker()
    assert ticker.tick(0) is None
    scene.check_topic = raises(IntegrityError("the ledger was replaced"))
    scene.check_lease = raises(IntegrityError("a record that is not understood"))
    with pytest.raises(IntegrityError, match="the ledger was replaced"):
        ticker.tick(0)


def test_changed_topics_cut_the_slice() -> None:
    scene = Scene()
    scene.changed = lambda _ledger, *, starting: not starting
    reason = scene.ticker().tick(0)
    assert reason is not None
    assert (reason.cause, str(reason)) == (CutCause.TOPICS_CHANGED, "topics or partitions changed")


def test_a_node_that_was_away_cuts_the_slice_even_if_no_other_one_responds() -> None:
    scene = Scene()
    scene.nodes_changed = "pool p: b can be read from now"
    scene.fetch_log_ends = raises(Unreachable("no response", cluster="a"))
    reason = scene.ticker().tick(0)
    assert reason is not None
    assert (reason.cause, str(reason)) == (CutCause.NODES_CHANGED, "pool p: b can be read from now")


def test_a_pool_without_a_node_is_waited_for_although_its_nodes_respond() -> None:
    scene = Scene()
    ticker = scene.ticker()
    why = "no node of the pool p can be read from: a is short (t[0]: …)"
    scene.state.pools.without_node = SourcePoolView("p", (), no_node=why)
    assert ticker.tick(0) is None
    assert (scene.waits, scene.responses, scene.reported) == ([("source", "p")], ["destination"], [why])


def test_a_request_for_a_node_is_written_and_its_result_reported() -> None:
    scene = Scene()
    request = NodeRequest("p", "b", "ann", 5)
    scene.requests.append(request)
    done = NodeRequestDone(2, "p", 5, "refused", "a", "b is dead (no response)", 6)
    scene.poll = lambda _seconds: [done]
    assert scene.ticker().tick(0) is None
    assert scene.written == [request]
    assert scene.reported == [
        "pool p: refused, reading from a: b is dead (no response)",
        "pool p: b requested by ann",
    ]


def test_a_slice_that_ends_anyway_needs_no_source() -> None:
    scene = Scene()
    scene.changed = scene.fetch_log_ends = raises(AssertionError("a source was asked"))
    assert scene.ticker().tick(0, leaving=True) is None


def test_a_pause_is_written_once_and_cuts_the_slice() -> None:
    scene = Scene()
    ticker = scene.ticker()
    scene.requests += [PauseRequest(paused=True, by="ada"), PauseRequest(paused=True, by="bob")]
    reason = ticker.tick(0)
    assert reason is not None
    assert reason.cause is CutCause.PAUSED
    assert [record.by for record in scene.written if isinstance(record, Paused)] == ["ada"]
    scene.requests.append(PauseRequest(paused=False, by="bob"))
    assert ticker.tick(0) is None
    assert scene.reported == ["paused by ada", "resumed by bob"]


def test_a_request_that_could_not_be_written_is_kept() -> None:
    scene = Scene()
    ticker = scene.ticker()
    write, scene.record = scene.record, raises(Again("not acknowledged", cluster="tokyo"))
    scene.requests.append(PauseRequest(paused=True, by="ada"))
    ticker.tick(0)
    assert scene.waits == [("destination", "tokyo")]
    scene.record = write
    ticker.tick(0)
    assert (len(scene.written), len(scene.requests)) == (1, 0)


@pytest.mark.parametrize("shown", ["running", "waiting"])
def test_a_silent_shard_cuts_the_slice_unless_the_mirror_waits_for_a_cluster(
    monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    scene, now = Scene(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    scene.state.current = shown
    scene.liveness.begin([1, 2])
    scene.liveness.on_warning(2, "no leader", why_silent=False)
    now[0] += STARTING_SECONDS + 10 * MIRROR.transaction_timeout
    scene.liveness.on_heartbeat(1, 3, 0.0)
    reason = scene.ticker().tick(0)
    if shown == "waiting":
        assert reason is None
        return
    assert reason is not None
    assert reason.cause is CutCause.NO_HEARTBEAT
    assert str(reason).startswith("no heartbeat from shard 2 for ")
    assert str(reason).endswith("(its last warning: no leader)")
