"""What happens to a destination under the mirror: it waits, or stops and says so; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from causeway.local_kafka import EmbeddedCluster
from faults.conftest import NewScenario
from faults.data_faults import DataFaults
from faults.events import Sent
from faults.logs import cut_after_a_commit
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
from support.world import World

deep = pytest.mark.deep

LIMIT, TOO_LARGE = 40_000, 60_000  # bytes; the workload's own records are smaller than both


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A destination that may be stopped and harmed."""
    with EmbeddedCluster.start("frail", directory=tmp_path_factory.mktemp("frail")) as cluster:
        yield cluster


@pytest.fixture
def frail_scenario(source: EmbeddedCluster, frail: EmbeddedCluster, tmp_path: Path) -> NewScenario:
    def make(topics: dict[str, int], **keys: Any) -> tuple[Scenario, CausewayMirror]:
        mirror = CausewayMirror(tmp_path, source, frail, **keys)
        return Scenario(tmp_path, source, frail, mirror, topics), mirror

    return make


def narrow(scenario: Scenario, suffix: str, partitions: int) -> str:
    """The destination's topic is there already, and takes no large records."""
    topic = scenario.mirror.named(scenario.topic(suffix))
    config = {
        "max.message.bytes": str(LIMIT),
        "retention.ms": "-1",
        "message.timestamp.after.max.ms": str(2**63 - 1),
    }
    scenario.admins["destination"].create_topics([NewTopic(topic, partitions, 1, config=config)])[
        topic
    ].result()
    return topic


def poison(data_faults: DataFaults, partition: int) -> int:
    offset = data_faults.send("u", partition, TOO_LARGE)
    data_faults.scenario.damage("poison", "source", data_faults.scenario.topic("u"), partition, offset)
    return offset


def test_what_the_destination_refuses_is_set_aside_once_although_the_mirror_is_killed_over_it(
    new_scenario: NewScenario,
) -> None:
    """Killed while it looks for the record that was refused; more of them come while it is away."""
    scenario, mirror = new_scenario({"t": 1, "u": 2}, on_poison="quarantine", max_transaction_records=500)
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        narrow(scenario, "u", 2)
        scenario.start()
        bad = {(0, poison(data_faults, 0))}
        with scenario.fault("kill -9 while it looks for a record that was refused", crash=True):
            scenario.until(lambda: "starting again" in mirror.output, "a transaction was refused")
            mirror.kill()
            bad |= {(1, poison(data_faults, 1)), (0, poison(data_faults, 0))}
        mirror.start()
        data_faults.until_set_aside(bad)
        scenario.recovered()
        bad |= {(1, poison(data_faults, 1))}
        data_faults.until_set_aside(bad)
        sent = {one.token: one.content for one in scenario.journal.history().of(Sent)}
        assert set(data_faults.quarantined.values()) <= set(sent.values()), (
            "a quarantined record is not what was sent"
        )
        assert not mirror.ledger().stopped
        scenario.end("I10")


@deep
def test_a_refused_record_stops_its_partition_until_the_destination_takes_it(
    new_scenario: NewScenario,
) -> None:
    scenario, mirror = new_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        place = narrow(scenario, "u", 2)
        scenario.start()
        with scenario.fault("a record that is too large"):
            offset = poison(data_faults, 1)
            scenario.until(lambda: data_faults.reported("poison", "u", 1), "it says so")
        scenario.advances(200)
        stopped = data_faults.stop_then_run_to_end(7)
        assert stopped == {("u", 1): ("poison", offset, -1, 0)}
        assert f"{scenario.topic('u')}[1] offset {offset}" in mirror.output
        with scenario.fault("the destination takes it"):
            data_faults.alter("destination", place, **{"max.message.bytes": str(2 * TOO_LARGE)})
            mirror.start()
            scenario.until(lambda: data_faults.resumed("u", 1), "the partition has resumed")
        scenario.write(scenario.topics)
        scenario.recovered()
        scenario.end("I10")


