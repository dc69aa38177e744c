"""From an id in a record to the id at the destination, by the subjects of the record's topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from causeway.core.choices import SubjectStrategy
from causeway.core.schema import Registry, Schema, SchemaUse
from causeway.errors import CausewayError
from causeway.schema_registry.client import SchemaRegistryClient
from causeway.schema_registry.copying import SchemaCopies
from causeway.schema_registry.resolving import ResolvedSchema, resolve
from support.registry_stand_in import StandIn, stand_in

RECORD = Schema('{"type":"record","name":"Order","namespace":"com.acme","fields":[]}')
OTHER = Schema('{"type":"record","name":"Other","namespace":"com.acme","fields":[]}')


@pytest.fixture
def paris() -> Iterator[StandIn]:
    with stand_in() as started:
        yield started


@pytest.fixture
def tokyo() -> Iterator[StandIn]:
    with stand_in(first_id=70, imports=False) as started:
        yield started


def client(registry: StandIn) -> SchemaRegistryClient:
    return SchemaRegistryClient.of(Registry("x", (registry.url,)))


def resolved(
    paris: StandIn, tokyo: StandIn, strategy: SubjectStrategy, named: int | str
) -> ResolvedSchema | None:
    copies = SchemaCopies(client(paris), client(tokyo), warn=lambda _text: None)
    use = SchemaUse("c", "orders", "value", named)
    return resolve(copies, {"key": "topic", "value": strategy}, use, "eu.orders")


@pytest.mark.parametrize(
    ("strategy", "subject", "to_subject"),
    [
        ("topic", "orders-value", "eu.orders-value"),
        ("record", "com.acme.Order", "com.acme.Order"),
        ("topic-record", "orders-com.acme.Order", "eu.orders-com.acme.Order"),
    ],
)
def test_strategies(
    paris: StandIn, tokyo: StandIn, strategy: SubjectStrategy, subject: str, to_subject: str
) -> None:
    for name in ("audit-value", subject):
        client(paris).register(name, RECORD)
    found = resolved(paris, tokyo, strategy, 1)
    assert found is not None
    assert (found.from_subject, found.there.subject, found.there.id) == (subject, to_subject, 70)
    assert list(tokyo.context().subjects) == [to_subject], "subjects of other topics are not copied"


def test_what_is_no_schema_of_the_topic(paris: StandIn, tokyo: StandIn) -> None:
    """An id that the registry has, under another topic's subject: these bytes are there by chance."""
    client(paris).register("audit-value", RECORD)
    client(paris).register("orders-key", OTHER)
    for named in (1, 2, 3, "1f6c3d0e-5a9b-4c7d-8e2f-0a1b2c3d4e5f"):
        assert resolved(paris, tokyo, "topic", named) is None
    assert tokyo.context().subjects == {}


def test_a_deleted_schema_that_records_still_name(paris: StandIn, tokyo: StandIn) -> None:
    client(paris).register("orders-value", RECORD)
    client(paris).register("orders-value", OTHER)
    paris.subject("orders-value")[0].deleted = True
    found = resolved(paris, tokyo, "topic", 1)
    assert found is not None
    assert found.there.schema == RECORD
    assert len(tokyo.subject("eu.orders-value")) == 1


def test_guids(paris: StandIn, tokyo: StandIn) -> None:
    client(paris).register("orders-value", RECORD)
    guid = client(paris).version("orders-value", 1).guid
    found = resolved(paris, tokyo, "topic", guid)
    assert found is not None
    assert found.there.id == 70
    tokyo.guids = False
    with pytest.raises(CausewayError, match="has no schema with the GUID") as raised:
        resolved(paris, tokyo, "topic", guid)
    assert tokyo.url in str(raised.value)
