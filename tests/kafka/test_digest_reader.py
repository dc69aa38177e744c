"""A scan returns every committed record once, and different records have different digests."""

from __future__ import annotations

import itertools

import pytest
from confluent_kafka import TopicPartition

from causeway.core.cluster import Cluster
from causeway.errors import IntegrityError
from causeway.kafka.admin import ClusterView
from causeway.kafka.digest_reader import Expired, PartitionReader, differing_fields
from support.records import Rec, read_offsets
from support.world import World, now_ms

AT = now_ms()


def cluster(world: World, on: str = "source") -> Cluster:
    return Cluster(on, {"bootstrap.servers": world.servers[on]})


def stable_end(world: World, topic: str) -> int:
    return ClusterView(cluster(world)).offsets([(topic, 0)], "stable")[topic, 0]


def partition(
    world: World, topic: str, *, end: int | None = None, timestamps: bool = True
) -> PartitionReader:
    end = stable_end(world, topic) if end is None else end
    return PartitionReader(cluster(world), topic, 0, end, timestamps=timestamps)


def scanned(world: World, topic: str, start: int = 0, **how: bool) -> list[tuple[int, bytes]]:
    records: list[tuple[int, bytes]] = []
    for offsets, digests in partition(world, topic, **how).digests(start):
        records += zip(offsets, digests, strict=True)
    return records


def write(world: World, topic: str, records: list[Rec], transaction: str | None = None) -> None:
    world.produce(topic, [(0, record) for record in records], transaction=transaction)


def delete_before(world: World, topic: str, offset: int) -> None:
    admin = world.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(30)


DIFFERENT = [
    Rec(None, None, (), AT),
    Rec(b"", None, (), AT),
    Rec(None, b"", (), AT),
    Rec(b"", b"", (), AT),
    Rec(b"ab", b"c", (), AT),
    Rec(b"a", b"bc", (), AT),
    Rec(b"", b"abc", (), AT),
    Rec(b"abc", b"", (), AT),
    Rec(b"abc", None, (), AT),
    Rec(b"k", b"v", (), AT),
    Rec(b"k", b"v", (), AT + 1),
    Rec(b"k", b"v", (("a", b"1"),), AT),
    Rec(b"k", b"v", (("a", b""),), AT),
    Rec(b"k", b"v", (("a", None),), AT),
    Rec(b"k", b"v", (("a1", b""),), AT),
    Rec(b"k", b"v", (("", b"a1"),), AT),
    Rec(b"k", b"v", (("a", b"1"), ("a", b"1")), AT),
    Rec(b"k", b"v", (("a", b"1"), ("b", b"2")), AT),
    Rec(b"k", b"v", (("b", b"2"), ("a", b"1")), AT),
    Rec(b"k", b"va", (("", b"1"),), AT),
]


def test_different_records_have_different_digests_and_equal_ones_the_same(world: World) -> None:
    topic = world.topic("digests")
    write(world, topic, DIFFERENT)
    write(world, topic, DIFFERENT)

    digests = [digest for _, digest in scanned(world, topic)]

    assert digests[: len(DIFFERENT)] == digests[len(DIFFERENT) :]
    assert len(set(digests)) == len(DIFFERENT)


def test_timestamps_can_be_left_out(world: World) -> None:
    topic = world.topic("timeless")
    write(world, topic, [Rec(b"k", b"v", (), AT), Rec(b"k", b"v", (), AT + 1)])

    with_them = {digest for _, digest in scanned(world, topic)}
    without = {digest for _, digest in scanned(world, topic, timestamps=False)}

    assert (len(with_them), len(without)) == (2, 1)


def test_a_scan_reads_the_same_records_as_a_consumer_between_and_after_transactions(world: World) -> None:
    topic = world.topic("transactions")
    for number, outcome in enumerate(["commit", "abort", None, "abort", "commit", "abort"]):
        write(world, topic, [Rec(b"k", f"{number}/{n}".encode(), (), AT) for n in range(20)], outcome)
    wanted = [offset for offset, _ in read_offsets(world.servers["source"], topic)[0]]

    offsets_read = [offset for offset, _ in scanned(world, topic)]

    assert offsets_read == wanted
    assert len(offsets_read) == 60
    assert stable_end(world, topic) > offsets_read[-1] + 1  # markers and aborted records at the end


def test_a_log_of_only_aborted_records_is_read_to_its_end(world: World) -> None:
    topic = world.topic("aborted")
    write(world, topic, [Rec(b"k", b"v", (), AT)] * 5, "abort")

    assert scanned(world, topic) == []


def test_a_scan_begins_and_ends_at_the_given_offsets(world: World) -> None:
    topic = world.topic("range")
    write(world, topic, [Rec(b"k", str(n).encode(), (), AT) for n in range(100)])

    for start, end in itertools.product((0, 1, 50), (1, 2, 99, 100)):
        batches = partition(world, topic, end=end).digests(start)
        offsets_read = [offset for offsets, _ in batches for offset in offsets]
        assert offsets_read == list(range(start, end))


def test_a_log_that_is_shorter_than_its_captured_end_is_read_to_its_current_end(world: World) -> None:
    """E.g. truncated by an unclean election: the rest is missing, and a scan must not wait for it."""
    topic = world.topic("short")
    write(world, topic, [Rec(b"k", b"v", (), AT)] * 3)

    batches = partition(world, topic, end=1_000).digests(0)

    assert [offset for offsets, _ in batches for offset in offsets] == [0, 1, 2]


def test_offsets_that_retention_deleted_are_not_skipped_silently(world: World) -> None:
    topic = world.topic("expired")
    write(world, topic, [Rec(b"k", b"v", (), AT)] * 10)
    delete_before(world, topic, 5)

    with pytest.raises(Expired):
        scanned(world, topic)
    assert partition(world, topic).log_start() == 5


def test_a_topic_that_does_not_exist_is_an_error_that_names_it(world: World) -> None:
    with pytest.raises(IntegrityError, match="deleted") as caught:
        list(partition(world, world.name("nowhere"), end=1).digests(0))
    assert world.name("nowhere") in caught.value.where


def test_keyed_digests_mark_tombstones_and_skip_records_without_a_key(world: World) -> None:
    topic = world.topic("keyed")
    write(world, topic, [Rec(b"a", b"1", (), AT), Rec(None, b"2", (), AT), Rec(b"a", None, (), AT)])

    [(offsets, keys, digests, deletes)] = list(partition(world, topic).keyed_digests(0))

    assert (offsets, deletes) == ([0, 2], [False, True])
    assert keys[0] == keys[1]
    assert digests[0] != digests[1]


def test_differing_fields_are_named(world: World) -> None:
    topic = world.topic("fields")
    first = Rec(b"k", b"v", (("a", b"1"), ("b", None)), AT)
    others = [
        first._replace(key=b""),
        first._replace(value=None),
        first._replace(headers=first.headers[::-1]),
        first._replace(timestamp=AT + 1),
    ]
    write(world, topic, [first, *others])
    read = partition(world, topic)

    before = read.record_at(0)
    named = [differing_fields(before, read.record_at(n), timestamps=True) for n in range(5)]

    assert named == [(), ("key",), ("value",), ("headers",), ("timestamp",)]
    assert differing_fields(before, read.record_at(4), timestamps=False) == ()
    assert differing_fields(before, None, timestamps=True) == ()
