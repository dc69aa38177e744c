"""Records arrive with schemas that the destination's registry knows; on real brokers.

One registry is real (Apicurio, which cannot import). The others are stand-ins that follow the documented API:
they import, give GUIDs, and fail as told.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from causeway.core.schema import Registry, Schema, SchemaReference
from causeway.local_kafka import SchemaRegistry
from causeway.local_kafka.ports import free_ports
from causeway.schema_registry.client import SchemaRegistryClient
from support.process import Causeway
from support.records import Rec
from support.registry_stand_in import StandIn, stand_in
from support.typed import causeway
from support.world import World, now_ms

CARRIERS = ("native", "object")
DEEP, OTHER_FAULTS = pytest.mark.deep, ("slow", "500", "nonsense")


@pytest.fixture
def paris() -> Iterator[StandIn]:
    with stand_in() as started:
        yield started


@pytest.fixture
def tokyo() -> Iterator[StandIn]:
    with stand_in(imports=False, first_id=500) as started:
        yield started


def client(url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient.of(Registry("x", (url,)))


def record(*fields: str, name: str = "Order") -> Schema:
    listed = ",".join(f'{{"name":"{each}","type":"long"}}' for each in fields)
    return Schema(f'{{"type":"record","name":"{name}","fields":[{listed}]}}')


def register(url: str, subject: str, schema: Schema) -> int:
    registry = client(url)
    registry.register(subject, schema)
    found = registry.find(subject, schema)
    assert found is not None
    return found.id


def prefix(schema_id: int, content: bytes = b"content") -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + content


def rec(value: bytes | None, key: bytes | None = b"k", headers: Any = ()) -> Rec:
    return Rec(key, value, headers, now_ms())


def copying(
    world: World, paris: str, tokyo: str, *, more: Mapping[str, Any] | None = None, **mirror: Any
) -> Path:
    world.registries = {
        "src": {"url": paris, "timeout": "2s"},
        "dst": {"url": tokyo, "timeout": "2s"},
    }
    return world.config(schemas={"mode": "copy", **(more or {})}, **mirror)


def values(world: World, topic: str) -> list[bytes | None]:
    return [each.value for partition in world.read(topic).values() for each in partition]


def arrives(run: Causeway, world: World, topic: str, wanted: list[bytes | None]) -> None:
    run.until(
        lambda: sorted(map(repr, values(world, topic))) == sorted(map(repr, wanted)), f"{wanted} arrive"
    )


@pytest.mark.parametrize("carrier", CARRIERS)
def test_records_get_the_ids_of_the_destination(
    world: World, schema_registry: str, paris: StandIn, carrier: str
) -> None:
    """A real registry gives its own ids; subjects follow the topic's new name, references come first."""
    topic = world.topic("orders", 2)
    to = f"eu.{topic}"
    address = register(paris.url, f"{topic}.address", record("street", name="Address"))
    refers = Schema(
        '{"type":"record","name":"Order","fields":[{"name":"to","type":"Address"}]}',
        references=(SchemaReference("Address", f"{topic}.address", 1),),
    )
    old = register(paris.url, f"{topic}-value", record("a"))
    client(paris.url).set_compatibility(f"{topic}-value", "NONE")
    new = register(paris.url, f"{topic}-value", refers)
    key = register(paris.url, f"{topic}-key", Schema('"long"'))
    assert (address, old, new, key) == (1, 2, 3, 4), "these clash with what the other registry has"
    for number in range(5):
        register(schema_registry, f"{topic}.other-{number}", record(f"f{number}", name=f"Other{number}"))
    world.produce(
        topic,
        [
            (0, rec(prefix(new, b"second"), prefix(key, b"k"))),
            (0, rec(prefix(old, b"first"))),
            (1, rec(None, prefix(key, b"gone"))),
            (1, rec(b"no schema", None)),
        ],
    )
    config = copying(world, paris.url, schema_registry, carrier=carrier, prefix="eu.")
    run = world.carry_all(config)
    there = client(schema_registry)
    versions = there.all_versions(f"{to}-value")
    assert [json.loads(each.schema.text) for each in versions] == [
        json.loads(record("a").text), json.loads(refers.text)
    ]  # fmt: skip
    assert versions[1].schema.references == (SchemaReference("Address", f"{topic}.address", 1),)
    assert there.compatibility(f"{to}-value") == "NONE"
    (key_there,) = there.all_versions(f"{to}-key")
    first, second = world.read(to)[0], world.read(to)[1]
    assert [(each.key, each.value) for each in first] == [
        (prefix(key_there.id, b"k"), prefix(versions[1].id, b"second")),
        (b"k", prefix(versions[0].id, b"first")),
    ], run.output
    assert [(each.key, each.value) for each in second] == [
        (prefix(key_there.id, b"gone"), None), (None, b"no schema")
    ]  # fmt: skip
    compared = causeway("verify", config)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "schema ids" in compared.stdout


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_schema_that_is_registered_while_the_mirror_runs(
    world: World, paris: StandIn, tokyo: StandIn, carrier: str
) -> None:
    topic = world.topic("orders")
    first = register(paris.url, f"{topic}-value", record("a"))
    world.produce(topic, [(0, rec(prefix(first)))])
    run = world.run(copying(world, paris.url, tokyo.url, carrier=carrier))
    arrives(run, world, topic, [prefix(500)])
    second = register(paris.url, f"{topic}-value", record("a", "b"))
    world.produce(topic, [(0, rec(prefix(second))), (0, rec(prefix(first)))])
    arrives(run, world, topic, [prefix(500), prefix(501), prefix(500)])
    assert run.stop() == 0, run.output
    before = len(tokyo.requests)
    again = world.run(copying(world, paris.url, tokyo.url, carrier=carrier))
    world.produce(topic, [(0, rec(prefix(second)))])
    arrives(again, world, topic, [prefix(500), prefix(501), prefix(500), prefix(501)])
    assert again.stop() == 0, again.output
    asked = {each for each in tokyo.requests[before:] if "limit=1" not in each}
    assert asked <= {"GET /schemas/ids/500", "GET /schemas/ids/501"}, "the ledger has the map"


