"""Client and Spark properties: which ones a user may not set, and why.

Owns the tables of refused names, and the names that several modules use. Whether a name exists at all is not
decided here: librdkafka knows, and the kafka package asks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CLIENT_TABLES = ("properties", "consumer", "producer")

PROTOCOL = "security.protocol"
MECHANISM = "sasl.mechanism"
HOSTNAME = "ssl.endpoint.identification.algorithm"
VERIFICATION = "enable.ssl.certificate.verification"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"

TOKEN_FILE = "causeway.token.file"
TRUSTSTORE = "causeway.truststore.location"
TRUSTSTORE_PASSWORD = "causeway.truststore.password"
"""Causeway's own properties, for what librdkafka cannot read: `kafka/credentials.py` replaces them."""

PEM_TEXT: Mapping[str, str] = {
    "ssl.ca.location": "ssl.ca.pem",
    "ssl.certificate.location": "ssl.certificate.pem",
    "ssl.key.location": "ssl.key.pem",
    "https.ca.location": "https.ca.pem",
}
"""Properties for a PEM file, with those for its text. Which one it is shows once references are resolved."""

SAME: Mapping[str, str] = {text: file for file, text in PEM_TEXT.items()} | {
    "sasl.mechanisms": MECHANISM,
    TRUSTSTORE: "ssl.ca.location",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "queue.buffering.max.ms": "linger.ms",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
"""Names of the same thing."""

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

AGREED: Mapping[str, tuple[str, ...]] = {
    "enable.auto.commit": ("false",),
    "check.crcs": ("true",),
    "isolation.level": ("read_committed",),
    "enable.idempotence": ("true",),
    "acks": ("all", "-1"),
    "allow.auto.create.topics": ("false",),
}
"""Values of refused properties that ask for what happens anyway. They are accepted, and not passed on."""

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
    if name in REFUSED and name not in AGREED:
        raise ValueError(f"Causeway sets this property itself: {REFUSED[name]}")
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
    if isinstance(value, str) and "\0" in value:
        raise ValueError("must not contain a NUL character")
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
