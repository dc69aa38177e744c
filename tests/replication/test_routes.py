"""Routes: names, partitions, many into one, within one cluster; each replicated, stopped and resumed."""

from __future__ import annotations

from collections import Counter

from support.records import Rec
from support.world import World, now_ms


def keyed(count: int, start: int = 0) -> list[tuple[int, Rec]]:
    at = now_ms()
    return [
        (n % 3, Rec(f"key-{n % 50}".encode(), f"{n}".encode(), (("n", str(n).encode()),), at + n))
        for n in range(start, start + count)
    ]


def test_names_and_partitions(world: World) -> None:
    """Each route in a mirror of its own, two runs: the second does not repeat the first."""
    topics = [
        world.topic(suffix, 3) for suffix in ("prefixed", "renamed", "keyed", "mapped", "fixed", "folded")
    ]
    prefixed, renamed, by_key, mapped, fixed, folded = topics
    world.topic("few", 2, on="destination")
    for topic in topics:
        # By key each record is a run of the offset map: more runs than one record can hold.
        world.produce(topic, keyed(60_000 if topic == by_key else 300))
    pairs = [{"src": 0, "dest": 2}, {"src": 1, "dest": 4}, {"src": 2, "dest": 0}]
    config = world.mirrors(
        {
            "topics": [prefixed, renamed],
            "prefix": "eu.",
            "suffix": ".v1",
            "rename": {renamed: world.name("to")},
        },
        {"topics": [by_key], "prefix": "eu.", "partitions": "by-key", "queue_records": 7_000, "shards": 1},
        {"topics": [mapped, fixed], "prefix": "eu.", "partition_map": {mapped: pairs, fixed: 1}},
        {"topics": [folded], "rename": {folded: world.name("few")}, "modulo": True},
    )
    world.carry_all(config)
    for topic in topics:
        world.produce(topic, keyed(200, start=60_000))
    world.carry_all(config)

    assert world.read(f"eu.{prefixed}.v1") == world.read(prefixed, "source")
    assert world.read(world.name("to")) == world.read(renamed, "source")
    here = world.read(mapped, "source")
    there = world.read(f"eu.{mapped}")
    assert {number: there[number] for number in range(5)} == {
        0: here[2], 1: [], 2: here[0], 3: [], 4: here[1],
    }  # fmt: skip
    assert_merged(world.read(fixed, "source"), world.read(f"eu.{fixed}"), {0: 1, 1: 1, 2: 1})
    assert_merged(world.read(folded, "source"), world.read(world.name("few")), {0: 0, 1: 1, 2: 0})
    assert_by_key(world.read(by_key, "source"), world.read(f"eu.{by_key}"))
    world.assert_mapped(by_key, f"eu.{by_key}", f"{world.mirror}-1")
    world.assert_mapped(fixed, f"eu.{fixed}", f"{world.mirror}-2")
    for index in range(4):
        name = f"{world.mirror}-{index}" if index else world.mirror
        for source, position in world.ledger(name).positions.items():
            assert position.offset - position.start == position.tally.offsets, source


def assert_merged(here: dict[int, list[Rec]], there: dict[int, list[Rec]], to: dict[int, int]) -> None:
    """Every record once, where `to` says, in the order of its source partition."""
    wanted = Counter(rec for recs in here.values() for rec in recs)
    assert Counter(rec for recs in there.values() for rec in recs) == wanted
    for number, recs in here.items():
        mine = set(recs)
        assert [rec for rec in there[to[number]] if rec in mine] == recs


def assert_by_key(here: dict[int, list[Rec]], there: dict[int, list[Rec]]) -> None:
    """Every record once; a key's records in one partition, in their order."""
    wanted = Counter(rec for recs in here.values() for rec in recs)
    assert Counter(rec for recs in there.values() for rec in recs) == wanted
    for recs in here.values():
        mine = set(recs)
        for records in there.values():
            arrived = [rec for rec in records if rec in mine]
            there_too = set(arrived)
            assert arrived == [rec for rec in recs if rec in there_too]
    homes: dict[bytes | None, set[int]] = {}
    for number, recs in there.items():
        for rec in recs:
            homes.setdefault(rec.key, set()).add(number)
    assert all(len(numbers) == 1 for numbers in homes.values())
    assert len({number for numbers in homes.values() for number in numbers}) > 1
