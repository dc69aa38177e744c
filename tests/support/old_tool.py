"""Plain loops in place of the old tools that `adopt` takes over from, and the checks after a takeover."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from support.placing import assert_all_in_order, java, sarama
from support.records import Rec
from support.typed import causeway
from support.world import World, now_ms

RECORDS = 300  # of each source partition, of which the old tool copies some
WINDOW = "60"
Partitions = Mapping[int, Sequence[Rec]]


def adopt(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return causeway("adopt", config, "--window", WINDOW, *arguments)


def fill(
    world: World, topic: str, partitions: int, start: int = 0, count: int = RECORDS, *, nulls: bool = True
) -> None:
    """Records that differ from each other, some of them without a key or a value."""
    at = now_ms()
    records = []
    for n in range(start * partitions, (start + count) * partitions):
        tombstone = nulls and n % 13 == 5
        key = None if nulls and n % 11 == 3 else f"k{n if tombstone else n % 97}".encode()
        value = None if tombstone and key is not None else f"{topic} {n}".encode()
        records.append((n % partitions, Rec(key, value, (("h", b"1"),), at)))
    world.produce(topic, records)


class OldTool:
    """Copies the beginning of a topic's partitions, each up to its own point."""

    def __init__(self, world: World, source: str, destination: str) -> None:
        self.world = world
        self.source = source
        self.destination = destination
        self.records = world.read(source, "source")

    def copy(
        self,
        upto: Sequence[int],
        place: Callable[[int, Rec], int],
        *,
        timestamps: bool = False,
        transactions: bool = False,
    ) -> None:
        """Alternating between partitions, so that they mix."""
        waiting = {number: list(self.records[number][:count]) for number, count in enumerate(upto)}
        copied = []
        while any(waiting.values()):
            for number, records in waiting.items():
                for rec in records[:7]:
                    stamp = rec.timestamp if timestamps else now_ms()
                    copied.append((place(number, rec), Rec(rec.key, rec.value, (), stamp)))
                del records[:7]
        each = 100 if transactions else len(copied)
        for first in range(0, len(copied), each):
            some, kind = copied[first : first + each], "commit" if transactions else None
            self.world.produce(self.destination, some, on="destination", transaction=kind)

    def commit(self, group: str, offsets: Iterable[int]) -> None:
        consumer = Consumer({"bootstrap.servers": self.world.servers["source"], "group.id": group})
        positions = [TopicPartition(self.source, number, offset) for number, offset in enumerate(offsets)]
        consumer.commit(offsets=positions, asynchronous=False)
        consumer.close()


def by_murmur2(partitions: int) -> Callable[[int, Rec], int]:
    """As Java producers place records, and Kafka REO with them."""
    return lambda _, rec: java(rec.key or b"", partitions)


def by_fnv1a(partitions: int) -> Callable[[int, Rec], int]:
    """As Kafka Topic Mirror places records; those without a key all go to one partition."""
    return lambda _, rec: sarama(rec.key or b"", partitions)


def same(number: int, _rec: Rec) -> int:
    return number


def contents(partitions: Partitions) -> dict[int, list[Rec]]:
    """Keys and values, which all tools keep."""
    return {n: [Rec(rec.key, rec.value, (), 0) for rec in records] for n, records in partitions.items()}


def assert_taken_over(world: World, source: str, destination: str) -> None:
    """Every record once, in order."""
    assert_all_in_order(contents(world.read(source, "source")), contents(world.read(destination)))


def begins(world: World, mirror: str = "") -> dict[tuple[str, int], int]:
    """The first positions in a mirror's ledger."""
    return {(key.topic, key.partition): at.start for key, at in world.ledger(mirror).positions.items()}


def copied_topic(world: World, suffix: str, upto: Sequence[int]) -> tuple[str, OldTool]:
    """A topic copied up to these offsets, under the same name, into the same partitions."""
    topic = world.topic(suffix, len(upto))
    world.topic(suffix, len(upto), on="destination")
    fill(world, topic, len(upto))
    old = OldTool(world, topic, topic)
    old.copy(upto, same, timestamps=True)
    return topic, old


def twice_and_lost(world: World, source: str, destination: str) -> tuple[int, int]:
    """The numbers of duplicated and of lost records on the destination."""
    here, there = (
        Counter((rec.key, rec.value) for records in world.read(topic, on).values() for rec in records)
        for topic, on in ((source, "source"), (destination, "destination"))
    )
    return (there - here).total(), (here - there).total()
