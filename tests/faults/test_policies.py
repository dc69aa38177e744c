"""Policies that let the mirror continue: each offset that it skips is in the ledger."""

from __future__ import annotations

import os

import pytest

from causeway.core.task_order import quarantine_topic
from causeway.rules.quarantine import label_of
from support.poison import KEYLESS, TOO_LARGE, TOO_NEW, TOO_OLD, Poison
from support.records import Rec, read_all
from support.topics import delete_topic
from support.world import World, now_ms


def recreate(world: World, suffix: str, partitions: int = 1) -> None:
    topic = world.name(suffix)
    delete_topic(world.admin(), topic)
    world.topic(suffix, partitions)


def assert_balanced(world: World) -> None:
    for position in world.ledger().positions.values():
        assert position.offset - position.start == position.tally.offsets, position


@pytest.mark.deep
def test_gaps_and_new_topics_are_gone_over_where_that_is_allowed_and_stay_in_the_ledger(world: World) -> None:
    """While it is stopped, and while it runs."""
    gap, again = world.topic("gap", 2), world.topic("again", 1)
    config = world.config(on_gap="continue", on_recreate="restart", shards=2)
    world.produce(gap, world.numbers(100, 2))
    first = world.numbers(10)
    world.produce(again, first)
    world.carry_all(config)
    world.produce(gap, world.numbers(100, 2, 100))
    world.delete_records(gap, 1, 70)
    recreate(world, "again")
    world.produce(again, world.numbers(50, 1, 1_000))

    run = world.run(config)

    run.until(lambda: world.carried() == 180 + 50, "everything that is left is replicated")
    assert [len(found) for found in world.read(gap).values()] == [100, 80]
    assert world.read(again)[0] == [rec for _, rec in first] + world.read(again, "source")[0]
    recreate(world, "again")
    world.produce(again, world.numbers(20, 1, 2_000))
    run.until(lambda: len(world.read(again)[0]) == 80, "the third topic of that name is replicated too")
    assert run.stop() == 0, run.output
    assert world.read(again)[0][60:] == world.read(again, "source")[0]
    assert f"{gap}[1]: skipped offsets 50 to 69 (20)" in run.output
    assert run.output.count(f"{again}[0]: started with another topic of this name at offset 0") == 2
    image = world.ledger()
    assert not image.stopped
    assert_balanced(world)
    assert sorted((one.topic, one.begin, one.end, one.verdict) for one in image.gaps.values()) == [
        (again, 10, 0, "recreated"),
        (again, 50, 0, "recreated"),
        (gap, 50, 70, "gap"),
    ]
    world.carry_all(world.config(shards=1))
    assert world.ledger().gaps == image.gaps, "another sharding forgets nothing"


REFUSALS = [
    ("exactly-once", "auto", TOO_LARGE),
    ("exactly-once", "object", KEYLESS),
    *(
        pytest.param(delivery, carrier, poison, marks=pytest.mark.deep)
        for delivery, carrier, poison in [
            ("exactly-once", "auto", KEYLESS),
            ("exactly-once", "auto", TOO_OLD),
            ("exactly-once", "object", TOO_OLD),
            ("exactly-once", "auto", TOO_NEW),
            ("at-least-once", "auto", TOO_LARGE),
            ("at-least-once", "object", TOO_OLD),
            ("at-least-once", "auto", KEYLESS),
        ]
    ),
]


@pytest.mark.parametrize(("delivery", "carrier", "poison"), REFUSALS, ids=str)
def test_records_that_the_destination_refuses_go_to_the_quarantine(
    world: World, delivery: str, carrier: str, poison: Poison
) -> None:
    """All that is known of them is there; everything else arrives, in order, and the ledger balances."""
    topic = world.topic("t", 2, config={"max.message.bytes": "2000000"})
    world.topic("t", 2, on="destination", config=poison.config)
    bad = [poison.record(), poison.record()]
    world.produce(topic, world.numbers(40, 2))
    world.produce(topic, [(0, bad[0]), (0, bad[1])])
    world.produce(topic, world.numbers(40, 2, 40))
    world.produce(topic, [(1, Rec(b"k", b"without a time", (), -1))])
    world.produce(topic, [(0, bad[0])])
    world.produce(topic, world.numbers(40, 2, 80))

    world.carry_all(world.config(on_poison="quarantine", shards=2, delivery=delivery, carrier=carrier))

    quarantined = read_all(world.servers["destination"], quarantine_topic(world.mirror))[0]
    labels = [label_of(rec.headers) for rec in quarantined]
    found = {}
    for rec, label in zip(quarantined, labels, strict=True):
        assert label is not None
        found[label.source.partition, label.offset] = (rec, label)
    small = [rec for _, rec in world.numbers(120, 2)]
    there = world.read(topic)
    for number, records in there.items():
        values = [rec.value for rec in records]
        if delivery == "at-least-once":  # each attempt at finding the record repeated what lies before it
            values = list(dict.fromkeys(values))
        assert values == [rec.value for rec in small[number::2]]
    assert sorted(found) == [(0, 20), (0, 21), (0, 42), (1, 40)]
    for offset, original in ((20, bad[0]), (21, bad[1]), (42, bad[0])):
        rec, label = found[0, offset]
        assert (rec.key, rec.value) == (original.key, original.value)
        assert rec.headers[: len(original.headers)] == original.headers
        assert (label.source.topic, label.timestamp) == (topic, original.timestamp)
        assert f"rejects the record at {topic}[0] offset {offset}: {poison.said}" in label.reason
    timeless, label = found[1, 40]
    assert (timeless.value, label.timestamp) == (b"without a time", -1)
    image = world.ledger()
    assert not image.stopped
    assert_balanced(world)
    assert {source.partition: position.tally.quarantined for source, position in image.positions.items()} == {
        0: 3,
        1: 1,
    }


@pytest.mark.deep
def test_what_not_even_the_quarantine_takes_stops_its_partition(world: World) -> None:
    topic = world.topic("t", 1, config={"max.message.bytes": "2000000"})
    world.topic("t", 1, on="destination", config={"max.message.bytes": "10000"})
    config = world.config(on_poison="quarantine")
    world.produce(topic, world.numbers(5))
    world.carry_all(config)
    world.alter(quarantine_topic(world.mirror), "max.message.bytes", "20000", on="destination")
    world.produce(topic, [(0, Rec(b"k", os.urandom(50_000), (), now_ms()))])
    world.produce(topic, world.numbers(5, 1, 5))

    run = world.run(config, "--stop-at-end")

    assert run.wait() == 7, run.output
    assert f"{topic}[0] offset 5" in run.output
    assert len(world.read(topic)[0]) == 5


@pytest.mark.deep
def test_a_quarantine_that_was_deleted_is_missed(world: World) -> None:
    """It is created again; only the ledger knows that there were records in it."""
    topic, aside = world.topic("t", 1), quarantine_topic(world.mirror)
    world.topic("t", 1, on="destination", config=KEYLESS.config)
    world.produce(topic, [(0, KEYLESS.record()), (0, KEYLESS.record()), *world.numbers(5)])
    config = world.config(on_poison="quarantine")
    first = world.carry_all(config)
    delete_topic(world.admin("destination"), aside)

    second, third = world.carry_all(config), world.carry_all(config)

    lost = f"topic {aside} was deleted, with 2 quarantined records in it"
    assert [lost in run.output for run in (first, second, third)] == [False, True, False]
