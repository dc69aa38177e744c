"""Both carriers replace schema ids in the same way: four bytes, where they are known, and nothing else."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from causeway.core.choices import CarrierChoice, UnknownIds
from causeway.core.control_records import CopiedSchema
from causeway.core.schema import Part, SchemaId, SchemaUse
from causeway.core.task_order import SchemaPolicy
from causeway.kafka.schema_ids import SchemaIds
from causeway.rules.header_names import as_text
from causeway.rules.integrity import Finding
from causeway.rules.ledger_state import LedgerState
from causeway.rules.schema_ids import Parts, named_schemas, rewritten
from support.carrier_run import CLUSTER_ID, CarrierRun
from support.mock_cluster import MockCluster
from support.process import eventually
from support.raw import Raw, produce, read

CARRIERS = [kind for kind in get_args(CarrierChoice) if kind != "auto"]
LEASE = 3
KNOWN: dict[int, int] = {1: 1, 7: 1_000, 300: 7, 70_000: 2**31 - 1, 2**31 - 1: 300}
GUID, OTHER_GUID = (uuid.UUID(int=number) for number in (2**127 + 2**63 + 5, 9))


def prefix(number: int, content: bytes = b"content") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


def header(part: Part, value: bytes) -> tuple[bytes, bytes]:
    return f"__{part}_schema_id".encode(), value


def in_header(guid: uuid.UUID) -> bytes:
    return b"\1" + guid.bytes + b"\0"


@pytest.fixture(scope="module")
def mock() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


def ids(topic: str, unknown: UnknownIds = "refuse", *parts: Part, **more: Any) -> SchemaIds:
    made = SchemaIds(SchemaPolicy(parts or ("key", "value"), unknown, **more), LEASE)
    learn(made, topic, {**KNOWN, str(GUID): 5})
    return made


def learn(schemas: SchemaIds, topic: str, known: dict[Any, int | None]) -> None:
    ledger = LedgerState(schema_changes=schemas.changes + 1)
    for part in ("key", "value"):
        for schema_id, to_id in known.items():
            copied = CopiedSchema(CLUSTER_ID, topic, part, schema_id, to_id, "s", "s", 1, LEASE, 0)
            ledger.apply(0, copied)
    assert schemas.learn(ledger)


def run(mock: MockCluster, kind: CarrierChoice, topic: str, schemas: SchemaIds, **more: Any) -> CarrierRun:
    mock.topic(f"{topic}-copy")
    world: Any = SimpleNamespace(
        servers={"source": mock.servers, "destination": mock.servers}, mirror=f"{topic}-{kind}"
    )
    return CarrierRun(world, kind, topic, f"{topic}-copy", schemas=schemas, compression="none", **more)


def wait_for(carrier_run: CarrierRun, count: int) -> None:
    carrier_run.replicate_to_end()
    ((position, _),) = carrier_run.settled()
    assert position.tally.delivered == count


def arrived(mock: MockCluster, topic: str, count: int) -> list[Raw]:
    eventually(lambda: len(read(mock.servers, f"{topic}-copy")) == count, f"{count} records arrive")
    return read(mock.servers, f"{topic}-copy")


def expected(record: Raw) -> Raw:
    """By the rule: each known id is replaced, wherever it is."""
    parts = Parts(record.key, record.value, [(as_text(name), value) for name, value in record.headers])
    for schema in named_schemas(parts):
        if isinstance(schema.id, int):
            parts = rewritten(parts, schema, KNOWN[schema.id])
    headers = tuple((name.encode(), value) for name, value in parts.headers or ())
    return Raw(parts.key, parts.value, headers)


def some_records(seed: int, count: int) -> list[Raw]:
    """Keys and values with and without ids, headers of all kinds, and neighbours of these."""
    chosen = random.Random(seed)
    data = [
        None, b"", b"\0", b"\0\0\0\0", b"text", prefix(0), b"\0\x80\0\0\1x", (5).to_bytes(8, "big"),
        b"\1" + GUID.bytes,
        *(prefix(number) for number in KNOWN), *(prefix(number, b"") for number in KNOWN),
    ]  # fmt: skip
    headers = [
        (b"other", b"x"), (b"__value_schema", prefix(7)), *(
            header(part, value)
            for part in ("key", "value")
            for value in (in_header(GUID), prefix(7, b""), b"\1short", b"?", prefix(300, b"\0\2"))
        ),
    ]  # fmt: skip
    return [
        Raw(
            chosen.choice(data),
            chosen.choice(data),
            tuple(chosen.choices(headers, k=chosen.choice((0, 0, 1, 3)))),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("kind", CARRIERS)
def test_four_bytes_change(mock: MockCluster, kind: CarrierChoice) -> None:
    topic, records = mock.topic(f"four-{kind}"), some_records(1, 2_000)
    produce(mock.servers, topic, records, 1_700_000_000_000)
    with run(mock, kind, topic, ids(topic)) as replicating:
        wait_for(replicating, len(records))
    assert arrived(mock, topic, len(records)) == [expected(record) for record in records]


@pytest.mark.parametrize("kind", CARRIERS)
def test_parts_and_topics_that_name_no_schemas_keep_their_bytes(
    mock: MockCluster, kind: CarrierChoice
) -> None:
    topic, record = mock.topic(f"parts-{kind}"), Raw(prefix(999), prefix(7))
    produce(mock.servers, topic, [record], 1)
    with run(mock, kind, topic, ids(topic, "refuse", "value")) as replicating:
        wait_for(replicating, 1)
    assert arrived(mock, topic, 1) == [Raw(record.key, prefix(1_000))]
    other = mock.topic(f"excluded-{kind}")
    produce(mock.servers, other, [record], 1)
    with run(mock, kind, other, ids(other, excluded=(other,))) as replicating:
        wait_for(replicating, 1)
    assert arrived(mock, other, 1) == [record]


MISSING: list[tuple[Raw, list[tuple[Part, SchemaId]]]] = [
    (Raw(prefix(5), prefix(6)), [("key", 5), ("value", 6)]),
    (Raw(prefix(7), prefix(6)), [("value", 6)]),
    (Raw(b"k", b"v", (header("value", in_header(OTHER_GUID)),)), [("value", str(OTHER_GUID))]),
    (Raw(b"k", b"v", (header("key", prefix(6)),)), [("key", 6)]),
]


@pytest.mark.parametrize("kind", CARRIERS)
@pytest.mark.parametrize("number", range(len(MISSING)))
def test_a_record_with_another_id_waits(mock: MockCluster, kind: CarrierChoice, number: int) -> None:
    """Everything before it is replicated, nothing from it on; then the ledger knows, and it goes on."""
    (record, missing), topic = MISSING[number], mock.topic(f"waits-{number}-{kind}")
    before, after = Raw(b"k", prefix(7), ((b"h", b"1"),)), Raw(None, None)
    produce(mock.servers, topic, [before, before, record, after], 1)
    schemas = ids(topic)
    with run(mock, kind, topic, schemas) as replicating:
        replicating.replicate_to_end()
        (state,) = replicating.states
        assert state.waits_for_schemas
        assert not state.done
        assert state.schemas_needed == tuple(SchemaUse(CLUSTER_ID, topic, *each) for each in missing)
        ((position, _),) = replicating.settled()
    assert (position.offset, position.tally.delivered) == (2, 2)
    assert not schemas.knows(state.schemas_needed)
    learn(schemas, topic, {**KNOWN, 5: 50, 6: 60, str(OTHER_GUID): 61})
    assert schemas.knows(state.schemas_needed)
    with run(mock, kind, topic, schemas, starts={0: 2}) as replicating:
        wait_for(replicating, 2)
    assert len(arrived(mock, topic, 4)) == 4


@pytest.mark.parametrize("kind", CARRIERS)
def test_what_the_source_does_not_have(mock: MockCluster, kind: CarrierChoice) -> None:
    """The record stops its partition, goes to the quarantine as it was, or keeps its bytes."""
    topic, record, other = mock.topic(f"unknown-{kind}"), Raw(prefix(7), prefix(666)), Raw(b"k", prefix(7))
    produce(mock.servers, topic, [other, record, other], 1)
    known: dict[Any, int | None] = {**KNOWN, 666: None}
    stops = ids(topic)
    learn(stops, topic, known)
    with run(mock, kind, topic, stops) as replicating:
        replicating.replicate_to_end()
        (state,) = replicating.states
        assert state.finding is not None
        assert state.finding.verdict == "poison"
        assert "names the schema id 666" in state.finding.what
        assert state.next == 1
        replicating.settled()
    quarantine = mock.topic(f"quarantine-{kind}")
    with run(mock, kind, topic, stops, starts={0: 1}, quarantine=quarantine) as replicating:
        replicating.replicate_to_end()
        ((position, _),) = replicating.settled()
    assert (position.tally.delivered, position.tally.quarantined) == (1, 1)
    eventually(lambda: len(read(mock.servers, quarantine)) == 1, "it is in quarantine")
    assert read(mock.servers, quarantine)[0][:2] == record[:2]
    passes = ids(topic, "pass")
    learn(passes, topic, known)
    with run(mock, kind, topic, passes, starts={0: 1}) as replicating:
        wait_for(replicating, 2)
    assert [each.value for each in arrived(mock, topic, 4)][2:] == [prefix(666), prefix(1_000)]


@pytest.mark.parametrize("kind", CARRIERS)
def test_a_rejected_record_is_quarantined_as_it_was(mock: MockCluster, kind: CarrierChoice) -> None:
    topic, record = mock.topic(f"rejected-{kind}"), Raw(prefix(7), prefix(300))
    produce(mock.servers, topic, [record, record], 1)
    quarantine = mock.topic(f"rejected-aside-{kind}")
    poison = {0: {0: Finding("poison", "rejected", "", 0)}}
    with run(mock, kind, topic, ids(topic), quarantine=quarantine, poison=poison) as replicating:
        replicating.replicate_to_end()
        replicating.settled()
    eventually(lambda: len(read(mock.servers, quarantine)) == 1, "it is in quarantine")
    assert read(mock.servers, quarantine)[0][:2] == record[:2]
    assert arrived(mock, topic, 1) == [expected(record)]


def test_a_full_queue_changes_no_id_twice(mock: MockCluster) -> None:
    """The compiled loop gets the message again that the producer had no room for."""
    topic = mock.topic("full-queue")
    records = [Raw(None, prefix(300 if number % 2 else 7, bytes(100_000))) for number in range(30)]
    produce(mock.servers, topic, records, 1)
    with run(mock, "native", topic, ids(topic), queue_bytes=1 << 20) as replicating:
        wait_for(replicating, len(records))
    assert arrived(mock, topic, len(records)) == [expected(record) for record in records]


def test_what_was_unknown_in_an_earlier_run_is_asked_again() -> None:
    schemas = SchemaIds(SchemaPolicy(("value",), "refuse"), LEASE)
    ledger = LedgerState()
    use = SchemaUse(CLUSTER_ID, "t", "value", 7)
    ledger.apply(0, CopiedSchema(*use, None, "", "", 0, LEASE - 1, 0))
    schemas.learn(ledger)
    assert not schemas.knows([use])
    ledger.apply(0, CopiedSchema(*use, None, "", "", 0, LEASE, 0))
    schemas.learn(ledger)
    assert schemas.knows([use])
