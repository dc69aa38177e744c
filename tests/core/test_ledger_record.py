"""What is written to the ledger and to executors is read back as it was, or refused."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.cluster import Cluster
from causeway.core.filtering import FilterSpec
from causeway.core.ledger_record import (
    EVENTS_KEPT,
    TEXT_BYTES,
    VERSION,
    Adopted,
    CopiedSchema,
    CreatedTopic,
    Cut,
    Event,
    Gap,
    Generation,
    Heartbeat,
    Hidden,
    Lease,
    LedgerRecord,
    NeededSchemas,
    NodeMoved,
    NodeRequest,
    NodeRequestDone,
    Paused,
    PoolMembers,
    RouteClaim,
    Stopped,
    UnknownRecord,
    decode,
    encode,
)
from causeway.core.position import NO_LATENCY, KnownRecord, Place, Position, SourcePartition, Tally
from causeway.core.receipt import Outcome, Receipt, TaskError
from causeway.core.schema import PARTS
from causeway.core.shard_records import NodeRequestOutcome
from causeway.core.task_order import (
    Lane,
    Limits,
    Policies,
    ProduceSettings,
    SeenLedger,
    SliceId,
    SourceCluster,
    TaskOrder,
)

texts = st.text(max_size=30)
parts = st.sampled_from(PARTS)
schema_ids = st.integers(1, 2**31 - 1) | st.uuids().map(str)
numbers = st.integers(-1, 2**62)
counts = st.integers(0, 2**31)
sources = st.builds(SourcePartition, texts, texts, counts)
places = st.builds(Place, texts, texts, counts)
buckets = st.lists(counts, min_size=len(NO_LATENCY), max_size=len(NO_LATENCY)).map(tuple)

position: dict[str, st.SearchStrategy[Any]] = {
    "source": sources,
    "topic_id": texts,
    "start": numbers,
    "offset": numbers,
    "epoch": numbers,
    "place": places,
    "place_start": numbers,
    "place_end": numbers,
    "generation": counts,
    "at": numbers,
    "lease": counts,
    "tally": st.builds(Tally, counts, counts, counts, counts, counts, buckets, st.integers(-(2**31), 2**31)),
}
records: dict[type[Any], st.SearchStrategy[Any]] = {
    Lease: st.builds(Lease, counts, texts, texts, counts, numbers, texts),
    Heartbeat: st.builds(
        Heartbeat,
        counts,
        counts,
        counts,
        numbers,
        texts,
        counts,
        texts,
        counts,
        counts,
        counts,
        counts,
        counts,
        buckets,
        counts,
        nodes=st.dictionaries(texts, texts, max_size=3),
    ),
    Generation: st.builds(Generation, counts, counts, numbers),
    Cut: st.builds(Cut, counts, counts, texts, numbers),
    Paused: st.builds(Paused, texts, numbers),
    CreatedTopic: st.builds(CreatedTopic, texts, texts, numbers),
    RouteClaim: st.builds(
        RouteClaim, texts, texts, texts, texts, st.booleans(), st.booleans(), numbers, st.booleans()
    ),
    PoolMembers: st.builds(PoolMembers, texts, texts, st.dictionaries(texts, texts, max_size=3), numbers),
    NodeRequest: st.builds(NodeRequest, texts, texts, texts, numbers, st.booleans()),
    NodeMoved: st.builds(NodeMoved, counts, texts, texts, texts, texts, texts, numbers, numbers),
    NodeRequestDone: st.builds(
        NodeRequestDone,
        counts,
        texts,
        numbers,
        st.sampled_from(get_args(NodeRequestOutcome)),
        texts,
        texts,
        numbers,
    ),
    Event: st.builds(Event, counts, counts, numbers, texts, texts),
    Stopped: st.builds(
        Stopped,
        texts,
        texts,
        counts,
        texts,
        texts,
        texts,
        numbers,
        numbers,
        numbers,
        counts,
        texts,
        counts,
    ),
    Gap: st.builds(
        Gap,
        texts,
        texts,
        counts,
        topic_id=texts,
        begin=numbers,
        to_topic_id=texts,
        end=numbers,
        verdict=texts,
        by=texts,
        why=texts,
        at=numbers,
    ),
    CopiedSchema: st.builds(
        CopiedSchema,
        texts,
        texts,
        parts,
        schema_ids,
        st.none() | counts,
        texts,
        texts,
        counts,
        counts,
        numbers,
    ),
    NeededSchemas: st.builds(
        NeededSchemas, texts, texts, counts, counts, st.lists(st.tuples(parts, schema_ids)), numbers
    ),
    Hidden: st.builds(Hidden, texts, counts, numbers, texts, texts, counts, counts, numbers),
    Adopted: st.builds(
        Adopted,
        counts,
        texts,
        texts,
        texts,
        st.dictionaries(texts, counts, max_size=3),
        st.dictionaries(texts, texts, max_size=3),
        st.dictionaries(texts, counts, max_size=3),
        numbers,
    ),
    Position: st.one_of(
        st.builds(Position, **position),
        st.builds(
            Position,
            **position,
            node=st.text(min_size=1),
            known=st.none() | st.builds(KnownRecord, numbers, texts),
        ),
    ),
}


def test_no_kind_is_forgotten_here() -> None:
    assert set(records) == set(get_args(LedgerRecord))


@pytest.mark.parametrize("kind", records, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_record_survives(kind: type[Any], data: st.DataObject) -> None:
    record = data.draw(records[kind])
    key, value = encode(record)
    assert decode(value) == record
    assert key.decode()
    assert json.loads(value)["v"] == VERSION


@given(records[Position], records[Position])
def test_a_key_holds_one_partition(one: Position, other: Position) -> None:
    """Topic names have no bars, so different partitions never share a key."""
    if "|" not in "".join((*one.source[:2], *other.source[:2])):
        assert (encode(one)[0] == encode(other)[0]) is (one.source == other.source)


@given(records[Stopped], records[Position])
def test_kinds_do_not_share_keys(stopped: Stopped, position: Position) -> None:
    keys = {
        encode(record)[0]
        for record in (
            stopped,
            position,
            Lease(1, "i", "h", 1, 0),
            Heartbeat(1, 1, 1, 0, "h", 1),
            Generation(1, 1, 0),
            Cut(1, 1, "r", 0),
            CreatedTopic("t", "id", 0),
            RouteClaim("c", "t", "to", "id", False, True, 0),
            Event(1, 1, 0, "info", "w"),
            NodeMoved(1, "p", "a", "b", "dead", "w", 0),
            NodeRequestDone(1, "p", 1, "moved", "b", "w", 0),
            Adopted(1, "u@h", "group g", "", {}, {}, {}, 0),
        )
    }
    assert len(keys) == 12


@given(counts, counts)
def test_events_rotate_through_a_few_keys(shard: int, number: int) -> None:
    assert Event(shard, number, 0, "", "").key() == Event(shard, number + EVENTS_KEPT, 0, "", "").key()
    assert Event(shard, number, 0, "", "").key() != Event(shard, number + 1, 0, "", "").key()


def changed(record: LedgerRecord, **body: object) -> bytes:
    value = json.loads(encode(record)[1])
    value.update(body)
    return json.dumps(value).encode()


LEASE = Lease(1, "instance", "host", 7, 0)


@pytest.mark.parametrize("version", [0, 2, 99, "1", None])
def test_another_version_is_refused(version: object) -> None:
    with pytest.raises(UnknownRecord, match="version"):
        decode(changed(LEASE, v=version))


@pytest.mark.parametrize("kind", ["", "Lease", "pause", None])
def test_an_unknown_kind_is_refused(kind: object) -> None:
    with pytest.raises(UnknownRecord, match="kind"):
        decode(changed(LEASE, kind=kind))


@pytest.mark.parametrize(
    "value", [b"", b"{", b"null", b"5", b"[]", b'"v"', b"{}", b'{"v":1}', b'{"kind":"lease"}', b"\xff\xfe"]
)
def test_what_is_no_record_is_refused(value: bytes) -> None:
    with pytest.raises(UnknownRecord, match="not a ledger record"):
        decode(value)


def test_a_field_that_a_later_program_added_is_passed_over() -> None:
    assert decode(changed(LEASE, colour="blue")) == LEASE


def test_no_record_says_more_than_json() -> None:
    """Readable with any console consumer: one line, no binary."""
    value = encode(LEASE)[1].decode()
    assert "\n" not in value
    assert json.loads(value) == {
        "v": 1, "kind": "lease", "number": 1, "instance": "instance", "host": "host", "pid": 7, "at": 0,
            "ledger_id": "",
    }  # fmt: skip


clusters = st.builds(
    Cluster,
    texts,
    st.dictionaries(texts, texts, max_size=3),
    st.dictionaries(texts, texts, max_size=3),
    st.dictionaries(texts, texts, max_size=3),
)
seconds = st.floats(0, 1e6)
orders = st.builds(
    TaskOrder,
    slice=st.builds(SliceId, texts, counts, counts, counts),
    shard=counts,
    sources=st.dictionaries(texts, st.builds(SourceCluster, clusters, st.none() | texts), max_size=2),
    destination=clusters,
    ledger_id=texts,
    lanes=st.lists(
        st.builds(
            Lane,
            sources,
            texts,
            places,
            st.none() | numbers,
            st.booleans(),
            st.none() | numbers,
            st.none() | counts,
        ),
        max_size=4,
    ).map(tuple),
    tail=st.none() | seconds,
    limits=st.builds(
        Limits, counts, counts, seconds, seconds, counts, counts, counts, seconds, seconds, seconds
    ),
    produce=st.builds(
        ProduceSettings,
        st.sampled_from(["exactly-once", "at-least-once"]),
        texts,
        texts,
        st.sampled_from(["auto", "native", "object"]),
    ),
    policies=st.builds(
        Policies,
        st.sampled_from(["stop", "continue"]),
        st.sampled_from(["stop", "restart"]),
        st.sampled_from(["stop", "quarantine"]),
    ),
    provenance=st.none() | texts,
    after=st.none() | counts,
    seen=st.none()
    | st.builds(
        SeenLedger,
        st.lists(st.tuples(counts, numbers), max_size=2).map(tuple),
        st.lists(st.tuples(counts, texts), max_size=2).map(tuple),
    ),
    filters=st.lists(
        st.builds(
            FilterSpec,
            texts,
            st.dictionaries(texts, texts | numbers | st.lists(texts, max_size=2), max_size=2),
            st.sampled_from(["stop", "keep", "drop"]),
            st.none() | texts,
        ),
        max_size=2,
    ).map(tuple),
)


@given(orders)
def test_an_order_survives(order: TaskOrder) -> None:
    assert TaskOrder.from_json(order.to_json()) == order


@given(
    st.builds(
        Receipt,
        counts,
        st.sampled_from(get_args(Outcome)),
        counts, counts, counts, counts, counts,
        st.none() | texts,
        st.none()
        | st.builds(
            TaskError, texts, texts, texts, texts, texts, texts, st.lists(texts, max_size=2).map(tuple)
        ),
    )
)  # fmt: skip
def test_a_receipt_survives(receipt: Receipt) -> None:
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_a_position_of_the_first_version_skipped_nothing() -> None:
    source = SourcePartition("c", "t", 0)
    position = Position(source, "id", 0, 5, -1, Place("t", "id", 0), 0, 5, 1, 0, Tally(delivered=5))
    written = position.to_json()
    del written["skipped"], written["lease"]
    assert Position.from_json(written) == position


@given(st.text(alphabet='aé"\U0001f600', max_size=400).map(lambda text: text * 50))
def test_texts_are_cut_before_they_are_too_large_for_the_ledger(text: str) -> None:
    event = Event(1, 1, 1, "warning", text)
    stop = Stopped("c", "t", 0, "filter", text, text, 1)
    for record in (event, stop, Cut(1, 1, text, 1)):
        _, value = encode(record)
        assert len(value) < 2 * TEXT_BYTES + 500
        assert isinstance(decode(value), type(record))
    found = decode(encode(event)[1])
    assert isinstance(found, Event)
    assert found.what == text or (found.what.endswith("… (cut)") and text.startswith(found.what[:-7]))
