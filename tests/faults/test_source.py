"""Faults of a source: nothing is skipped silently, and everything else continues.

Faults hit topic `u`, of two partitions, and only its second partition where one can be chosen. Topic `t` must
not be affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from causeway.local_kafka import EmbeddedCluster
from faults.conftest import NewScenario
from faults.data_faults import DataFaults
from faults.events import Route
from faults.ledger_events import topic_ids
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
from support.process import eventually
from support.records import read_offsets

deep = pytest.mark.deep

BRISK = {
    "log.retention.check.interval.ms": "300",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
"""Brokers look after retention every five minutes, and after compaction every fifteen seconds."""


@pytest.fixture(scope="module")
def brisk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A source that tidies up all the time."""
    with EmbeddedCluster.start("brisk", directory=tmp_path_factory.mktemp("brisk"), config=BRISK) as cluster:
        yield cluster


@pytest.fixture
def brisk_scenario(brisk: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path) -> NewScenario:
    def make(topics: dict[str, int], **keys: Any) -> tuple[Scenario, CausewayMirror]:
        mirror = CausewayMirror(tmp_path, brisk, destination, **keys)
        return Scenario(tmp_path, brisk, destination, mirror, topics), mirror

    return make


def test_a_gap_and_a_longer_new_topic_stop_a_mirror_and_are_gone_over_where_that_is_allowed(
    new_scenario: NewScenario,
) -> None:
    """The same faults twice: first each partition stops with a verdict, then the policies let it continue."""
    scenario, mirror = new_scenario({"t": 1, "u": 2, "again": 1})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        assert mirror.stop() == 0, mirror.output
        with scenario.fault("records deleted and a topic recreated while the mirror was down"):
            replicated = data_faults.position("u", 1)
            data_faults.write_more(200, "t", "u")
            removed = data_faults.delete_records("u", 1)
            data_faults.recreate("again", records=data_faults.position("again", 0) + 50)
            stopped = data_faults.run_to_end(6)
        assert stopped["u", 1] == ("gap", replicated, removed, removed - replicated)
        verdict, expected, found, _ = stopped["again", 0]
        assert (verdict, expected, found) == ("recreated", data_faults.position("again", 0), 0)
        assert (
            f"{scenario.topic('u')}[1] begins at offset {removed} now, {replicated} is next" in mirror.output
        )
        assert f"{scenario.topic('again')} was deleted and created again" in mirror.output
        with scenario.fault("both are skipped by policy"):
            mirror.start(on_gap="continue", on_recreate="restart")
            scenario.until(lambda: len(mirror.ledger().gaps) == 2, "both gaps are in the ledger")
        data_faults.verdicts.note(scenario.journal)
        scenario.write(scenario.topics)
        scenario.recovered()
        assert data_faults.gaps() == {
            ("again", 0, "recreated", expected, 0),
            ("u", 1, "gap", replicated, removed),
        }
        assert not mirror.ledger().stopped
        scenario.end("I10")


@deep
@pytest.mark.parametrize("policy", ["stop", "continue"])
@pytest.mark.parametrize("when", ["down", "suspended"])
@pytest.mark.parametrize("how", ["delete-records", "retention"])
def test_what_is_deleted_before_it_is_replicated_is_named(
    brisk_scenario: NewScenario, how: str, when: str, policy: str
) -> None:
    scenario, mirror = brisk_scenario({"t": 1, "u": 2}, on_gap=policy)
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        data_faults.alter("source", scenario.topic("u"), **{"segment.ms": "200"})
        scenario.start()
        data_faults.all_replicated()
        with scenario.fault(f"{how} overtakes a mirror that is {when}"), data_faults.while_mirror_is(when):
            data_faults.write_more(300, "t", "u")
            removed = (
                data_faults.delete_records("u", 1) if how == "delete-records" else data_faults.expire("u", 1)
            )
        scenario.until(lambda: data_faults.reported("gap", "u", 1), "it says what is gone")
        (gap,) = data_faults.reported("gap", "u", 1)
        assert gap.action == policy
        assert gap.expected < gap.found == removed
        assert "offsets were deleted before they were replicated" in mirror.output
        scenario.write(scenario.topics)
        scenario.advances(100)
        if policy == "stop":
            data_faults.stop_then_run_to_end(6)
        else:
            scenario.recovered()
            assert ("u", 1, "gap", gap.expected, removed) in data_faults.gaps()
        scenario.end("I10", catch_up=policy == "continue")


