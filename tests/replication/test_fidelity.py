"""Bit for bit: the records that were written arrive unchanged, and no others."""

from __future__ import annotations

import os

import pytest

from support.records import Rec, read_offsets
from support.world import World, now_ms

DAY = 24 * 60 * 60 * 1000


def zoo() -> list[Rec]:
    at = now_ms()
    keys_and_values: list[tuple[bytes | None, bytes | None]] = [
        (None, None), (None, b""), (b"", None), (b"", b""), (b"k", None), (None, b"v"), (b"\0\xff", b"\xfe"),
    ]  # fmt: skip
    headers: list[tuple[tuple[str, bytes | None], ...]] = [
        (("a", b"1"),),
        (("a", b"1"), ("b", b"2"), ("a", b"3")),  # order, and a name twice
        (("null", None), ("empty", b""), ("bytes", b"\x00\xff\xfe")),
        (("ключ", "значение".encode()), ("", b"no name")),
        tuple((f"h{n}", os.urandom(20)) for n in range(50)),
    ]
    stamps = [1, at - 400 * DAY, at - DAY, at, at + DAY, at + 400 * DAY]
    sizes = [1, 2, 100, 10_000, 100_000, 900_000]
    return [
        *(Rec(key, value, (), at) for key, value in keys_and_values),
        *(Rec(b"k", b"v", names, at) for names in headers),
        *(Rec(None, None, names, at) for names in headers),
        *(Rec(b"t", b"stamp", (), stamp) for stamp in stamps),
        *(Rec(b"s", os.urandom(size), (), at) for size in sizes),
    ]


def test_records_of_every_form_arrive_unchanged(world: World) -> None:
    """Null is not empty, headers keep order and duplicates, timestamps are in the past and the future."""
    topics = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        topic = world.topic(codec, 2)
        world.produce(topic, [(n % 2, rec) for n, rec in enumerate(zoo())], **{"compression.type": codec})
        topics.append(topic)

    world.carry_all(world.config())

    world.assert_mirrored(*topics)
    assert sum(map(len, world.read(topics[0]).values())) == len(zoo())


def test_offset_0_arrives_and_order_holds(world: World) -> None:
    topic = world.topic("order", 3)
    world.produce(topic, world.numbers(30_000, 3))

    world.carry_all(world.config())

    world.assert_mirrored(topic)
    first = read_offsets(world.servers["destination"], topic)[0][0]
    assert (first[0], first[1].value) == (0, b"0".ljust(20, b"."))


def test_aborted_transactions_do_not_arrive_and_committed_ones_do(world: World) -> None:
    """Also if the log has nothing else, at the end of the log, and in between."""
    topic = world.topic("txn", 2)
    only_aborted = world.topic("aborted", 1)
    world.produce(topic, world.numbers(100, 2))
    world.produce(topic, world.numbers(100, 2, 1000), transaction="abort")
    world.produce(topic, world.numbers(100, 2, 2000), transaction="commit")
    world.produce(topic, world.numbers(100, 2, 3000), transaction="abort")
    world.produce(only_aborted, world.numbers(10), transaction="abort")

    world.carry_all(world.config())

    world.assert_mirrored(topic)
    values = [rec.value or b"" for records in world.read(topic).values() for rec in records]
    assert len(values) == 200
    assert not [value for value in values if value.startswith((b"1000", b"3000"))]
    assert world.read(only_aborted) == {0: []}


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_large_records_are_replicated_if_both_brokers_allow_them(world: World, delivery: str) -> None:
    """And small limits are respected: a batch is no larger than the destination topic allows."""
    large = world.topic("large", 1, config={"max.message.bytes": "6000000"})
    small = world.topic("small", 1, config={"max.message.bytes": "2000"})
    at = now_ms()
    world.produce(large, [(0, Rec(b"k", os.urandom(5_000_000), (), at)), (0, Rec(b"k", b"after", (), at))])
    world.produce(
        small, [(0, Rec(None, os.urandom(1500), (), at)) for _ in range(200)], **{"batch.num.messages": "1"}
    )

    world.carry_all(world.config(delivery=delivery))

    world.assert_mirrored(large, small)
