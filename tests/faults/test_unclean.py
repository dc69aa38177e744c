"""A source that loses what it had acknowledged: a follower that missed the last records leads uncleanly.

What was replicated of them is on the destination alone, and the same offsets may be given to other records:
to continue from the position would mix two histories, and silently skip the start of the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from causeway.local_kafka import EmbeddedCluster
from faults.brokers import Brokers
from faults.events import Route
from faults.ledger_events import topic_ids
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
from faults.verdicts import Verdicts
from support.process import eventually
from support.records import end_offsets
from support.world import UNBOUNDED, World

pytestmark = pytest.mark.deep

LEADER, FOLLOWER = 1, 2  # the third broker keeps the controllers' majority while one of these is away
WEAK = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1", **UNBOUNDED}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    directory = tmp_path_factory.mktemp("three")
    with EmbeddedCluster.start("three", brokers=3, directory=directory) as cluster:
        yield cluster


@pytest.fixture
def brokers(three: EmbeddedCluster) -> Brokers:
    brokers = Brokers(three)
    brokers.heal()
    return brokers


def weak_topic(brokers: Brokers, name: str) -> str:
    return brokers.topic(name, replicas=[[LEADER, FOLLOWER]], config=WEAK)


def cut(brokers: Brokers, topic: str) -> int:
    """The leader dies, and the follower leads without its last records; returns the new end of the log."""
    brokers[LEADER].kill()
    brokers[FOLLOWER].start(wait=False)
    eventually(lambda: brokers.leader(topic).id == FOLLOWER, "the follower leads")
    return end(brokers, topic)


def end(brokers: Brokers, topic: str) -> int:
    return end_offsets(brokers.cluster.internal_servers, topic, 1)[0]


def test_what_an_unclean_election_cut_off_stops_its_partition_and_no_other(
    three: EmbeddedCluster, brokers: Brokers, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    mirror = CausewayMirror(tmp_path, three, destination)
    weak = weak_topic(brokers, f"{mirror.name}.weak")
    with Scenario(tmp_path, three, destination, mirror, {"t": 2}) as scenario:
        scenario.journal.add(Route(weak, weak))
        scenario.topics[weak] = 1
        scenario.ids |= topic_ids(scenario.admins["source"], [weak])
        scenario.start(topics={scenario.topic("t"): 2})
        # A truncated transaction has no marker: read_committed readers would never get past it.
        scenario.write({weak: 1}, kinds=["plain"])
        scenario.advances()
        brokers.kill(brokers[FOLLOWER])
        missed = end(brokers, weak)
        scenario.until(lambda: end(brokers, weak) > missed + 20, "the leader takes records that no other has")
        scenario.quiet()
        scenario.until(lambda: scenario.unseen.count() == 0, "they are replicated")
        with scenario.fault("unclean leader election"):
            found = cut(brokers, weak)
            scenario.damage("truncated", "source", weak, 0, found)
            brokers.restart(brokers[LEADER])

        scenario.until(lambda: mirror.ledger().stopped, "the partition stops")

        (said,) = Verdicts(scenario.servers["destination"], mirror.name).note(scenario.journal)
        assert (said.verdict, said.topic, said.found) == ("truncated", weak, found)
        scenario.write({scenario.topic("t"): 2})
        scenario.advances()
        scenario.recovered()
        scenario.end("I10")


def test_a_log_that_was_cut_and_has_grown_again_is_not_taken_for_the_old_one(
    three: EmbeddedCluster, brokers: Brokers, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    """Its bounds look fine: only leader epochs tell, however often it is started."""
    world = World(three, destination, tmp_path)
    weak = weak_topic(brokers, world.name("weak"))
    other = brokers.topic(world.name("other"), config=UNBOUNDED)
    config = world.config()
    world.produce(weak, world.numbers(100))
    brokers.kill(brokers[FOLLOWER])
    world.produce(weak, world.numbers(50, 1, 100))
    world.carry_all(config)
    assert cut(brokers, weak) == 100
    world.produce(weak, world.numbers(200, 1, 1_000))
    brokers.restart(brokers[LEADER])
    world.produce(other, world.numbers(20))

    for _ in range(2):
        run = world.run(config, "--stop-at-end")
        assert run.wait() == 6, run.output
        (stop,) = world.ledger().stopped.values()
        assert (stop.verdict, stop.topic, stop.expected) == ("truncated", weak, 150), run.output

    assert len(world.read(weak)[0]) == 150, "nothing of the other history was replicated"
    assert len(world.read(other)[0]) == 20, "the other topic continues"
    world.close()


def test_an_aborted_transaction_after_an_election_is_no_truncation(
    three: EmbeddedCluster, brokers: Brokers, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    """The position is after markers of a later epoch than the last record's, and the log is healthy."""
    world = World(three, destination, tmp_path)
    topic = brokers.topic(world.name("t"), config=UNBOUNDED)
    config = world.config()
    world.produce(topic, world.numbers(10))
    leader = brokers.leader(topic)
    brokers.stop(leader)
    world.produce(topic, world.numbers(5, 1, 100), transaction="abort")
    world.carry_all(config)
    brokers.restart(leader)
    brokers.elect([topic])
    world.produce(topic, world.numbers(10, 1, 200))

    run = world.carry_all(config)

    assert "truncat" not in run.output
    world.assert_mirrored(topic)
    world.close()
