"""Copies between two registries: ids, versions, references, levels, modes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from causeway.core.schema import Registry, Schema, SchemaReference
from causeway.schema_registry.client import SchemaRegistryClient
from causeway.schema_registry.copying import SchemaConflict, SchemaCopies
from causeway.schema_registry.requests import RegistryRequests
from support.registry_stand_in import StandIn, stand_in


def record(*fields: str) -> Schema:
    listed = ",".join(f'{{"name":"{each}","type":"long"}}' for each in fields)
    return Schema(f'{{"type":"record","name":"Order","fields":[{listed}]}}')


@pytest.fixture
def paris() -> Iterator[StandIn]:
    with stand_in(first_id=10) as started:
        yield started


@pytest.fixture
def tokyo() -> Iterator[StandIn]:
    with stand_in() as started:
        yield started


def client(registry: StandIn, context: str = "") -> SchemaRegistryClient:
    described = Registry("x", (registry.url,), context=context, timeout=5.0)
    return SchemaRegistryClient(RegistryRequests(described, pause=lambda _seconds: None))


def copies(source: StandIn, destination: StandIn) -> SchemaCopies:
    return SchemaCopies(client(source), client(destination), warn=lambda _text: None)


def test_ids_are_kept_where_the_destination_imports(paris: StandIn, tokyo: StandIn) -> None:
    for schema in (record("a"), record("a", "b"), record("a", "b", "c")):
        client(paris).register("orders-value", schema)
    client(paris).set_compatibility("orders-value", "FULL")
    copied = copies(paris, tokyo).copy("orders-value", "eu.orders-value", 2)
    assert (copied.id, copied.version) == (11, 2)
    assert [(each.number, each.id) for each in tokyo.subject("eu.orders-value")] == [(1, 10), (2, 11)]
    assert tokyo.levels == {"eu.orders-value": "FULL"}
    assert tokyo.modes == {}  # other producers may register there again


def test_ids_change_where_the_destination_cannot_import(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.imports = False
    client(paris).register("orders-value", record("a"))
    assert copies(paris, tokyo).copy("orders-value", "orders-value", 1).id == 1


def test_an_id_that_is_taken_is_replaced(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.first_id = 10
    client(tokyo).register("audit-value", record("x"))
    client(paris).register("orders-value", record("a"))
    assert copies(paris, tokyo).copy("orders-value", "orders-value", 1).id == 11
    assert tokyo.context().ids[10] == (record("x").text, "AVRO", "[]")


def test_an_id_of_the_same_schema_is_kept(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.first_id = 10
    client(tokyo).register("audit-value", record("a"))
    client(paris).register("orders-value", record("a"))
    assert copies(paris, tokyo).copy("orders-value", "orders-value", 1).id == 10


def test_copying_again_and_back_changes_nothing(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.imports = paris.imports = False
    client(paris).register("orders-value", record("a"))
    there = copies(paris, tokyo).copy("orders-value", "eu.orders-value", 1)
    assert copies(paris, tokyo).copy("orders-value", "eu.orders-value", 1) == there
    assert copies(tokyo, paris).copy("eu.orders-value", "orders-value", 1).id == 10
    assert len(paris.subject("orders-value")) == len(tokyo.subject("eu.orders-value")) == 1


def test_references_come_first_with_the_destinations_versions(paris: StandIn, tokyo: StandIn) -> None:
    client(tokyo).register("address", Schema('"string"'))  # version 1 there is another one
    client(paris).register("address", Schema('"long"'))
    refers = Schema(
        '{"type":"array","items":"Address"}', references=(SchemaReference("Address", "address", 1),)
    )
    client(paris).register("orders-value", refers)
    copies(paris, tokyo).copy("orders-value", "orders-value", 1)
    copied = client(tokyo).version("orders-value", 1).schema
    assert copied.references == (SchemaReference("Address", "address", 2),)
    assert client(tokyo).version("address", 2).schema == Schema('"long"')


def test_soft_deleted_versions_stay_out(paris: StandIn, tokyo: StandIn) -> None:
    for schema in (record("a"), record("a", "b")):
        client(paris).register("orders-value", schema)
    paris.subject("orders-value")[0].deleted = True
    copies(paris, tokyo).copy("orders-value", "orders-value", 2)
    assert [each.id for each in tokyo.subject("orders-value")] == [11]
    with pytest.raises(SchemaConflict, match="version 1 of subject orders-value was deleted"):
        copies(paris, tokyo).copy("orders-value", "orders-value", 1)
    copied = copies(paris, tokyo).copy_deleted(record("a"), "orders-value")
    assert copied.version == 3  # records have its id, so it must be readable


def test_versions_of_a_lower_level_follow(paris: StandIn, tokyo: StandIn) -> None:
    """The source took them when its level was lower: no version is foreign, so the check is left out."""
    tokyo.imports, tokyo.incompatible = False, {"orders-value"}
    for schema in (record("a"), record("b")):
        client(paris).register("orders-value", schema)
    assert copies(paris, tokyo).copy("orders-value", "orders-value", 2).version == 2
    assert tokyo.levels["orders-value"] == "BACKWARD"


def test_what_others_registered_decides(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.imports, tokyo.incompatible = False, {"orders-value"}
    client(tokyo).register("orders-value", record("theirs"))
    client(paris).register("orders-value", record("a"))
    with pytest.raises(SchemaConflict, match="incompatible with subject orders-value") as raised:
        copies(paris, tokyo).copy("orders-value", "orders-value", 1)
    assert "version 1 there is not of the source" in raised.value.why
    assert "orders-value" not in tokyo.levels


def test_the_level_of_others_stays(paris: StandIn, tokyo: StandIn) -> None:
    client(tokyo).register("orders-value", record("theirs"))
    client(paris).register("orders-value", record("a"))
    client(paris).set_compatibility("orders-value", "NONE")
    warnings: list[str] = []
    SchemaCopies(client(paris), client(tokyo), warnings.append).copy("orders-value", "orders-value", 1)
    assert "orders-value" not in tokyo.levels
    assert warnings == [
        "subject orders-value keeps the level BACKWARD, orders-value has NONE: others register there"
    ]


def test_a_mode_that_others_set_stays(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.modes["orders-value"] = "IMPORT"
    client(paris).register("orders-value", record("a"))
    warnings: list[str] = []
    copied = SchemaCopies(client(paris), client(tokyo), warnings.append).copy(
        "orders-value", "orders-value", 1
    )
    assert copied.id == 10
    assert tokyo.modes == {"orders-value": "IMPORT"}
    assert warnings == ["subject orders-value was in mode IMPORT already: only importers can register there"]


def test_metadata_and_rules_follow(paris: StandIn, tokyo: StandIn) -> None:
    schema = Schema(record("a").text, metadata={"properties": {"owner": "x"}}, rules={"domainRules": []})
    client(paris).register("orders-value", schema)
    assert copies(paris, tokyo).copy("orders-value", "orders-value", 1).schema == schema


def test_contexts(paris: StandIn, tokyo: StandIn) -> None:
    client(paris, ".eu").register("orders-value", record("a"))
    into = SchemaCopies(client(paris, ".eu"), client(tokyo, ".from-eu"), warn=lambda _text: None)
    assert into.copy("orders-value", "orders-value", 1).id == 10
    assert tokyo.subject("orders-value") == []
    assert len(tokyo.subject("orders-value", ".from-eu")) == 1


def test_a_user_who_may_register_and_nothing_else(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.denied = paris.denied = ("mode", "config")
    client(paris).register("orders-value", record("a"))
    warnings: list[str] = []
    into = SchemaCopies(client(paris), client(tokyo), warnings.append)
    assert into.copy("orders-value", "orders-value", 1).id == 1
    assert len(warnings) == 1
    assert warnings[0].startswith("compatibility levels are not copied: the schema registry")


def test_a_registry_whose_modes_do_nothing(paris: StandIn, tokyo: StandIn) -> None:
    """It accepts the mode and ignores the id: its own response decides, and it is not asked again."""
    tokyo.empty_modes = True
    for schema in (record("a"), record("a", "b")):
        client(paris).register("orders-value", schema)
    into = copies(paris, tokyo)
    assert into.copy("orders-value", "orders-value", 2).id == 2
    assert len([each for each in tokyo.requests if each.startswith("PUT /mode")]) == 1
