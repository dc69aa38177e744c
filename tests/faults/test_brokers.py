"""Brokers that die, go, come back and hand over, on either side: nothing is lost, nothing comes twice.

Three brokers on one side at a time, one on the other. Every topic has three replicas, two of which must
have a record before it counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from causeway.core.cluster import Cluster
from causeway.core.ledger_record import CONTROL
from causeway.core.task_order import ledger_topic, offset_map_topic, transactional_id
from causeway.kafka.admin import ClusterView
from causeway.local_kafka import Broker, EmbeddedCluster
from faults.brokers import TRANSACTION_STATE, Brokers, coordinating_partition
from faults.events import Side, Terms
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
from support.process import Causeway, eventually

TRANSACTION_SECONDS = 5
BUT_REPEATS = ("I1", "I2", "I3", "I5", "I6", "I8", "I9", "I11", "I12")
"""What at-least-once promises: each attempt while a broker is away may repeat a batch (I4)."""


class Sides(NamedTuple):
    source: EmbeddedCluster
    destination: EmbeddedCluster
    side: Side  # the one with three brokers
    brokers: Brokers

    def mirror(self, directory: Path, **keys: Any) -> CausewayMirror:
        timeout = f"{TRANSACTION_SECONDS}s"
        copies = len(self.destination.brokers)
        return CausewayMirror(
            directory, self.source, self.destination, transaction_timeout=timeout,
            replication_factor=copies, **keys,
        )  # fmt: skip


@pytest.fixture(scope="module")
def with_three(
    source: EmbeddedCluster, destination: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Side], Sides]]:
    """Three brokers on the side that is asked for, up and in sync; they stay until the other side is."""
    now: list[Sides] = []
    with contextlib.ExitStack() as running:

        def sides(side: Side) -> Sides:
            if not now or now[0].side != side:
                running.close()
                directory = tmp_path_factory.mktemp(f"three-{side}")
                three = running.enter_context(EmbeddedCluster.start("three", 3, directory=directory))
                here, there = (three, destination) if side == "source" else (source, three)
                now[:] = [Sides(here, there, side, Brokers(three))]
            now[0].brokers.heal()
            return now[0]

        yield sides


Injection = Callable[[Scenario, CausewayMirror, Sides], None]


def leader_killed(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """kill -9 of the leader of a partition; the others replicate on, and it comes back."""
    broker = sides.brokers.leader(_a_topic(scenario, mirror, sides))
    with scenario.fault(f"kill -9 of a leader on the {sides.side}"), sides.brokers.without(broker):
        scenario.advances()


def leader_lost(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """The same, and it stays away."""
    with scenario.fault(f"loss of a leader on the {sides.side}"):
        sides.brokers.kill(sides.brokers.leader(_a_topic(scenario, mirror, sides)))


def leader_stopped(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    broker = sides.brokers.leader(_a_topic(scenario, mirror, sides))
    with (
        scenario.fault(f"clean stop of a leader on the {sides.side}"),
        sides.brokers.without(broker, clean=True),
    ):
        scenario.advances()


def leader_held(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """SIGSTOP: its connections stay open, and it wakes up as a leader of what others lead by then."""
    broker = sides.brokers.leader(_a_topic(scenario, mirror, sides))
    with scenario.fault(f"SIGSTOP of a leader on the {sides.side}"), sides.brokers.held(broker):
        scenario.advances()


def controller_killed(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """kill -9 of the quorum's leader; another one leads, and it comes back as a voter."""
    broker = sides.brokers.controller()
    with scenario.fault(f"kill -9 of the controller of the {sides.side}"), sides.brokers.without(broker):
        scenario.until(lambda: sides.brokers.controller() is not broker, "another one leads the quorum")
        scenario.advances()