@deep
@pytest.mark.parametrize("policy", ["stop", "restart"])
@pytest.mark.parametrize("when", ["down", "running", "suspended"])
@pytest.mark.parametrize("length", ["shorter", "longer"])
def test_a_recreated_topic_is_never_taken_for_the_old_one(
    new_scenario: NewScenario, length: str, when: str, policy: str
) -> None:
    """If the mirror is down or suspended, some of the old topic's last records are declared gone."""
    scenario, mirror = new_scenario({"t": 1, "u": 2}, on_recreate=policy)
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with scenario.fault(f"recreated {length}, the mirror is {when}"), data_faults.while_mirror_is(when):
            if when != "running":
                data_faults.write_more(50, "t", "u")
            replicated = max(data_faults.position("u", 0), data_faults.position("u", 1))
            data_faults.recreate("u", records=replicated + 100 if length == "longer" else 5)
        scenario.until(
            lambda: data_faults.reported_for_all("u", policy), "it says what happened, for both partitions"
        )
        scenario.write(scenario.topics)
        scenario.advances(100)
        if policy == "stop":
            stopped = data_faults.stop_then_run_to_end(6)
            assert {stopped["u", 0][0], stopped["u", 1][0]} == {"recreated"}
        else:
            scenario.recovered()
            assert {(suffix, verdict) for suffix, _, verdict, _, _ in data_faults.gaps()} == {
                ("u", "recreated")
            }
        scenario.end("I10", catch_up=policy == "restart")


@deep
@pytest.mark.parametrize("when", ["down", "running"])
def test_a_deleted_topic_is_missed(new_scenario: NewScenario, when: str) -> None:
    scenario, mirror = new_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with scenario.fault(f"a topic is deleted, the mirror is {when}"), data_faults.while_mirror_is(when):
            data_faults.delete("u")
        scenario.until(lambda: data_faults.reported_for_all("u", "stop"), "it says so, for both partitions")
        scenario.write({scenario.topic("t"): 1})
        scenario.advances(100)
        stopped = data_faults.stop_then_run_to_end(6)
        assert stopped["u", 0][:2] == ("deleted", data_faults.position("u", 0))
        assert stopped["u", 1][:2] == ("deleted", data_faults.position("u", 1))
        scenario.end("I10", catch_up=False)
        done = mirror.start("--stop-at-end", topics=[scenario.topic("t")])
        assert done.wait() == 0, f"a topic that is not configured any more is not missing\n{done.output}"


@deep
@pytest.mark.parametrize(("when", "policy"), [("down", "stop"), ("running", "stop"), ("down", "restart")])
def test_a_topic_recreated_with_fewer_partitions_is_missed_in_all_of_the_old_ones(
    new_scenario: NewScenario, when: str, policy: str
) -> None:
    """Nothing new can be said of the second partition: there is none. What it held is gone all the same."""
    scenario, mirror = new_scenario({"t": 1, "u": 2}, on_recreate=policy)
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        data_faults.all_replicated()
        with (
            scenario.fault(f"recreated with one partition, the mirror is {when}"),
            data_faults.while_mirror_is(when),
        ):
            if when == "down":
                data_faults.write_more(50, "t", "u")
            data_faults.recreate("u", records=20, partitions=1)
        scenario.until(
            lambda: data_faults.reported_for_all("u", policy, partitions=2), "it says so, for both partitions"
        )
        scenario.write(scenario.topics)
        scenario.advances(100)
        stopped = data_faults.stop_then_run_to_end(6 if policy == "stop" else 0)
        assert stopped.keys() == ({("u", 0), ("u", 1)} if policy == "stop" else set())
        scenario.end("I10", catch_up=False)
        if policy == "stop":
            run = mirror.start("--stop-at-end", on_recreate="restart")
            assert run.wait() == 0, f"a topic that may start again has no reason to stop\n{run.output}"
            assert not mirror.ledger().stopped


