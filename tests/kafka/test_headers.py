"""Headers that clients have trouble with: written and read back through sockets, without a client."""

from __future__ import annotations

from struct import Struct
from typing import get_args

import pytest
from confluent_kafka import KafkaError, TopicPartition

from causeway.core.choices import CarrierChoice
from causeway.core.cluster import Cluster
from causeway.core.task_order import quarantine_topic
from causeway.kafka import clients
from causeway.kafka.admin import ClusterView
from causeway.kafka.native import consumer_handle, library
from causeway.kafka.native.consumer_handle import ObjectConsumer
from causeway.kafka.native.messages import Consumed, UnreadableHeaders
from causeway.kafka.quarantine import read_labels
from causeway.rules.header_names import MOST_HEADERS, encoded
from causeway.rules.integrity import Finding
from causeway.rules.quarantine import PREFIX, Label
from support import raw
from support.carrier_run import CarrierRun
from support.process import eventually
from support.raw import Raw
from support.world import World, now_ms

KINDS: tuple[CarrierChoice, ...] = tuple(kind for kind in get_args(CarrierChoice) if kind != "auto")
carriers = pytest.mark.parametrize("kind", KINDS)

FIRST, LAST = Raw(b"k", b"first", ((b"h", b"1"),)), Raw(b"k", b"last")
AS_MANY_AS_CAN_BE = Raw(b"k", b"v", ((b"", b""),) * MOST_HEADERS)
TOO_MANY = Raw(b"k", b"v", ((b"", b""),) * (MOST_HEADERS + 1))
NUL = Raw(b"k", b"v", ((b"a\0b", b"1"), (b"a", b"2"), (b"\0", None), (b"", b"")))
NOT_UTF8 = Raw(None, None, ((b"\xff\xfe", b"1"), (b"\xc3\xa9", None)))
LARGE = {"max.message.bytes": "4000000"}


def scene(world: World, *odd: Raw) -> tuple[str, str]:
    """A topic with odd records between ordinary ones, and its destination topic."""
    topic = world.topic("t", config=LARGE)
    raw.produce(world.servers["source"], topic, [FIRST, *odd, LAST], now_ms())
    return topic, world.topic("t", on="destination", config=LARGE)


def arrived(world: World, topic: str) -> list[Raw]:
    return raw.read(world.servers["destination"], topic)


@carriers
@pytest.mark.parametrize("odd", [AS_MANY_AS_CAN_BE, FIRST], ids=["as-many-as-can-be", "plain"])
def test_headers_that_every_client_can_handle_arrive_as_they_were(
    world: World, kind: CarrierChoice, odd: Raw
) -> None:
    topic, to = scene(world, odd)
    with CarrierRun(world, kind, topic, to, compression="none") as run:
        run.replicate_to_end()
        run.settled()
        assert run.states[0].finding is None
    assert arrived(world, to) == [FIRST, odd, LAST]


def test_names_with_a_nul_and_names_that_are_not_utf8_arrive_as_they_were(world: World) -> None:
    topic, to = scene(world, NUL, NOT_UTF8)
    with CarrierRun(world, "native", topic, to, compression="none") as run:
        run.replicate_to_end()
        run.settled()
    assert arrived(world, to) == [FIRST, NUL, NOT_UTF8, LAST]


@pytest.mark.parametrize(
    ("kind", "odd", "why"),
    [
        ("native", TOO_MANY, "cannot be read"),
        ("object", TOO_MANY, "cannot be read"),
        ("object", NUL, r"header name that the client cannot write: b'a\x00b'"),
        ("object", NOT_UTF8, r"header name that the client cannot write: b'\xff\xfe'"),
    ],
    ids=["native-too-many", "object-too-many", "object-nul", "object-not-utf8"],
)
def test_a_partition_stops_before_headers_that_cannot_be_written_as_they_are(
    world: World, kind: CarrierChoice, odd: Raw, why: str
) -> None:
    topic, to = scene(world, odd)
    with CarrierRun(world, kind, topic, to, compression="none") as run:
        run.replicate_to_end()
        ((position, _),) = run.settled()
        finding = run.states[0].finding
    assert finding is not None
    assert finding.verdict == "poison"
    assert f"{topic}[0] offset 1" in finding.what
    assert why in finding.what
    assert position.offset == 1
    assert arrived(world, to) == [FIRST]