def replicas_moved(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """Each partition is taken from its leader, and given back when another one leads."""
    topic = _a_topic(scenario, mirror, sides)
    with scenario.fault(f"reassignment on the {sides.side}"), sides.brokers.moved(topic):
        scenario.advances()


def leaders_elected(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """After a broker was away, all that it led is given back at once."""
    with scenario.fault(f"election of preferred leaders on the {sides.side}"):
        assert sides.brokers.elect(), "every leader is who it was: this was no fault"


def coordinator_lost(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """kill -9 of the broker that keeps a running shard's transactions, and leads partitions besides."""
    broker = sides.brokers.coordinator(transactional_id(mirror.name, 1))
    led = [at for at, facts in sides.brokers.partitions(scenario.topics).items() if facts.leader == broker.id]
    assert led, "four partitions on three brokers: each leads one"
    with scenario.fault("loss of a transaction coordinator"):
        sides.brokers.kill(broker)


def all_restarted(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    with scenario.fault(f"rolling restart of the {sides.side}"):
        sides.brokers.roll()


def all_away(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """kill -9 of all, for longer than a transaction may take."""
    with scenario.fault(f"all brokers of the {sides.side} away"), sides.brokers.all_away():
        gone = scenario.journal.now()
        scenario.until(lambda: "waiting for a response" in mirror.output, "it says that it waits")
        scenario.until(
            lambda: scenario.journal.now() - gone > 2_000 * TRANSACTION_SECONDS,
            "any transaction has timed out",
        )


def too_few_in_sync(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """The leader lives, and takes nothing: fewer replicas than must have a record have any."""
    topic = _a_topic(scenario, mirror, sides)
    leader = sides.brokers.leader(topic)
    with scenario.fault("too few in sync"), sides.brokers.none_beside(leader):
        (facts, *_) = sides.brokers.partitions([topic]).values()
        assert facts.leader == leader.id
        assert facts.in_sync == {leader.id}
        since = scenario.journal.now()
        scenario.until(lambda: scenario.unseen.count() > 100, "records pile up")
        before = scenario.unseen.seen
        scenario.until(
            lambda: scenario.journal.now() - since > 2_000 * TRANSACTION_SECONDS,
            "any transaction has timed out",
        )
        assert scenario.unseen.seen == before, "nothing counts that one broker alone has"
        _says_what_is_short(scenario, mirror, "1 in-sync replica of 3, min.insync.replicas is 2")
    scenario.until(
        lambda: "no partition lacks in-sync replicas now" in mirror.output, "it says that it is over"
    )


def all_must_have_it(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """A topic wants all three replicas, and one broker is down: ledger and transactions continue."""
    topic = _a_topic(scenario, mirror, sides)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    wanted = ConfigEntry("min.insync.replicas", "3", incremental_operation=AlterConfigOpType.SET)
    resource.add_incremental_config(wanted)
    for future in sides.brokers.admin.incremental_alter_configs([resource]).values():
        future.result()
    leader = sides.brokers.leader(topic)
    (broker, *_) = [one for one in sides.brokers.cluster.brokers if one is not leader]
    with (
        scenario.fault("one of three is away, and three are needed"),
        sides.brokers.without(broker, clean=True),
    ):
        _says_what_is_short(
            scenario, mirror, f"{topic}[0] has 2 in-sync replicas of 3, min.insync.replicas is 3"
        )
        before = scenario.unseen.seen
        scenario.until(lambda: scenario.unseen.count() > 100, "records pile up")
        assert scenario.unseen.seen == before, "nothing counts that two brokers have"
    scenario.until(
        lambda: "no partition lacks in-sync replicas now" in mirror.output, "it says that it is over"
    )


def _says_what_is_short(scenario: Scenario, mirror: CausewayMirror, what: str) -> None:
    """In the log and in the status: cause, numbers, and what to do."""
    scenario.until(lambda: what in mirror.output, "the log says why", 40)
    log = mirror.directory / "status.log"
    said = Causeway("status", mirror.config, "--url", mirror.run.page(), log=log)
    assert said.wait() == 5, said.output
    assert "NOT_ENOUGH_REPLICAS" in said.output
    assert what in said.output
    assert "start the brokers that are down" in said.output


def leader_dies_with_what_it_alone_has(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> None:
    """The followers are suspended while the leader still appends records, and then it dies.

    Whoever counts a record once the leader alone has it loses all of those: a follower leads now, and was
    in sync as far as the cluster knows. On the destination the ledger must not be lost along with them.
    """
    topic = _a_topic(scenario, mirror, sides)
    ledger = ledger_topic(mirror.name)
    leader = sides.brokers.leader(topic if sides.side == "source" else ledger, CONTROL)
    others = [broker for broker in sides.brokers.cluster.brokers if broker.id != leader.id]
    with scenario.fault(f"a leader on the {sides.side} dies with what it alone has"):
        while not _dies_ahead(leader, others, topic):
            scenario.advances()  # producers were just waiting for one of the others
        sides.brokers.restart(leader)


def _dies_ahead(leader: Broker, others: list[Broker], topic: str) -> bool:
    """kill -9, once it has appended what the suspended others do not have; if it ever does."""
    try:
        for broker in others:
            broker.pause()
        had = _written(leader.directory, topic)
        with contextlib.suppress(AssertionError):
            eventually(lambda: _written(leader.directory, topic) > had, "it appends what no other has", 3)
            leader.kill()
            return True
        return False
    finally:
        for broker in others:
            broker.resume()


def _a_topic(scenario: Scenario, mirror: CausewayMirror, sides: Sides) -> str:
    """Of the side with three brokers."""
    topic = next(iter(scenario.topics))
    return topic if sides.side == "source" else mirror.named(topic)


def _written(broker: Path, topic: str) -> int:
    """How much of a topic a broker has on disk, whatever it tells others."""
    return sum(log.stat().st_size for log in (broker / "data").glob(f"{topic}-*/*.log"))


def on(side: Side, *acts: Injection, deep: bool = True, **keys: Any) -> Any:
    name = "-then-".join(act.__name__.replace("_", "-") for act in acts)
    name += "".join(f"-{value}" for value in keys.values())
    return pytest.param(side, acts, keys, id=f"{side}-{name}", marks=[pytest.mark.deep] if deep else [])


DAYS = [
    on("destination", coordinator_lost, deep=False),
    on("destination", leader_killed, leaders_elected),
    on("destination", leader_stopped, leaders_elected),
    on("destination", leader_held),
    on("destination", controller_killed),
    on("destination", replicas_moved),
    on("destination", too_few_in_sync),
    on("destination", too_few_in_sync, delivery="at-least-once"),
    on("destination", all_must_have_it),
    on("destination", all_restarted),
    on("destination", all_away),
    on("destination", leader_dies_with_what_it_alone_has, delivery="at-least-once"),
    on("destination", leader_killed, delivery="at-least-once"),
    on("source", leader_lost),
    on("source", leader_killed, leaders_elected),
    on("source", leader_stopped, leaders_elected),
    on("source", leader_held),
    on("source", controller_killed),
    on("source", replicas_moved),
    on("source", all_restarted),
    on("source", all_away),
    on("source", leader_dies_with_what_it_alone_has),
]


@pytest.mark.deep
def test_what_causeway_creates_outlives_any_one_broker(
    with_three: Callable[[Side], Sides], tmp_path: Path
) -> None:
    """Three replicas, two of which must have a record: for the ledger and for the topics it creates."""
    sides = with_three("destination")
    mirror = sides.mirror(tmp_path)
    with Scenario(tmp_path, sides.source, sides.destination, mirror, {"t": 2}) as scenario:
        assert mirror.start("--stop-at-end").wait() == 0, mirror.output  # only prepares
        own = [ledger_topic(mirror.name), offset_map_topic(mirror.name), mirror.named(scenario.topic("t"))]

        found = sides.brokers.partitions([*own, TRANSACTION_STATE])

        assert {topic for topic, _ in found} == {*own, TRANSACTION_STATE}
        assert {at: len(facts.replicas) for at, facts in found.items()} == dict.fromkeys(found, 3)
        asked = sides.brokers.admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, name) for name in own]
        )
        needed = {one.name: future.result()["min.insync.replicas"].value for one, future in asked.items()}
        assert needed == dict.fromkeys(own, "2")


@pytest.mark.deep
def test_a_start_while_too_few_are_in_sync_ends_with_the_reason(
    with_three: Callable[[Side], Sides], tmp_path: Path
) -> None:
    sides = with_three("destination")
    mirror = sides.mirror(tmp_path)
    with Scenario(tmp_path, sides.source, sides.destination, mirror, {"t": 2}):
        assert mirror.start("--stop-at-end").wait() == 0, mirror.output
        with sides.brokers.none_beside(sides.brokers.leader(ledger_topic(mirror.name))):
            assert mirror.start("--stop-at-end").wait(150) == 5, mirror.output
        assert "NOT_ENOUGH_REPLICAS" in mirror.output
        assert "has 1 in-sync replica of 3, min.insync.replicas is 2" in mirror.output
        assert mirror.start("--stop-at-end").wait() == 0, mirror.output


@pytest.mark.parametrize(("side", "acts", "keys"), DAYS)
def test_brokers_come_and_go_and_every_record_arrives_once(
    with_three: Callable[[Side], Sides],
    side: Side,
    acts: tuple[Injection, ...],
    keys: dict[str, Any],
    tmp_path: Path,
) -> None:
    sides = with_three(side)
    mirror = sides.mirror(tmp_path, **keys)
    exactly = "delivery" not in keys
    terms = Terms() if exactly else Terms("at-least-once")
    with Scenario(tmp_path, sides.source, sides.destination, mirror, {"t": 4}, terms=terms) as scenario:
        scenario.start()
        for act in acts:
            act(scenario, mirror, sides)
            scenario.recovered()
        report = scenario.end(judge=exactly)
        assert exactly or {one.invariant for one in report.anomalies} <= {"I4"}, report
        assert all(report.results[name].status == "holds" for name in BUT_REPEATS), report


@pytest.mark.deep
def test_a_handle_learns_who_leads_in_place_of_a_dead_broker(
    with_three: Callable[[Side], Sides], topic_name: str
) -> None:
    """By itself the client asks the dead one for ever, without an error: the mirror waits with it."""
    sides = with_three("source")
    view = ClusterView(Cluster("src", {"bootstrap.servers": sides.source.bootstrap_servers}))
    view.connect()
    assert view.create_topic(topic_name, 3, 3, {})
    spots = [(topic_name, number) for number in range(3)]
    ends = dict.fromkeys(spots, 0)
    assert view.offsets(spots, "stable") == ends

    sides.brokers.kill(sides.brokers.leader(topic_name))

    assert view.offsets(spots, "stable") == ends


@pytest.mark.parametrize(
    ("transactional_id", "code"), [("abc", 96354), ("hello", 99162322), ("polygenelubricants", 0)]
)
def test_a_coordinator_is_found_as_brokers_find_it(transactional_id: str, code: int) -> None:
    """By Java's hash, without its sign; the last one's is the smallest number there is."""
    assert coordinating_partition(transactional_id, 50) == code % 50
