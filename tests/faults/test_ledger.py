"""A ledger that is gone, put back, or cut: it is noticed, never trusted, and nothing is replicated again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from causeway.core.ledger_record import Lease, decode, encode
from causeway.core.position import Position
from causeway.core.task_order import ledger_topic
from faults.conftest import NewScenario
from faults.data_faults import DataFaults
from faults.events import Exited, Terms
from faults.ledger_events import topic_ids
from faults.mirrors import CausewayMirror
from faults.scenario import Scenario
from support.records import Rec, end_offsets, read_all
from support.topics import delete_topic

deep = pytest.mark.deep


@dataclass(frozen=True)
class Ledger:
    """The topic itself, as an administrator sees it."""

    scenario: Scenario
    mirror: CausewayMirror

    @property
    def topic(self) -> str:
        return ledger_topic(self.mirror.name)

    def copy(self) -> dict[int, list[Rec]]:
        return read_all(self.scenario.servers["destination"], self.topic)

    def delete(self) -> None:
        delete_topic(self.scenario.admins["destination"], self.topic)

    def restore(self, copy: dict[int, list[Rec]], *, disguised: bool = False) -> None:
        """A topic of the same name with what the copy holds; `disguised`: its lease names the new topic."""
        admin = self.scenario.admins["destination"]
        new = NewTopic(self.topic, len(copy), 1, config={"cleanup.policy": "compact"})
        admin.create_topics([new])[self.topic].result()
        new_id = topic_ids(admin, [self.topic])[self.topic]
        producer = Producer({"bootstrap.servers": self.scenario.servers["destination"], "log_level": 0})
        for partition, records in copy.items():
            for rec in records:
                value = _disguised(rec.value, new_id) if disguised else rec.value
                producer.produce(self.topic, value=value, key=rec.key, partition=partition)
        assert producer.flush(30) == 0

    def trim(self, partition: int) -> None:
        """As retention would, with compaction switched off meanwhile: brokers reject it otherwise."""
        admin, servers = self.scenario.admins["destination"], self.scenario.servers["destination"]
        data_faults = DataFaults(self.scenario, self.mirror)
        data_faults.alter("destination", self.topic, **{"cleanup.policy": "delete"})
        end = end_offsets(servers, self.topic, len(self.copy()))[partition]
        for future in admin.delete_records([TopicPartition(self.topic, partition, end // 2)]).values():
            future.result()
        data_faults.alter("destination", self.topic, **{"cleanup.policy": "compact"})


def _disguised(value: bytes | None, ledger_id: str) -> bytes | None:
    record = decode(value) if value is not None else None
    return encode(replace(record, ledger_id=ledger_id))[1] if isinstance(record, Lease) else value


def _authority(copy: dict[int, list[Rec]]) -> list[object]:
    """The records that matter: leases, generations, positions; not heartbeats."""
    records = [decode(rec.value) for rows in copy.values() for rec in rows if rec.value is not None]
    return [record for record in records if isinstance(record, Lease | Position)]


def refused(scenario: Scenario, mirror: CausewayMirror, *words: str) -> None:
    """A start that ends with 6, says why, and has touched nothing."""
    before = _held(scenario, mirror)
    run = mirror.start("--stop-at-end")
    code = run.wait()
    scenario.journal.add(Exited(scenario.journal.now(), "run --stop-at-end", code))
    assert code == 6, run.output
    for word in words:
        assert word in run.output
    assert "do: " in run.output
    assert "Traceback" not in run.output
    assert _held(scenario, mirror) == before, "it wrote to the destination"


def _held(scenario: Scenario, mirror: CausewayMirror) -> dict[str, dict[int, int]]:
    servers = scenario.servers["destination"]
    return {topic: end_offsets(servers, mirror.named(topic), n) for topic, n in scenario.topics.items()}


def test_a_ledger_that_is_deleted_under_the_mirror_ends_it_and_an_older_one_is_not_taken_for_it(
    new_scenario: NewScenario,
) -> None:
    """Deleted while it runs; then nothing in its place; then a copy of an older hour, plain and disguised."""
    scenario, mirror = new_scenario({"t": 2, "u": 1})
    with scenario:
        data_faults, ledger = DataFaults(scenario, mirror), Ledger(scenario, mirror)
        scenario.start()
        older = ledger.copy()
        scenario.advances(200)
        data_faults.all_replicated()
        with scenario.fault("the ledger is deleted under the mirror"):
            ledger.delete()
            writing = scenario.write(scenario.topics)
            code = mirror.run.wait()
            scenario.journal.add(Exited(scenario.journal.now(), "run", code))
            assert code == 6, mirror.output
            assert "the ledger was deleted under the mirror" in mirror.output
            assert "a new mirror name" in mirror.output
            assert "Traceback" not in mirror.output
            writing.stop()
            refused(scenario, mirror, "is missing, but its offset map has entries")
            ledger.restore(older)
            refused(scenario, mirror, "this ledger is a copy")
            ledger.delete()
            ledger.restore(older, disguised=True)
            refused(scenario, mirror, "the ledger is older than what was replicated")
        assert data_faults.nothing_arrived_since()


@deep
@pytest.mark.parametrize("what", ["deleted", "copy", "disguised", "trimmed control", "trimmed shard"])
def test_a_ledger_that_was_touched_while_the_mirror_was_away_is_refused(
    new_scenario: NewScenario, what: str
) -> None:
    scenario, mirror = new_scenario({"t": 2, "u": 1})
    with scenario:
        data_faults, ledger = DataFaults(scenario, mirror), Ledger(scenario, mirror)
        scenario.start()
        scenario.advances(100)
        older = ledger.copy()
        scenario.advances(200)
        data_faults.all_replicated()
        assert mirror.stop() == 0, mirror.output
        words = {
            "deleted": "is missing, but its offset map",
            "copy": "this ledger is a copy",
            "disguised": "the ledger is older than what was replicated",
        }.get(what, "does not begin at offset 0")
        with scenario.fault(f"the ledger is {what}"):
            if what.startswith("trimmed"):
                ledger.trim(0 if what == "trimmed control" else 1)
            else:
                ledger.delete()
            if what in ("copy", "disguised"):
                ledger.restore(older, disguised=what == "disguised")
            data_faults.write_more(50, "t", "u")
            refused(scenario, mirror, words)
            refused(scenario, mirror, words)
        assert data_faults.nothing_arrived_since()


@deep
def test_a_ledger_of_at_least_once_that_lost_more_than_one_commit_is_refused_by_exactly_once(
    new_scenario: NewScenario,
) -> None:
    scenario, mirror = new_scenario({"t": 2, "u": 1}, terms=Terms("at-least-once"), delivery="at-least-once")
    with scenario:
        data_faults, ledger = DataFaults(scenario, mirror), Ledger(scenario, mirror)
        scenario.start()
        scenario.advances(100)
        older = ledger.copy()
        scenario.advances(200)
        data_faults.all_replicated()
        assert mirror.stop() == 0, mirror.output
        mirror.write_config(delivery="exactly-once")
        with scenario.fault("the ledger is of an older scenario"):
            ledger.delete()
            ledger.restore(older, disguised=True)
            refused(scenario, mirror, "the ledger is older than what was replicated")
        assert data_faults.nothing_arrived_since()


@deep
@pytest.mark.parametrize("what", ["copy", "disguised", "trimmed"])
def test_a_ledger_that_is_touched_under_a_running_mirror_is_not_written_to(
    new_scenario: NewScenario, what: str
) -> None:
    """A recreated ledger stops it. Records deleted before what it has read do no harm yet."""
    scenario, mirror = new_scenario({"t": 2, "u": 1})
    with scenario:
        data_faults, ledger = DataFaults(scenario, mirror), Ledger(scenario, mirror)
        scenario.start()
        older = ledger.copy()
        scenario.advances(200)
        data_faults.all_replicated()
        with scenario.fault(f"the ledger is {what} under the mirror"):
            if what == "trimmed":
                ledger.trim(1)
                data_faults.write_more(100, "t", "u")
                scenario.until(lambda: scenario.unseen.count() == 0, "it continues")
                mirror.kill()
                refused(scenario, mirror, "does not begin at offset 0")
                return
            ledger.delete()
            ledger.restore(older, disguised=what == "disguised")
            restored = ledger.copy()
            data_faults.write_more(100, "t", "u")
            code = mirror.run.wait()
            assert code == 6, mirror.output
            assert "the ledger was deleted and created again while the mirror ran" in mirror.output
        assert data_faults.nothing_arrived_since()
        assert _authority(ledger.copy()) == _authority(restored), "it wrote to a ledger that is not its own"