@deep
@pytest.mark.parametrize("what", ["deleted", "recreated"])
@pytest.mark.parametrize("when", ["running", "down"])
def test_a_destination_topic_that_is_not_the_one_replicated_to_stops_its_partitions(
    new_scenario: NewScenario, what: str, when: str
) -> None:
    scenario, mirror = new_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with (
            scenario.fault(f"the destination's topic is {what}, the mirror is {when}"),
            data_faults.while_mirror_is(when),
        ):
            data_faults.delete("u", "destination", kind=what)
            if what == "recreated":
                name = mirror.named(scenario.topic("u"))
                scenario.admins["destination"].create_topics([NewTopic(name, 2, 1)])[name].result()
        scenario.write(scenario.topics)
        scenario.until(lambda: data_faults.reported_for_all("u", "stop"), "it says so, for both partitions")
        scenario.advances(100)
        stopped = data_faults.stop_then_run_to_end(6)
        assert {key: named[0] for key, named in stopped.items()} == {
            ("u", 0): f"destination-{what}", ("u", 1): f"destination-{what}",
        }  # fmt: skip
        assert "a new mirror name starts from the beginning" in mirror.output
        scenario.end("I10", catch_up=False)


@deep
def test_records_deleted_at_the_destination_are_its_own_business(new_scenario: NewScenario) -> None:
    scenario, mirror = new_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with scenario.fault("records are deleted at the destination"):
            data_faults.delete_delivered("u", 0)
            data_faults.delete_delivered("u", 1, all_of_them=True)
        scenario.write(scenario.topics)
        scenario.advances(200)
        scenario.recovered()
        assert not mirror.ledger().stopped
        scenario.end("I10")


@deep
def test_a_destination_that_lost_the_end_of_a_log_stops_the_partition(frail_scenario: NewScenario) -> None:
    """A broker without a battery: what it had acknowledged is not on its disk when it comes back."""
    scenario, mirror = frail_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        for _ in range(4):  # each by another commit: half of the log must be left to remove
            scenario.advances(200)
        data_faults.all_replicated()
        (broker,) = scenario.clusters["destination"].brokers
        with scenario.fault("the destination's broker loses the end of a log"):
            broker.kill()
            end = cut_after_a_commit(broker.directory / "data" / f"{mirror.named(scenario.topic('u'))}-1")
            broker.start()
            scenario.damage("truncated", "destination", mirror.named(scenario.topic("u")), 1, end)
            scenario.write(scenario.topics)
            scenario.until(
                lambda: data_faults.reported("destination-truncated", "u", 1), "it says what is gone"
            )
        (said,) = data_faults.reported("destination-truncated", "u", 1)
        assert said.found == end < said.expected
        scenario.advances(100)
        stopped = data_faults.stop_then_run_to_end(6)
        assert stopped == {("u", 1): ("destination-truncated", said.expected, end, said.expected - end)}
        scenario.end("I10", catch_up=False)


@deep
def test_a_log_that_was_cut_while_no_mirror_ran_is_judged_although_nothing_is_left_to_replicate(
    source: EmbeddedCluster, frail: EmbeddedCluster, tmp_path: Path
) -> None:
    """All positions are at the source's ends: only the destination itself tells."""
    world = World(source, frail, tmp_path)
    topic = world.topic("t", 1)
    config = world.config()
    for start in (0, 100, 200):
        world.produce(topic, world.numbers(100, 1, start))
        world.carry_all(config)
    (broker,) = frail.brokers
    broker.kill()
    end = cut_after_a_commit(broker.directory / "data" / f"{topic}-0")
    broker.start()

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 6, run.output
    (stopped,) = world.ledger().stopped.values()
    assert (stopped.verdict, stopped.found) == ("destination-truncated", end)
    assert stopped.what in run.output
