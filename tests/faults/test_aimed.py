"""The troubles of other modules, each at a chosen step of a transaction.

A worker stops itself at the step: its connections and its transaction stay open. Then the trouble comes, and
the worker continues into it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import get_args

import pytest

from causeway.core.task_order import ledger_topic, transactional_id
from causeway.local_kafka import Broker
from faults.aim import STEPS, Aim
from faults.brokers import Brokers
from faults.conftest import NewScenario
from faults.data_faults import DataFaults
from faults.events import Side
from faults.fault_target import FaultTarget
from faults.mirrors import CausewayMirror
from faults.network import MOMENT, RESET, ProxiedCluster, Trouble, dead, lines
from faults.scenario import Scenario
from support.process import send
from support.proxy import Proxy
from support.topics import delete_topic

pytestmark = pytest.mark.deep

TRANSACTION_SECONDS = 5
RECOVERY_SECONDS = 90.0


Strike = Callable[[FaultTarget], AbstractContextManager[None]]
"""In force at once when this begins; it lasts for a while, and is healed when this ends."""


def killed(side: Side, victims: Callable[[FaultTarget], list[Broker]]) -> Strike:
    @contextmanager
    def strike(target: FaultTarget) -> Iterator[None]:
        found, brokers = victims(target), target.brokers[side]
        for broker in found:
            broker.kill()
        yield
        for broker in found:
            brokers.await_gone(broker)
        brokers.heal()

    return strike


def leader(target: FaultTarget) -> list[Broker]:
    return [target.brokers["destination"].leader(target.mirror.named(target.scenario.topic("t")))]


def coordinator(target: FaultTarget) -> list[Broker]:
    return [target.brokers["destination"].coordinator(transactional_id(target.mirror.name, 1))]


def everybody(side: Side) -> Callable[[FaultTarget], list[Broker]]:
    return lambda target: list(target.brokers[side].cluster.brokers)


def troubled(side: Side, trouble: Trouble, seconds: float = 0.5) -> Strike:
    @contextmanager
    def strike(target: FaultTarget) -> Iterator[None]:
        trouble.begin(target.lines[side])
        yield
        over = target.scenario.journal.now() + 1000 * seconds
        target.scenario.until(lambda: target.scenario.journal.now() >= over, "time has passed")
        target.lines[side].each(Proxy.heal)

    return strike


ROWS: dict[str, dict[str, Strike]] = {
    "brokers": {
        "kill -9 of a leader": killed("destination", leader),
        "kill -9 of the coordinator": killed("destination", coordinator),
        "kill -9 of all brokers": killed("destination", everybody("destination")),
        "kill -9 of the source": killed("source", everybody("source")),
    },
    "lines": {
        "cut": troubled("destination", MOMENT),
        "cut for longer than a transaction": troubled("destination", MOMENT, 2 * TRANSACTION_SECONDS),
        "reset": troubled("destination", RESET),
        "answers lost": troubled("destination", dead("answers", late=False), 2),
        "requests late": troubled("destination", dead("requests", late=True), 2),
        "source cut": troubled("source", MOMENT),
        "source reset": troubled("source", RESET),
    },
}
"""What one mirror goes through, one after the other."""


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Side, ProxiedCluster]]:
    """Both behind proxies; the destination has three brokers."""
    with ExitStack() as stack:
        yield {
            side: stack.enter_context(
                lines(side, tmp_path_factory.mktemp(side), 3 if side == "destination" else 1)
            )
            for side in get_args(Side)
        }


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("row", ROWS)
def test_trouble_at_a_step_costs_no_record(
    sides: dict[Side, ProxiedCluster], tmp_path: Path, step: str, row: str
) -> None:
    aim = Aim(step, tmp_path / "flag")
    brokers: dict[Side, Brokers] = {side: Brokers(line.cluster) for side, line in sides.items()}
    for side, line in sides.items():
        line.each(Proxy.heal)
        brokers[side].heal()
    here, there = sides["source"].cluster, sides["destination"].cluster
    mirror = CausewayMirror(
        tmp_path, here, there, proxied=("source", "destination"), replication_factor=3,
        transaction_timeout=f"{TRANSACTION_SECONDS}s", **aim.keys,
    )  # fmt: skip
    with Scenario(tmp_path, here, there, mirror, {"t": 3, "u": 1}) as scenario:
        target = FaultTarget(scenario, mirror, sides, brokers)
        aim.start(scenario)
        for name, strike in ROWS[row].items():
            standing = aim.taken(scenario, mirror)
            with scenario.fault(f"{name}, {step}"), strike(target):
                send(signal.SIGCONT, standing)
            scenario.recovered(RECOVERY_SECONDS)
        assert len(mirror.runs) == 1, "no other run was needed"
        scenario.end()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", ["records deleted", "recreated shorter", "recreated longer"])
def test_source_data_is_lost_at_a_step_and_each_offset_is_declared(
    new_scenario: NewScenario, tmp_path: Path, step: str, what: str
) -> None:
    """One shard: what it has in hand is of the topic that is harmed, too."""
    aim = Aim(step, tmp_path / "flag")
    scenario, mirror = new_scenario(
        {"t": 1, "u": 2}, shards=1, on_gap="continue", on_recreate="restart", transaction_timeout="30s",
        **aim.keys,
    )  # fmt: skip
    with scenario:
        data_faults, topic = DataFaults(scenario, mirror), scenario.topic("u")
        aim.start(scenario)
        standing = aim.taken(scenario, mirror)
        with scenario.fault(f"{what}, {step}"):
            data_faults.write_some(50, "u")
            scenario.quiet()
            ends = data_faults.ends(topic)
            if what == "records deleted":
                for partition, end in ends.items():
                    data_faults.remove("source", topic, partition, end - 1 - partition)
            else:
                data_faults.recreate(
                    "u", records=max(ends.values()) + 50 if what == "recreated longer" else 5
                )
            send(signal.SIGCONT, standing)
        scenario.write(scenario.topics)
        scenario.until(
            lambda: data_faults.reported_for_all("u", "continue"), "it says what is gone, for both partitions"
        )
        scenario.recovered()
        verdict = "gap" if what == "records deleted" else "recreated"
        assert {(suffix, found) for suffix, _, found, _, _ in data_faults.gaps()} == {("u", verdict)}
        assert not mirror.ledger().stopped
        scenario.end("I10")


@pytest.mark.parametrize("step", STEPS)
def test_a_destination_topic_is_deleted_at_a_step_and_its_partitions_stop(
    new_scenario: NewScenario, tmp_path: Path, step: str
) -> None:
    aim = Aim(step, tmp_path / "flag")
    scenario, mirror = new_scenario({"t": 1, "u": 2}, shards=1, transaction_timeout="30s", **aim.keys)
    with scenario:
        data_faults = DataFaults(scenario, mirror)
        aim.start(scenario)
        standing = aim.taken(scenario, mirror)
        with scenario.fault(f"the destination's topic is deleted, {step}"):
            mirror.note_ledger(scenario.journal, whole=True)
            scenario.drain("destination")
            data_faults.delete("u", "destination")
            send(signal.SIGCONT, standing)
        scenario.until(lambda: data_faults.reported_for_all("u", "stop"), "it says so, for both partitions")
        scenario.advances(100)
        stopped = data_faults.stop_then_run_to_end(6)
        assert {key: named[0] for key, named in stopped.items()} == {
            ("u", 0): "destination-deleted", ("u", 1): "destination-deleted",
        }  # fmt: skip
        scenario.end("I10", catch_up=False)


@pytest.mark.parametrize("step", STEPS)
def test_the_ledger_is_deleted_at_a_step_and_nothing_goes_on(
    new_scenario: NewScenario, tmp_path: Path, step: str
) -> None:
    """Records in flight may arrive, once: no run restarts from a ledger that was deleted."""
    aim = Aim(step, tmp_path / "flag")
    scenario, mirror = new_scenario({"t": 1, "u": 2}, shards=1, transaction_timeout="30s", **aim.keys)
    with scenario:
        aim.start(scenario)
        standing = aim.taken(scenario, mirror)
        with scenario.fault(f"the ledger is deleted, {step}", crash=True):
            delete_topic(scenario.admins["destination"], ledger_topic(mirror.name))
            send(signal.SIGCONT, standing)
            assert mirror.run.wait() == 6, mirror.output
        assert "the ledger was deleted under the mirror" in mirror.output
        assert "Traceback" not in mirror.output
        run = mirror.start("--stop-at-end")
        assert run.wait() == 6, run.output
        assert "is missing, but its offset map has entries" in run.output
        report = scenario.end(judge=False, catch_up=False)
        found = {name: report.results[name].status for name in ("I2", "I3", "I4", "I5", "I6")}
        assert found == dict.fromkeys(found, "holds"), report
