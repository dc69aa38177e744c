"""Client and Spark properties: which ones a user may not set, and why.

Owns the tables of refused names and of Java names that have another name in librdkafka. Whether a
name exists at all is not decided here: librdkafka knows, and the kafka package asks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CLIENT_TABLES = ("properties", "consumer", "producer")

_EVERY_RECORD = "every record must be acknowledged by all in-sync replicas, retried and kept in order"
_POSITIONS = "positions come from the ledger and are never taken from the source group"
_COMPRESSION = "set the mirror's compression"
_BOOTSTRAP = "set the cluster's bootstrap_servers"
_TIMEOUT = "the mirror's transaction_timeout limits it"

REFUSED: Mapping[str, str] = {
    "bootstrap.servers": _BOOTSTRAP,
    "metadata.broker.list": _BOOTSTRAP,
    "group.id": "set the mirror's source_group_name",
    "enable.auto.commit": _POSITIONS,
    "auto.commit.enable": _POSITIONS,
    "enable.auto.offset.store": _POSITIONS,
    "offset.store.method": _POSITIONS,
    "auto.offset.reset": "an offset out of range must stop the partition, not move its position",
    "check.crcs": "records damaged on disk or in transit must not be replicated",
    "isolation.level": "records of aborted transactions must not be replicated",
    "enable.partition.eof": "positions move past transaction markers by the end-of-partition events",
    "topic.blacklist": "a hidden topic looks like a deleted one; use the mirror's topics and exclude",
    "transactional.id": "it identifies the shard, and fences its earlier attempts",
    "transaction.timeout.ms": "set the mirror's transaction_timeout",
    "enable.idempotence": _EVERY_RECORD,
    "enable.gapless.guarantee": _EVERY_RECORD,
    "acks": _EVERY_RECORD,
    "request.required.acks": _EVERY_RECORD,
    "max.in.flight": _EVERY_RECORD,
    "max.in.flight.requests.per.connection": _EVERY_RECORD,
    "retries": _EVERY_RECORD,
    "message.send.max.retries": _EVERY_RECORD,
    "queuing.strategy": _EVERY_RECORD,
    "message.timeout.ms": _TIMEOUT,
    "delivery.timeout.ms": _TIMEOUT,
    "delivery.report.only.error": "delivery reports give the destination offset of each record",
    "partitioner": "set the mirror's partitions and partitioner",
    "compression.type": _COMPRESSION,
    "compression.codec": _COMPRESSION,
    "allow.auto.create.topics": "a deleted destination topic must not be created again by a produce request",
}

_RAW_BYTES = "leave it out: keys and values are replicated as bytes"
_NO_PASSWORD = "leave it out: a PEM file of CA certificates has no password"
_PEM_ONLY = "leave it out: certificates are PEM files, keystores PKCS#12"

JAVA_NAMES: Mapping[str, str] = {
    "ssl.truststore.location": 'in librdkafka it is "ssl.ca.location", a PEM file',
    "ssl.truststore.certificates": 'in librdkafka it is "ssl.ca.pem"',
    "ssl.truststore.password": _NO_PASSWORD,
    "ssl.truststore.type": _PEM_ONLY,
    "ssl.keystore.type": _PEM_ONLY,
    "ssl.keystore.key": 'in librdkafka it is "ssl.key.pem"',
    "ssl.keystore.certificate.chain": 'in librdkafka it is "ssl.certificate.pem"',
    "sasl.jaas.config": 'in librdkafka it is "sasl.username" and "sasl.password"',
    "sasl.login.callback.handler.class": 'in librdkafka it is "sasl.oauthbearer.method" = "oidc"',
    "max.request.size": 'in librdkafka it is "message.max.bytes"',
    "buffer.memory": "set the mirror's queue_bytes",
    "fetch.max.wait.ms": 'in librdkafka it is "fetch.wait.max.ms"',
    "send.buffer.bytes": 'in librdkafka it is "socket.send.buffer.bytes"',
    "receive.buffer.bytes": 'in librdkafka it is "socket.receive.buffer.bytes"',
    "default.api.timeout.ms": 'in librdkafka it is "socket.timeout.ms"',
    "config.providers": "leave it out: ${env:NAME} and ${file:/path} work in every value",
    "partitioner.class": "set the mirror's partitions and partitioner",
    "key.serializer": _RAW_BYTES,
    "value.serializer": _RAW_BYTES,
    "key.deserializer": _RAW_BYTES,
    "value.deserializer": _RAW_BYTES,
}

_IDLE = "Spark would kill a shard that waits for records as idle"

SPARK_REFUSED: Mapping[str, str] = {
    "spark.master": "set master",
    "spark.speculation": "two copies of a task would fence each other for ever",
    "spark.task.cpus": "a shard uses one slot",
    "spark.python.worker.idleTimeoutSeconds": _IDLE,
    "spark.python.worker.killOnIdleTimeout": _IDLE,
    "spark.sql.execution.pyspark.udf.idleTimeoutSeconds": _IDLE,
    "spark.sql.execution.pyspark.udf.killOnIdleTimeout": _IDLE,
}

JVM_OPTIONS = tuple(
    f"spark.{process}.{kind}JavaOptions"
    for process in ("driver", "executor")
    for kind in ("default", "extra")
)
"""Spark properties whose values are parts of a JVM's command line."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def client_name(name: str) -> str:
    """A property name that a user may set; raises ValueError with the reason otherwise."""
    if name in REFUSED:
        raise ValueError(f"Causeway sets this property itself: {REFUSED[name]}")
    if name in JAVA_NAMES:
        raise ValueError(f"this is a name of the Java client: {JAVA_NAMES[name]}")
    if not _NAME.fullmatch(name):
        raise ValueError("this cannot be the name of a client property")
    return name


def spark_name(name: str) -> str:
    """A Spark property that a user may set; raises ValueError with the reason otherwise."""
    if name in SPARK_REFUSED:
        raise ValueError(f"Causeway sets this property itself: {SPARK_REFUSED[name]}")
    if not _NAME.fullmatch(name) or not name.startswith("spark."):
        raise ValueError('Spark properties have names that begin with "spark."')
    return name


def property_value(value: object) -> str:
    """A property's value as clients take it: TOML's numbers and booleans become text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    raise ValueError("must be a string, a number or a boolean")


def flatten(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """TOML's nested tables as dotted names, and the names that were given twice."""
    flat: dict[str, Any] = {}
    twice: list[str] = []
    # A stack and not recursion: a key may have any number of dots.
    waiting = [("", table)]
    while waiting:
        prefix, nested = waiting.pop()
        for key, value in nested.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping):
                waiting.append((f"{name}.", value))
            elif name in flat:
                twice.append(name)
            else:
                flat[name] = value
    return flat, twice