def test_ids_are_kept_where_the_destination_imports(world: World, paris: StandIn) -> None:
    topic = world.topic("orders")
    register(paris.url, f"{topic}.other", record("x"))
    wanted = [prefix(register(paris.url, f"{topic}-value", record("a")))]
    world.produce(topic, [(0, rec(wanted[0]))])
    with stand_in() as kyoto:
        world.carry_all(copying(world, paris.url, kyoto.url))
        assert [(each.number, each.id) for each in kyoto.subject(f"{topic}-value")] == [(1, 2)]
    assert values(world, topic) == wanted
    world.assert_mirrored(topic)


@pytest.mark.parametrize(
    "fault", ["down", "password", *(pytest.param(each, marks=DEEP) for each in OTHER_FAULTS)]
)
def test_partitions_wait_for_a_registry_and_others_continue(
    world: World, paris: StandIn, tokyo: StandIn, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, plain = world.topic("orders"), world.topic("plain")
    schema_id = register(paris.url, f"{orders}-value", record("a"))
    [port] = free_ports(1)
    config = copying(world, paris.url, tokyo.url, web=None)
    run = world.run(config, "-X", f"web.port={port}")
    world.produce(plain, [(0, rec(b"1"))])
    arrives(run, world, plain, [b"1"])
    if fault == "password":
        tokyo.login = "causeway:secret"
    else:
        tokyo.fail = fault
    world.produce(orders, [(0, rec(prefix(schema_id)))])
    url = f"http://127.0.0.1:{port}"

    def waits() -> str:
        with urllib.request.urlopen(f"{url}/api/v1/mirrors/{world.mirror}/partitions?q={orders}") as response:
            rows = json.load(response)["partitions"]
        return str(rows[0]["waits_for"]) if rows else ""

    run.until(lambda: tokyo.url in waits(), "the status says why it waits")
    assert f"schema id {schema_id} of {orders} (value)" in waits()
    world.produce(plain, [(0, rec(b"2"))])
    arrives(run, world, plain, [b"1", b"2"])
    assert values(world, orders) == []
    shown = causeway("status", config, "--url", url).stdout
    assert "waits for schemas" in " ".join(shown.split())
    tokyo.fail = tokyo.login = ""
    arrives(run, world, orders, [prefix(500)])
    run.until(lambda: waits() == "", "it waits no more")
    assert run.stop() == 0, run.output
    assert "1 partition of" in run.output
    assert "wait for the schema id" in run.output


@pytest.mark.parametrize(
    ("fault", "code"),
    [("500", 5), ("password", 4), *(pytest.param(each, 5, marks=DEEP) for each in ("nonsense", "slow"))],
)
def test_a_registry_that_cannot_be_used_ends_the_start(
    world: World, paris: StandIn, tokyo: StandIn, fault: str, code: int
) -> None:
    world.topic("orders")
    tokyo.login, tokyo.fail = ("a:b", "") if fault == "password" else ("", fault)
    ended = world.run(copying(world, paris.url, tokyo.url))
    assert ended.wait() == code, ended.output
    assert tokyo.url in ended.output
    assert "Traceback" not in ended.output


def test_an_id_that_the_source_does_not_have(world: World, paris: StandIn, tokyo: StandIn) -> None:
    """It stops its partition, with what to do; with the policy, it keeps its bytes."""
    topic = world.topic("orders", 2)
    known = register(paris.url, f"{topic}-value", record("a"))
    register(paris.url, f"{topic}.other", record("b"))  # id 2, which the topic does not use
    world.produce(topic, [(0, rec(prefix(2))), (1, rec(prefix(known)))])
    ended = world.run(copying(world, paris.url, tokyo.url), "--stop-at-end")
    assert ended.wait() == 7, ended.output
    assert "names the schema id 2" in ended.output
    assert 'unknown_ids = "pass"' in ended.output
    assert values(world, topic) == [prefix(500)]
    world.carry_all(copying(world, paris.url, tokyo.url, more={"unknown_ids": "pass"}))
    assert sorted(map(repr, values(world, topic))) == sorted(map(repr, [prefix(2), prefix(500)]))


def test_new_versions_follow_before_a_record_uses_them(world: World, paris: StandIn, tokyo: StandIn) -> None:
    topic = world.topic("orders")
    register(paris.url, f"{topic}-value", record("a"))
    run = world.run(copying(world, paris.url, tokyo.url, more={"versions": "all"}))
    run.until(lambda: len(tokyo.subject(f"{topic}-value")) == 1, "the first version follows")
    assert run.stop() == 0, run.output


def test_the_way_back_gives_the_first_ids(world: World, paris: StandIn, tokyo: StandIn) -> None:
    """Records of both sides in topics of one name: each side reads the ids of its own registry."""
    topic = world.topic("orders")
    register(paris.url, f"{topic}.other", record("x"))
    here = prefix(register(paris.url, f"{topic}-value", record("a")))
    world.produce(topic, [(0, rec(here))])
    both: dict[str, Any] = {"topics": [topic], "provenance": True, "on_existing_records": "append"}
    world.carry_all(copying(world, paris.url, tokyo.url, **both))
    there = prefix(500)
    assert values(world, topic) == [there]
    world.produce(topic, [(0, rec(there))], on="destination")
    back = {
        "name": f"{world.mirror}-back",
        "source": "dst",
        "destination": "src",
        "schemas": {"mode": "copy"},
    }
    world.carry_all(world.mirrors({**both, **back}))
    assert [each.value for each in world.read(topic, "source")[0]] == [here, here]
    assert [len(paris.subject(f"{topic}-value")), len(tokyo.subject(f"{topic}-value"))] == [1, 1]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_guids_in_headers(world: World, paris: StandIn, carrier: str) -> None:
    """They are the same everywhere: the schema is copied, the record keeps its bytes."""
    topic = world.topic("orders")
    register(paris.url, f"{topic}-value", record("a"))
    found = client(paris.url).version(f"{topic}-value", 1)
    header = (("__value_schema_id", b"\1" + bytes.fromhex(found.guid.replace("-", ""))),)
    world.produce(topic, [(0, rec(prefix(77), headers=header))])
    with stand_in(imports=False, first_id=9) as kyoto:
        world.carry_all(copying(world, paris.url, kyoto.url, carrier=carrier))
        assert client(kyoto.url).id_of_guid(found.guid) == 9
    world.assert_mirrored(topic)


def test_check_says_what_would_happen_to_subjects(world: World, paris: StandIn, tokyo: StandIn) -> None:
    """Which ones would be created, and which ones clash; it writes nothing."""
    orders, audit, plain = world.topic("orders"), world.topic("audit"), world.topic("plain")
    for schema in (record("a"), record("a", "b")):
        register(paris.url, f"{orders}-value", schema)
    register(paris.url, f"{audit}-key", record("k"))
    register(tokyo.url, f"eu.{audit}-key", record("theirs"))
    config = copying(world, paris.url, tokyo.url, prefix="eu.")
    before = list(tokyo.requests)
    ended = causeway("check", config)
    assert ended.returncode == 0, ended.stdout
    said = " ".join(ended.stdout.split())
    assert f'schema registry "dst" responds at {tokyo.url}' in said
    assert f"subject eu.{orders}-value would be created, with 2 versions" in said
    assert f"subject eu.{audit}-key clashes: its version 1 at the destination are not of {audit}-key" in said
    assert plain not in said.replace(f"{plain} ", "").split("subject")[1]
    assert not [each for each in tokyo.requests[len(before) :] if not each.startswith("GET")]
    tokyo.login = "a:b"
    ended = causeway("check", config)
    assert ended.returncode == 4, ended.stdout
    assert "refuses this user" in ended.stdout


@pytest.mark.parametrize("step", ["before-schema-ids", "after-schema-ids"])
def test_a_kill_between_the_copy_and_the_record(
    world: World, paris: StandIn, tokyo: StandIn, tmp_path: Path, step: str
) -> None:
    """The schema is there, its id is in the ledger or not yet; the record comes once, with the same id."""
    topic = world.topic("orders")
    schema_id = register(paris.url, f"{topic}-value", record("a"))
    world.produce(topic, [(0, rec(prefix(schema_id)))])
    config = copying(world, paris.url, tokyo.url)
    killed = world.run(config, env={"CAUSEWAY_FAILPOINT": f"{step}:1:kill:{tmp_path / 'flag'}"})
    assert killed.wait() == -9, killed.output
    assert len(tokyo.subject(f"{topic}-value")) == 1, "it was copied"
    assert values(world, topic) == []
    world.carry_all(config)
    assert values(world, topic) == [prefix(500)]
    assert len(tokyo.subject(f"{topic}-value")) == 1


@pytest.mark.deep
def test_two_real_registries_and_one_that_is_killed(
    world: World, schema_registry: str, tmp_path: Path
) -> None:
    """Both give ids of their own; the source's is killed while partitions need it, and comes back."""
    with SchemaRegistry.start(tmp_path / "registry") as paris:
        orders, plain = world.topic("orders"), world.topic("plain")
        first = register(paris.url, f"{orders}-value", record("a"))
        world.produce(orders, [(0, rec(prefix(first)))])
        run = world.run(copying(world, paris.url, schema_registry))
        there = client(schema_registry)
        run.until(lambda: there.versions(f"{orders}-value"), "the first one is copied")
        copied = there.version(f"{orders}-value", 1).id
        arrives(run, world, orders, [prefix(copied)])
        second = register(paris.url, f"{orders}-value", record("a", "b"))
        paris.kill()
        world.produce(orders, [(0, rec(prefix(second))), (0, rec(prefix(first)))])
        world.produce(plain, [(0, rec(b"1"))])
        arrives(run, world, plain, [b"1"])
        run.until(lambda: "wait for the schema id" in run.output, "it says what it waits for")
        assert values(world, orders) == [prefix(copied)]
        paris.start_process()
        run.until(lambda: len(there.versions(f"{orders}-value")) == 2, "the second one is copied")
        latest = there.version(f"{orders}-value", 2).id
        arrives(run, world, orders, [prefix(copied), prefix(latest), prefix(copied)])
        assert run.stop() == 0, run.output
