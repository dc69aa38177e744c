"""The troubles of other modules, each at a chosen step of a transaction.

A worker stops itself at the step: its connections and its transaction stay open. Then the trouble comes, and
the worker goes on into it.
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
from faults.conftest import NewDay
from faults.day import Day
from faults.events import Side
from faults.harm import Harm
from faults.mirrors import CausewayMirror
from faults.network import MOMENT, RESET, Lines, Trouble, dead, lines
from faults.stage import Stage
from support.process import send
from support.proxy import Proxy
from support.topics import delete_topic

pytestmark = pytest.mark.deep

TRANSACTION_SECONDS = 5
RECOVERY_SECONDS = 90.0


Strike = Callable[[Stage], AbstractContextManager[None]]
"""In force at once when this begins; it lasts for a while, and is healed when this ends."""


def killed(side: Side, victims: Callable[[Stage], list[Broker]]) -> Strike:
    @contextmanager
    def strike(stage: Stage) -> Iterator[None]:
        found, brokers = victims(stage), stage.brokers[side]
        for broker in found:
            broker.kill()
        yield
        for broker in found:
            brokers.await_gone(broker)
        brokers.heal()

    return strike


def leader(stage: Stage) -> list[Broker]:
    return [stage.brokers["destination"].leader(stage.mirror.named(stage.day.topic("t")))]


def coordinator(stage: Stage) -> list[Broker]:
    return [stage.brokers["destination"].coordinator(transactional_id(stage.mirror.name, 1))]


def everybody(side: Side) -> Callable[[Stage], list[Broker]]:
    return lambda stage: list(stage.brokers[side].cluster.brokers)


def troubled(side: Side, trouble: Trouble, seconds: float = 0.5) -> Strike:
    @contextmanager
    def strike(stage: Stage) -> Iterator[None]:
        trouble.begin(stage.lines[side])
        yield
        over = stage.day.journal.now() + 1000 * seconds
        stage.day.until(lambda: stage.day.journal.now() >= over, "time has passed")
        stage.lines[side].each(Proxy.heal)

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
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Side, Lines]]:
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
    sides: dict[Side, Lines], tmp_path: Path, step: str, row: str
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
    with Day(tmp_path, here, there, mirror, {"t": 3, "u": 1}) as day:
        stage = Stage(day, mirror, sides, brokers)
        aim.start(day)
        for name, strike in ROWS[row].items():
            standing = aim.taken(day, mirror)
            with day.fault(f"{name}, {step}"), strike(stage):
                send(signal.SIGCONT, standing)
            day.recovered(RECOVERY_SECONDS)
        assert len(mirror.runs) == 1, "nobody else had to do anything"
        day.end()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", ["records deleted", "recreated shorter", "recreated longer"])
def test_source_data_is_lost_at_a_step_and_each_offset_is_declared(
    new_day: NewDay, tmp_path: Path, step: str, what: str
) -> None:
    """One shard: what it has in hand is of the topic that is harmed, too."""
    aim = Aim(step, tmp_path / "flag")
    day, mirror = new_day(
        {"t": 1, "u": 2}, shards=1, on_gap="continue", on_recreate="restart", transaction_timeout="30s",
        **aim.keys,
    )  # fmt: skip
    with day:
        harm, topic = Harm(day, mirror), day.topic("u")
        aim.start(day)
        standing = aim.taken(day, mirror)
        with day.fault(f"{what}, {step}"):
            harm.write_some(50, "u")
            day.quiet()
            ends = harm.ends(topic)
            if what == "records deleted":
                for partition, end in ends.items():
                    harm.remove("source", topic, partition, end - 1 - partition)
            else:
                harm.recreate("u", records=max(ends.values()) + 50 if what == "recreated longer" else 5)
            send(signal.SIGCONT, standing)
        day.write(day.topics)
        day.until(lambda: harm.heard_of("u", "continue"), "it says what is gone, for both partitions")
        day.recovered()
        verdict = "gap" if what == "records deleted" else "recreated"
        assert {(suffix, found) for suffix, _, found, _, _ in harm.gaps()} == {("u", verdict)}
        assert not mirror.ledger().stopped
        day.end("I10")


@pytest.mark.parametrize("step", STEPS)
def test_a_destination_topic_is_deleted_at_a_step_and_its_partitions_stop(
    new_day: NewDay, tmp_path: Path, step: str
) -> None:
    aim = Aim(step, tmp_path / "flag")
    day, mirror = new_day({"t": 1, "u": 2}, shards=1, transaction_timeout="30s", **aim.keys)
    with day:
        harm = Harm(day, mirror)
        aim.start(day)
        standing = aim.taken(day, mirror)
        with day.fault(f"the destination's topic is deleted, {step}"):
            mirror.note_books(day.journal, whole=True)
            day.drain("destination")
            harm.delete("u", "destination")
            send(signal.SIGCONT, standing)
        day.until(lambda: harm.heard_of("u", "stop"), "it says so, for both partitions")
        day.advances(100)
        stopped = harm.stop_and_stand_still(6)
        assert {key: named[0] for key, named in stopped.items()} == {
            ("u", 0): "destination-deleted", ("u", 1): "destination-deleted",
        }  # fmt: skip
        day.end("I10", catch_up=False)


@pytest.mark.parametrize("step", STEPS)
def test_the_ledger_is_deleted_at_a_step_and_nothing_goes_on(
    new_day: NewDay, tmp_path: Path, step: str
) -> None:
    """What was on its way may arrive, once: nobody starts again from a ledger that is gone."""
    aim = Aim(step, tmp_path / "flag")
    day, mirror = new_day({"t": 1, "u": 2}, shards=1, transaction_timeout="30s", **aim.keys)
    with day:
        aim.start(day)
        standing = aim.taken(day, mirror)
        with day.fault(f"the ledger is deleted, {step}", crash=True):
            delete_topic(day.admins["destination"], ledger_topic(mirror.name))
            send(signal.SIGCONT, standing)
            assert mirror.run.wait() == 6, mirror.output
        assert "the ledger was deleted under the mirror" in mirror.output
        assert "Traceback" not in mirror.output
        run = mirror.start("--stop-at-end")
        assert run.wait() == 6, run.output
        assert "is missing, but its offset map holds what it has carried" in run.output
        report = day.end(judge=False, catch_up=False)
        found = {name: report.rulings[name].answer for name in ("I2", "I3", "I4", "I5", "I6")}
        assert found == dict.fromkeys(found, "holds"), report
