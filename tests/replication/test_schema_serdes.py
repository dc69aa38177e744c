"""Records of the official serializers are read by the official deserializers, from the destination alone.

Its registry is a real one, which gives ids of its own. The serializers need packages that are not locked:
confluent-kafka's extras ask for a release of certifi that does not exist.

    pip install authlib cachetools fastavro httpx2 orjson protobuf googleapis-common-protos
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from causeway.core.schema import Registry, Schema
from causeway.schema_registry.client import SchemaRegistryClient
from support.records import Rec
from support.registry_stand_in import StandIn, stand_in
from support.world import World, now_ms

NEEDED = "the official serializers' packages are not installed: see the module's docstring"
for package in ("authlib", "cachetools", "fastavro", "httpx2", "orjson", "google.protobuf"):
    pytest.importorskip(package, reason=NEEDED)

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"to","type":"string"}]}'
JSON = '{"title":"Order","type":"object","properties":{"id":{"type":"number"},"to":{"type":"string"}}}'
ORDER = {"id": 7, "to": "Tokyo"}


def message_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="acme", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    order.field.add(name="to", number=2, type=9, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("acme.Order"))


def formats(client: Any) -> Iterator[tuple[str, Any, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Name, serializer, what it is given, and the deserializer of a registry's client."""
    from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer

    def json_reader(other: Any) -> Any:
        return JSONDeserializer(JSON, schema_registry_client=other)

    made = message_class()
    yield "avro", AvroSerializer(client, AVRO), lambda order: order, AvroDeserializer
    yield "json", JSONSerializer(JSON, client), lambda order: order, json_reader
    yield (
        "protobuf",
        ProtobufSerializer(made, client),
        lambda order: made(**order),
        lambda other: ProtobufDeserializer(made, schema_registry_client=other),
    )


@pytest.fixture
def paris() -> Iterator[StandIn]:
    with stand_in() as started:
        yield started


@pytest.fixture
def official(paris: StandIn, schema_registry: str) -> Iterator[list[Any]]:
    """The official clients of both registries."""
    from confluent_kafka.schema_registry import SchemaRegistryClient as OfficialClient

    with ExitStack() as closing:
        yield [closing.enter_context(OfficialClient({"url": url})) for url in (paris.url, schema_registry)]


@pytest.mark.parametrize("carrier", ["native", "object"])
def test_three_formats(
    world: World, schema_registry: str, paris: StandIn, official: list[Any], carrier: str
) -> None:
    from confluent_kafka.serialization import MessageField, SerializationContext

    here, there = official
    readers: dict[str, Any] = {}
    for name, serializer, made, deserializer in formats(here):
        topic = world.topic(name)
        value = serializer(made(ORDER), SerializationContext(topic, MessageField.VALUE))
        world.produce(topic, [(0, Rec(b"k", value, (), now_ms()))])
        readers[topic] = deserializer(there)
    registry = SchemaRegistryClient.of(Registry("tokyo", (schema_registry,)))
    for number in range(4):  # whatever ids it gives next, they are not those of the source
        other = Schema(f'{{"type":"record","name":"O{number}","fields":[]}}')
        registry.register(f"{world.mirror}.other-{number}", other)
    world.registries = {"src": {"url": paris.url}, "dst": {"url": schema_registry}}
    world.carry_all(world.config(carrier=carrier, schemas={"mode": "copy"}))
    paris.fail = "500"  # the destination alone must do
    for topic, reader in readers.items():
        (arrived,) = world.read(topic)[0]
        order = reader(arrived.value, SerializationContext(topic, MessageField.VALUE))
        found = order if isinstance(order, dict) else {"id": order.id, "to": order.to}
        assert found == ORDER, topic
