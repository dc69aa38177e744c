"""The driver's part of schema copies: what partitions wait for, the threads, what the ledger gets."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.core.choices import SchemaVersions
from causeway.core.ledger_record import CopiedSchema, LedgerRecord, NeededSchemas
from causeway.core.plan import Plan
from causeway.core.position import Place, SourcePartition
from causeway.core.schema import Registry, Schema, SchemaId, SchemaUse
from causeway.core.task_order import Lane, SchemaPolicy
from causeway.replication.event_log import EventLog
from causeway.replication.schema_copying import SchemaCopying
from causeway.replication.schema_threads import SchemaSetup
from causeway.rules.ledger_state import LedgerState
from causeway.schema_registry.client import SchemaRegistryClient
from support.process import eventually
from support.registry_stand_in import StandIn, stand_in

LEASE = 4


def record(name: str) -> Schema:
    return Schema(f'{{"type":"record","name":"{name}","fields":[]}}')


class Scene:
    """A driver's ledger and plan, between two registries."""

    def __init__(self, paris: StandIn, tokyo: StandIn, versions: SchemaVersions = "used") -> None:
        self.said: list[str] = []
        self.state = LedgerState()
        self.ledger: Any = SimpleNamespace(
            state=self.state, control=SimpleNamespace(lease=LEASE), record=self._record
        )
        self.written: list[LedgerRecord] = []
        registries = [Registry(name, (each.url,), timeout=1.0) for name, each in (("p", paris), ("t", tokyo))]
        setup = SchemaSetup(
            {"paris": registries[0]}, registries[1], {"key": "topic", "value": "topic"}, versions == "all"
        )
        self.copying = SchemaCopying(
            setup,
            EventLog("m", lambda _mirror, event: self.said.append(event.what)),
            {"c": "paris"},
            lambda _topics: SchemaPolicy(("key", "value"), "refuse"),
        )
        topics = ("orders", "audit")
        self.plan = Plan(
            tuple(
                Lane(SourcePartition("c", each, 0), "id", Place(f"eu.{each}", "id", 0), None)
                for each in topics
            ),
            (),
            {},
        )

    def _record(self, records: list[LedgerRecord]) -> None:
        self.written += records
        for each in records:
            self.state.apply(0, each)

    def need(self, topic: str, *ids: SchemaId) -> SourcePartition:
        schemas = tuple(("value", named) for named in ids)
        self.state.apply(1, NeededSchemas("c", topic, 0, 5, schemas, 0))  # type: ignore[arg-type]
        return SourcePartition("c", topic, 0)

    def settle(self) -> list[CopiedSchema]:
        self.copying.settle(self.ledger, self.plan)
        return [each for each in self.written if isinstance(each, CopiedSchema)]


@pytest.fixture
def paris() -> Iterator[StandIn]:
    with stand_in() as started:
        for topic in ("orders", "audit"):
            client(started).register(f"{topic}-value", record(topic))
        yield started


@pytest.fixture
def tokyo() -> Iterator[StandIn]:
    with stand_in(first_id=70, imports=False) as started:
        yield started


def client(registry: StandIn) -> SchemaRegistryClient:
    return SchemaRegistryClient.of(Registry("x", (registry.url,)))


def test_what_a_partition_needs_is_copied_and_written(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo)
    source = scene.need("orders", 1, 99)
    eventually(lambda: len(scene.settle()) == 2, "both ids are resolved")
    by_id = {each.id: each for each in scene.settle()}
    assert (by_id[1].to_id, by_id[1].subject, by_id[1].version) == (70, "eu.orders-value", 1)
    assert (by_id[99].to_id, by_id[99].lease) == (None, LEASE)
    assert scene.copying.waiting == {}
    assert any("id 70 (was 1)" in what for what in scene.said)
    assert any(
        "schema id 99 of orders (value): the source's registry has none" in what for what in scene.said
    )
    assert source not in scene.state.needed_schemas(LEASE)
    assert scene.state.needed_schemas(LEASE + 1)[source], "the next run asks again for what was unknown"
    scene.copying.close()


def test_a_registry_that_is_away_is_asked_again(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo)
    source = scene.need("orders", 1)
    tokyo.fail = "500"
    eventually(
        lambda: not scene.settle() and "the store is away" in scene.copying.waiting[source], "it waits"
    )
    assert (
        f'schema id 1 of orders (value): the schema registry "t" cannot be used · POST {tokyo.url}'
        in (scene.copying.waiting[source])
    )
    scene.need("audit", 2)
    scene.settle()
    warnings = [what for what in scene.said if "must wait for the schema id 1" in what]
    assert len(warnings) == 1, "each reason is reported once"
    tokyo.fail = ""
    eventually(lambda: len(scene.settle()) == 2, "both are copied")
    scene.copying.close()


def test_a_schema_that_clashes_names_subject_and_reason(paris: StandIn, tokyo: StandIn) -> None:
    tokyo.incompatible = {"eu.orders-value"}
    client(tokyo).register("eu.orders-value", record("theirs"))
    scene = Scene(paris, tokyo)
    source = scene.need("orders", 1)

    def waits() -> bool:
        return not scene.settle() and "incompatible" in scene.copying.waiting[source]

    eventually(waits, "it waits")
    assert "incompatible with subject eu.orders-value" in scene.copying.waiting[source]
    scene.copying.close()


def test_partitions_that_went_on_or_left_the_plan_need_nothing(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo)
    scene.need("orders", 1)
    scene.plan = Plan((), (), {})
    scene.settle()
    assert scene.copying.waiting == {}
    assert paris.requests[2:] == []
    scene.copying.close()


def test_all_versions_follow(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo, "all")
    scene.settle()
    eventually(lambda: len(tokyo.context().subjects) == 2, "both subjects are copied")
    assert set(tokyo.context().subjects) == {"eu.orders-value", "eu.audit-value"}
    scene.copying.close()


def test_nothing_is_asked_once_it_is_resolved(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo)
    scene.need("orders", 1)
    eventually(lambda: len(scene.settle()) == 1, "it is resolved")
    scene.need("audit", 2)
    eventually(lambda: len(scene.settle()) == 2, "the next one is resolved")
    assert [each.id for each in scene.settle()] == [1, 2]
    assert len([each for each in paris.requests if each == "GET /schemas/ids/1"]) == 1
    scene.copying.close()


def test_what_the_destination_has_lost_is_copied_again(paris: StandIn, tokyo: StandIn) -> None:
    scene = Scene(paris, tokyo)
    use, other = SchemaUse("c", "orders", "value", 1), SchemaUse("c", "audit", "value", 2)
    client(tokyo).register("eu.audit-value", record("audit"))
    scene.state.apply(0, CopiedSchema(*use, 500, "orders-value", "eu.orders-value", 1, LEASE - 1, 0))
    scene.state.apply(0, CopiedSchema(*other, 70, "audit-value", "eu.audit-value", 1, LEASE - 1, 0))
    eventually(lambda: len(scene.settle()) == 1, "it is copied again")
    assert [(each.use, each.to_id) for each in scene.settle()] == [(use, 71)]
    assert any("has lost id 500" in what for what in scene.said)
    scene.copying.close()
