"""Placement by key agrees with a real Java producer, for every kind of key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from causeway.local_kafka.jars import kafka_jars
from support.records import Rec
from support.world import World, now_ms

KEYS = [
    *(b"k" * length for length in range(40)),  # every remainder of murmur2's words of four
    *(bytes(range(n, n + 7)) for n in range(120, 249, 3)),  # bytes that are negative in Java
    *(f"order-{n}".encode() for n in range(200)),
    "schlüssel-鍵".encode(),
]


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """A JVM with Kafka's own client in it."""
    (py4j,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    port, token = launch_gateway(
        jarpath=str(py4j), classpath=f"{kafka_jars()}/*", die_on_exit=True, enable_auth=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    yield gateway
    gateway.shutdown()


def java_partitions(java: Any, servers: str, topic: str, keys: list[bytes]) -> dict[bytes, int]:
    """Where a Java producer with its defaults puts records with these keys."""
    properties = java.jvm.java.util.Properties()
    serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
    for name, value in {
        "bootstrap.servers": servers, "key.serializer": serializer, "value.serializer": serializer,
    }.items():  # fmt: skip
        properties.setProperty(name, value)
    producer = java.jvm.org.apache.kafka.clients.producer.KafkaProducer(properties)
    try:
        record = java.jvm.org.apache.kafka.clients.producer.ProducerRecord
        sent = {key: producer.send(record(topic, bytearray(key), bytearray(b"v"))) for key in keys}
        return {key: int(future.get().partition()) for key, future in sent.items()}
    finally:
        producer.close()


def test_a_key_goes_to_the_partition_that_a_java_producer_chooses(world: World, java: Any) -> None:
    topic = world.topic(partitions=2)
    there, reference = (world.topic(suffix, 7, on="destination") for suffix in ("there", "reference"))
    at = now_ms()
    world.produce(topic, [(n % 2, Rec(key, b"v", (), at)) for n, key in enumerate(KEYS)])
    world.carry_all(world.config([topic], rename={topic: there}, partitions="by-key"))

    expected = java_partitions(java, world.servers["destination"], reference, KEYS)
    partitions = {rec.key: number for number, recs in world.read(there).items() for rec in recs}
    assert partitions == expected
    assert set(partitions.values()) == set(range(7))
