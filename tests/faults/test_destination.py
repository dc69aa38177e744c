"""What happens to a destination under the mirror: it waits, or stops and says so; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from causeway.local_kafka import EmbeddedCluster
from faults.conftest import NewDay
from faults.day import Day
from faults.events import Sent
from faults.harm import Harm
from faults.logs import cut_behind_a_commit
from faults.mirrors import CausewayMirror
from support.world import World

deep = pytest.mark.deep

LIMIT, TOO_LARGE = 40_000, 60_000  # bytes; the workload's own records are smaller than both


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    """A destination that may be stopped and harmed."""
    with EmbeddedCluster.start("frail", directory=tmp_path_factory.mktemp("frail")) as cluster:
        yield cluster


@pytest.fixture
def frail_day(source: EmbeddedCluster, frail: EmbeddedCluster, tmp_path: Path) -> NewDay:
    def make(topics: dict[str, int], **keys: Any) -> tuple[Day, CausewayMirror]:
        mirror = CausewayMirror(tmp_path, source, frail, **keys)
        return Day(tmp_path, source, frail, mirror, topics), mirror

    return make


def narrow(day: Day, suffix: str, partitions: int) -> str:
    """The destination's topic is there already, and takes no large records."""
    topic = day.mirror.named(day.topic(suffix))
    config = {
        "max.message.bytes": str(LIMIT),
        "retention.ms": "-1",
        "message.timestamp.after.max.ms": str(2**63 - 1),
    }
    day.admins["destination"].create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result()
    return topic


def poison(harm: Harm, partition: int) -> int:
    offset = harm.send("u", partition, TOO_LARGE)
    harm.day.damage("poison", "source", harm.day.topic("u"), partition, offset)
    return offset


def test_what_the_destination_refuses_is_set_aside_once_although_the_mirror_is_killed_over_it(
    new_day: NewDay,
) -> None:
    """Killed while it looks for the record that was refused; more of them come while it is away."""
    day, mirror = new_day({"t": 1, "u": 2}, on_poison="quarantine", max_transaction_records=500)
    with day:
        harm = Harm(day, mirror)
        narrow(day, "u", 2)
        day.start()
        bad = {(0, poison(harm, 0))}
        with day.fault("kill -9 while it looks for a record that was refused", crash=True):
            day.until(lambda: "starting again" in mirror.output, "a transaction was refused")
            mirror.kill()
            bad |= {(1, poison(harm, 1)), (0, poison(harm, 0))}
        mirror.start()
        harm.until_set_aside(bad)
        day.recovered()
        bad |= {(1, poison(harm, 1))}
        harm.until_set_aside(bad)
        sent = {one.token: one.content for one in day.journal.history().of(Sent)}
        assert set(harm.aside.values()) <= set(sent.values()), "a quarantined record is not what was sent"
        assert not mirror.ledger().stopped
        day.end("I10")


@deep
def test_a_refused_record_stops_its_partition_until_the_destination_takes_it(new_day: NewDay) -> None:
    day, mirror = new_day({"t": 1, "u": 2})
    with day:
        harm = Harm(day, mirror)
        place = narrow(day, "u", 2)
        day.start()
        with day.fault("a record that is too large"):
            offset = poison(harm, 1)
            day.until(lambda: harm.heard("poison", "u", 1), "it says so")
        day.advances(200)
        stopped = harm.stop_and_stand_still(7)
        assert stopped == {("u", 1): ("poison", offset, -1, 0)}
        assert f"{day.topic('u')}[1] offset {offset}" in mirror.output
        with day.fault("the destination takes it"):
            harm.alter("destination", place, **{"max.message.bytes": str(2 * TOO_LARGE)})
            mirror.start()
            day.until(lambda: harm.goes_on("u", 1), "the partition goes on")
        day.write(day.topics)
        day.recovered()
        day.end("I10")


@deep
@pytest.mark.parametrize("what", ["deleted", "recreated"])
@pytest.mark.parametrize("when", ["running", "away"])
def test_a_destination_topic_that_is_not_the_one_carried_to_stops_its_partitions(
    new_day: NewDay, what: str, when: str
) -> None:
    day, mirror = new_day({"t": 1, "u": 2})
    with day:
        harm = Harm(day, mirror)
        day.start()
        harm.all_carried()
        with day.fault(f"the destination's topic is {what}, the mirror is {when}"), harm.meanwhile(when):
            harm.delete("u", "destination", kind=what)
            if what == "recreated":
                name = mirror.named(day.topic("u"))
                day.admins["destination"].create_topics([NewTopic(name, 2, 1)])[name].result()
        day.write(day.topics)
        day.until(lambda: harm.heard_of("u", "stop"), "it says so, for both partitions")
        day.advances(100)
        stopped = harm.stop_and_stand_still(6)
        assert {key: named[0] for key, named in stopped.items()} == {
            ("u", 0): f"destination-{what}", ("u", 1): f"destination-{what}",
        }  # fmt: skip
        assert "a new mirror name starts from the beginning" in mirror.output
        day.end("I10", catch_up=False)


@deep
def test_records_deleted_at_the_destination_are_its_own_business(new_day: NewDay) -> None:
    day, mirror = new_day({"t": 1, "u": 2})
    with day:
        harm = Harm(day, mirror)
        day.start()
        harm.all_carried()
        with day.fault("records are deleted at the destination"):
            harm.delete_delivered("u", 0)
            harm.delete_delivered("u", 1, all_of_them=True)
        day.write(day.topics)
        day.advances(200)
        day.recovered()
        assert not mirror.ledger().stopped
        day.end("I10")


@deep
def test_a_destination_that_lost_the_end_of_a_log_stops_the_partition(frail_day: NewDay) -> None:
    """A broker without a battery: what it had acknowledged is not on its disk when it comes back."""
    day, mirror = frail_day({"t": 1, "u": 2})
    with day:
        harm = Harm(day, mirror)
        day.start()
        day.advances(500)
        harm.all_carried()
        (broker,) = day.clusters["destination"].brokers
        with day.fault("the destination's broker loses the end of a log"):
            broker.kill()
            end = cut_behind_a_commit(broker.directory / "data" / f"{mirror.named(day.topic('u'))}-1")
            broker.start()
            day.damage("truncated", "destination", mirror.named(day.topic("u")), 1, end)
            day.write(day.topics)
            day.until(lambda: harm.heard("destination-truncated", "u", 1), "it says what is gone")
        (said,) = harm.heard("destination-truncated", "u", 1)
        assert said.found == end < said.expected
        day.advances(100)
        stopped = harm.stop_and_stand_still(6)
        assert stopped == {("u", 1): ("destination-truncated", said.expected, end, said.expected - end)}
        day.end("I10", catch_up=False)


@deep
def test_a_log_that_was_cut_while_nobody_ran_is_judged_although_nothing_is_left_to_carry(
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
    end = cut_behind_a_commit(broker.directory / "data" / f"{topic}-0")
    broker.start()

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 6, run.output
    (stopped,) = world.ledger().stopped.values()
    assert (stopped.verdict, stopped.found) == ("destination-truncated", end)
    assert stopped.what in run.output
