"""Two mirrors with one route, or with a circle of routes: refused, in one process and in two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic
from hypothesis import given
from hypothesis import strategies as st

from causeway.config import load
from causeway.core.cluster import Cluster
from causeway.core.ledger_record import RouteClaim, encode
from causeway.core.position import Place, Position, SourcePartition
from causeway.core.route import ClusterTopic
from causeway.core.task_order import ledger_topic
from causeway.errors import IntegrityError, PlanRefused
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledgers import other_ledgers
from causeway.planning.rules.route_conflicts import has_same_route, is_alive
from causeway.replication.run import Run
from support.records import Rec
from support.world import World, now_ms


def start(config: Path) -> Run:
    """Everything that a start does before Spark; refusals are raised."""
    run = Run(load(config, environ={}), [], False, lambda _mirror, _event: None)
    try:
        run.prepare()
    finally:
        for driver in run._drivers:
            driver._setup.control.close()
    return run


def other(world: World, **mirror: Any) -> Path:
    """The same mirror under another name, in another process."""
    return world.mirrors({"topics": [f"{world.mirror}\\..*"], "name": f"{world.mirror}-b", **mirror})


def claims(world: World, mirror: str = "") -> dict[str, str]:
    """Source topic → destination topic of the claims that hold."""
    every = world.ledger(mirror).claims.values()
    return {claim.topic: claim.to_topic for claim in every if claim.to_topic}


def test_two_mirrors_of_one_process(world: World) -> None:
    """The later one is refused, with the name of the earlier one; another topic name is another route."""
    topic = world.topic("t")
    route = {"topics": [topic]}
    with pytest.raises(PlanRefused) as refused:
        start(world.mirrors(route, route))
    (problem,) = refused.value.problems
    assert f'src:{topic}: mirror "{world.mirror}" also replicates it to topic {topic}' in problem
    assert "twice" in problem
    start(world.mirrors(route, {**route, "prefix": "other."}))


def test_two_mirrors_of_two_processes(world: World) -> None:
    """Also before anything is written, and whether or not the other one runs."""
    topic = world.topic("t", 2)
    start(world.config())
    assert claims(world) == {topic: topic}
    with pytest.raises(IntegrityError) as refused:
        start(other(world))
    assert f'mirror "{world.mirror}" also replicates it to topic {topic}' in refused.value.what
    assert ledger_topic(world.mirror) in refused.value.todo
    assert claims(world, f"{world.mirror}-b") == {}, "a refused route stays claimed, and would block others"
    start(world.config())
    start(other(world, prefix="other."))

    admin = world.admin("destination")
    ledger = ledger_topic(world.mirror)
    admin.delete_topics([ledger])[ledger].result()
    start(other(world))
    assert claims(world, f"{world.mirror}-b") == {topic: topic}


def test_a_recreated_topic_is_another_topic(world: World) -> None:
    """A mirror that starts again with a new name, into a new topic, repeats nothing."""
    topic = world.topic("t")
    start(world.config())
    admin = world.admin("destination")
    admin.delete_topics([topic])[topic].result()
    start(other(world))
    assert claims(world, f"{world.mirror}-b") == {topic: topic}


def test_the_ledger_of_an_older_version_has_only_positions(world: World) -> None:
    """They show a mirror that is new to the topic."""
    topic = world.topic("t")
    place = world.topic("t", on="destination")
    here, there = (
        ClusterView(Cluster(on, {"bootstrap.servers": world.servers[on]})) for on in ("source", "destination")
    )
    source = SourcePartition(here.cluster_id(), topic, 0)
    to = Place(place, there.describe([place])[place].topic_id, 0)
    position = Position(source, "id", 0, 0, -1, to, 0, -1, 1, 0)
    old = NewTopic(ledger_topic(f"{world.mirror}-old"), 2, 1, config={"cleanup.policy": "compact"})
    world.admin("destination").create_topics([old])[old.topic].result()
    key, value = encode(position)
    world.produce(old.topic, [(1, Rec(key, value, (), now_ms()))], on="destination")

    with pytest.raises(IntegrityError, match=f'mirror "{world.mirror}-old" also replicates it'):
        start(world.config())


CLAIM = RouteClaim("paris", "orders", "orders", "id", provenance=False, settled=True, at=1)
PLACED = Position(SourcePartition("paris", "orders", 3), "x", 0, 9, 2, Place("orders", "id", 3), 0, 9, 1, 1)


@pytest.mark.parametrize(
    ("claims", "positions", "begun", "same"),
    [
        ([CLAIM], [], False, True),
        ([CLAIM], [], True, True),
        ([replace(CLAIM, to_topic="copy")], [PLACED], False, False),
        ([replace(CLAIM, to_topic_id="another")], [PLACED], False, False),
        ([replace(CLAIM, to_topic="", to_topic_id="")], [PLACED], False, False),
        ([replace(CLAIM, topic="payments")], [], False, False),
        ([], [PLACED], False, True),
        ([], [PLACED], True, False),  # this mirror has begun with it: the other one may be retired
        ([], [replace(PLACED, place=Place("orders", "another", 3))], False, False),
        ([], [replace(PLACED, source=SourcePartition("rome", "orders", 3))], False, False),
    ],
)
def test_whether_another_ledger_has_the_route(
    claims: list[RouteClaim], positions: list[Position], begun: bool, same: bool
) -> None:
    result = has_same_route(CLAIM, {claim.source: claim for claim in claims}, positions, begun=begun)
    assert result is same


ACTS = ("returned", "visible", "reads")


@given(st.permutations("AAABBB"))
def test_of_two_mirrors_that_claim_a_topic_at_once_at_least_one_sees_the_other(turns: list[str]) -> None:
    """Each one's commit returns, its claim becomes visible, then it reads; another claim makes it withdraw.

    Never do both continue. (If a claim became visible only after the read, both would.)
    """
    ledgers: dict[str, dict[ClusterTopic, RouteClaim]] = {"A": {}, "B": {}}
    went_on = set()
    acts = {"A": iter(ACTS), "B": iter(ACTS)}
    for name in turns:
        act = next(acts[name])
        rival = ledgers["B" if name == "A" else "A"]
        if act == "returned":
            continue
        if act == "visible":
            ledgers[name][CLAIM.source] = replace(CLAIM, settled=False)
        elif has_same_route(CLAIM, rival, [], begun=False):
            ledgers[name][CLAIM.source] = replace(CLAIM, to_topic="", to_topic_id="")
        else:
            went_on.add(name)
    assert len(went_on) <= 1


def test_an_abandoned_route_can_be_claimed(world: World) -> None:
    first, second = world.topic("first"), world.topic("second")
    start(world.config([first, second]))
    start(world.config([first]))
    assert claims(world) == {first: first}
    start(world.mirrors({"topics": [second], "name": f"{world.mirror}-b"}))


def test_both_directions_in_two_processes(world: World) -> None:
    """With empty topics nothing else prevents it: without provenance, records would circulate for ever."""
    topic = world.topic("t")
    there = {"topics": [topic]}
    back = {**there, "name": f"{world.mirror}-back", "source": "dst", "destination": "src"}
    start(world.mirrors(there))

    with pytest.raises(PlanRefused) as refused:
        start(world.mirrors(back))

    (problem,) = refused.value.problems
    assert f"come back to it in a loop ({topic} → {topic} → {topic})" in problem
    assert f'the running mirror "{world.mirror}"' in problem
    start(world.mirrors({**there, "provenance": True}))
    start(world.mirrors({**back, "provenance": True}))


@pytest.mark.parametrize(
    ("beat", "begun", "alive"),
    [
        (0, 0, False),
        (-31, -500, False),
        (-29, -500, True),
        (-500, -119, True),
        (-31, -119, False),
        (5, 0, True),
    ],
)
def test_a_mirror_that_has_ended_makes_no_circle(beat: int, begun: int, alive: bool) -> None:
    """A mirror in the opposite direction is not refused once the old one has ended."""
    now = 1_000_000_000
    assert is_alive(beat and now + 1_000 * beat, begun and now + 1_000 * begun, now) is alive


def test_a_ledger_without_a_leader_is_reported() -> None:
    class Leaderless:
        def topic_names(self) -> list[str]:
            return ["orders", ledger_topic("mine"), ledger_topic("theirs"), "__causeway.theirs.offsets"]

        def offsets(self, _partitions: Any, _at: str) -> dict[tuple[str, int], int]:
            return {}

        def describe(self, _names: Any, **_how: Any) -> dict[str, Any]:
            return {}

    view: Any = Leaderless()
    (other,) = other_ledgers(view, "group", {"mine"}, ())
    assert (other.mirror, other.unread) == ("theirs", True)