@deep
def test_new_partitions_are_replicated_from_their_first_record(new_scenario: NewScenario) -> None:
    scenario, mirror = new_scenario({"t": 1, "u": 2})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        for partitions in (3, 5):
            with scenario.fault(f"{partitions} partitions"):
                data_faults.grow("u", partitions)
                scenario.write({scenario.topic("u"): partitions})
            scenario.recovered()
        assert len(mirror.runs) == 1
        scenario.end()


@deep
def test_compaction_makes_holes_and_loses_nothing_that_counts(
    brisk: EmbeddedCluster, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    """Segments roll and are cleaned while they are replicated, and while the mirror is away."""
    mirror = CausewayMirror(tmp_path, brisk, destination)
    topic = f"{mirror.name}.c"
    tidy = {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01"}
    keeps = {"cleanup.policy": "compact", "min.compaction.lag.ms": str(2**62)}
    create(brisk, topic, 2, tidy)
    create(destination, mirror.named(topic), 2, keeps)
    with Scenario(tmp_path, brisk, destination, mirror, {"t": 1}) as scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.ids |= topic_ids(scenario.admins["source"], [topic])
        scenario.start()
        eventually(
            lambda: overwrite(data_faults, "c", 2, 200) and holes(scenario, topic) > 100, "it is compacted"
        )
        with scenario.fault("compaction of what was not replicated yet"):
            assert mirror.stop() == 0, mirror.output
            before = holes(scenario, topic)
            eventually(
                lambda: overwrite(data_faults, "c", 2, 100) and holes(scenario, topic) > before + 300,
                "what was not replicated is compacted",
            )
            mirror.start()
        scenario.recovered()
        overwrite(data_faults, "c", 2, 200)
        # From here on a part of the scenario: records that compaction removed never arrive.
        scenario.topics[topic] = 2
        scenario.journal.add(Route(topic, mirror.named(topic), compacted=True))
        scenario.quiet()
        scenario.until(data_faults.at_ends, "the mirror says that it is at the end")
        positions = [p for s, p in mirror.ledger().positions.items() if s.topic == topic]
        assert sum(position.tally.holes for position in positions) > 100
        scenario.end()


def create(cluster: EmbeddedCluster, topic: str, partitions: int, config: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result()


def overwrite(data_faults: DataFaults, suffix: str, partitions: int, records: int) -> int:
    """Few keys, again and again."""
    producer = Producer(
        {"bootstrap.servers": data_faults.scenario.servers["source"], "linger.ms": 0, "log_level": 0}
    )
    for n in range(records):
        data_faults.send(suffix, n % partitions, 30, key=f"k{n % 20}".encode(), producer=producer)
    return records


def holes(scenario: Scenario, topic: str) -> int:
    """Offsets of the source where no record is any more."""
    found = read_offsets(scenario.servers["source"], topic)
    return sum(rows[-1][0] + 1 - len(rows) for rows in found.values() if rows)


@deep
@pytest.mark.parametrize("end", ["aborted", "timed out", "committed"])
def test_a_hanging_transaction_is_waited_for(brisk_scenario: NewScenario, end: str) -> None:
    """Nothing after it is readable: the mirror waits, shows its lag, and skips nothing."""
    scenario, mirror = brisk_scenario({"t": 1, "u": 1})
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        scenario.start()
        with scenario.fault(f"a transaction hangs, and is {end}"):
            hanging = data_faults.hang("u", timeout_seconds=20 if end == "timed out" else 60)
            scenario.until(
                lambda: scenario.unseen.count(topic=scenario.topic("u")) > 200, "records wait after it"
            )
            at = {s.topic: p.offset for s, p in mirror.ledger().positions.items()}
            assert at[scenario.topic("u")] <= hanging.offset, "nothing is skipped"
            scenario.advances(100)
            scenario.until(lambda: lag_shown(mirror) > 100, "the lag is shown")
            hanging.end(end)
        scenario.recovered()
        scenario.end()


def lag_shown(mirror: CausewayMirror) -> int:
    """By the last of the lines that it prints for people without a terminal."""
    shown = re.findall(r", lag ([0-9,]+),", mirror.output)
    return int(shown[-1].replace(",", "")) if shown else 0