@carriers
def test_records_with_such_headers_are_quarantined_and_the_label_names_what_the_copy_lacks(
    world: World, kind: CarrierChoice
) -> None:
    """Also a record that was rejected for another reason; the labels of all of them can be read."""
    topic, to = scene(world, TOO_MANY, NUL, NOT_UTF8, AS_MANY_AS_CAN_BE)
    quarantine_topic = world.topic("aside", on="destination", config=LARGE)
    refused = {offset: Finding("poison", "refused", "", offset) for offset in (2, 3, 4)}
    with CarrierRun(
        world, kind, topic, to, compression="none", poison={0: refused}, quarantine=quarantine_topic
    ) as run:
        run.replicate_to_end()
        ((position, _),) = run.settled()
        assert run.states[0].finding is None
    assert (position.tally.delivered, position.tally.quarantined) == (2, 4)
    assert arrived(world, to) == [FIRST, LAST]

    many, nul, latin, most = arrived(world, quarantine_topic)
    for copy in (many, most):
        assert (copy.key, copy.value) == (b"k", b"v")
        assert copy.headers[-1] == (f"{PREFIX}lacks".encode(), b"headers")
        assert all(name.startswith(PREFIX.encode()) for name, _ in copy.headers)
    own = {
        "native": (NUL.headers, NOT_UTF8.headers),
        "object": (
            ((rb"a\x00b", b"1"), (b"a", b"2"), (rb"\x00", None), (b"", b"")),
            ((rb"\xff\xfe", b"1"), (b"\xc3\xa9", None)),
        ),
    }[kind]
    assert (nul.headers[:4], latin.headers[:2]) == own
    escaped = f"{PREFIX}escaped-names".encode()
    escapes = [dict(copy.headers).get(escaped) for copy in (nul, latin)]
    assert escapes == ([None, None] if kind == "native" else [b"0,2", b"0"])


@pytest.mark.parametrize("compiled_from", [0, 1 << 60], ids=["compiled", "plain"])
def test_records_are_read_unchanged(
    world: World, monkeypatch: pytest.MonkeyPatch, compiled_from: int
) -> None:
    """With numba and without it; parts of every size, null and empty."""
    monkeypatch.setattr(consumer_handle, "COMPILED_FROM", compiled_from)
    large = bytes(range(256)) * 20
    parts = [None, b"", b"\0", large[:1024], large[:1025], large]
    written = [Raw(key, value, ((b"n", value), (b"n" * 2_000, key))) for key in parts for value in parts]
    topic, _ = scene(world, *written, NUL, NOT_UTF8, AS_MANY_AS_CAN_BE, TOO_MANY)
    reading = clients.consumer(
        Cluster("source", {"bootstrap.servers": world.servers["source"]}), "g", make=ObjectConsumer
    )
    consumed: list[Consumed] = []

    def read() -> KafkaError | None:
        consumed.extend(reading.consume(100, 0.1))
        return consumed[-1].error() if consumed else None

    try:
        reading.assign([TopicPartition(topic, 0, 0)])
        eventually(lambda: read() is not None, "the end")
    finally:
        reading.close()
    assert bool(reading._copier) == (compiled_from == 0)
    *records, end = consumed
    error = end.error()
    assert error is not None
    assert (error.code(), end.topic()) == (KafkaError._PARTITION_EOF, topic)
    unread = [record for record in records if record.unreadable]
    assert [record.offset() for record in unread] == [len(written) + 4]
    with pytest.raises(UnreadableHeaders, match="up to 100,000 headers"):
        unread[0].headers()
    assert [record.offset() for record in records if not record.plain] == [
        len(written) + n for n in (1, 2, 3, 4)
    ]
    as_read = [
        Raw(
            record.key(),
            record.value(),
            tuple((encoded(name), value) for name, value in record.headers() or ()),
        )
        for record in records
        if not record.unreadable
    ]
    assert as_read == [FIRST, *written, NUL, NOT_UTF8, AS_MANY_AS_CAN_BE, LAST]
    assert {
        (record.topic(), record.partition(), record.timestamp()[0], record.leader_epoch())
        for record in records
    } == {(topic, 0, 1, 0)}
    assert len({record.timestamp()[1] for record in records}) == 1


def test_labels_beside_names_that_are_not_utf8_can_be_read(world: World) -> None:
    topic = quarantine_topic(world.mirror)
    view = ClusterView(Cluster("destination", {"bootstrap.servers": world.servers["destination"]}))
    view.create_topic(topic, 1, 1, {})
    label = {
        "cluster": b"c", "topic": b"t", "topic-id": b"id", "partition": b"0", "offset": b"7",
        "timestamp": b"5", "reason": b"refused",
    }  # fmt: skip
    headers = tuple((f"{PREFIX}{name}".encode(), value) for name, value in label.items())
    copy = Raw(None, b"v", (*NOT_UTF8.headers, *headers))
    raw.produce(world.servers["destination"], topic, [copy], now_ms())

    read = read_labels(view, world.mirror)

    assert [label.offset for label in read.labels] == [7]
    assert isinstance(read.labels[0], Label)


def test_a_library_whose_headers_are_laid_out_in_another_way_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "HEADER_PREFIX", Struct("@NNP"))
    with pytest.raises(library.Absent, match="laid out in another way"):
        library.load.__wrapped__()
