"""Client handles, with the properties that the guarantees and the speed rest on.

Secrets are resolved here and nowhere else. Clients log nothing by themselves: librdkafka's stderr
chatter becomes errors and events where it matters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, ThrottleEvent
from confluent_kafka.admin import AdminClient

from causeway.config import secrets
from causeway.errors import ConfigError
from causeway.kafka.native.library import Absent
from causeway.model.cluster import Cluster

MAX_MESSAGE_BYTES = 1_000_000_000
"""librdkafka's own default stops at 1 MB; the brokers decide instead."""

SMALLEST_MESSAGE_BYTES = 1_000
PARTITION_FETCH_BYTES = 1024 * 1024  # as the client's own default

Make = Callable[[dict[str, object]], Any]
"""Makes a handle of its properties: one of the client's classes, or of the native lane's."""

OnError = Callable[[KafkaError], None]
OnLog = Callable[[str], None]

_QUIET = logging.getLogger("causeway.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


class _Ear(logging.Handler):
    """Hands the client's log lines to a function, when the client is polled."""

    def __init__(self, hear: OnLog) -> None:
        super().__init__()
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        self._hear(record.getMessage())


_COMMON: dict[str, object] = {
    "client.id": "causeway",
    "reconnect.backoff.ms": 10,  # 500 ms for the first transaction otherwise, 15 ms with it
    "reconnect.backoff.max.ms": 2_000,
    # The first question on a new connection. Lost on a line that looks alive, it is waited for until then.
    "api.version.request.timeout.ms": 5_000,
    "socket.keepalive.enable": True,
    "socket.nagle.disable": True,
    "log_level": 3,
}

_CONSUMER: dict[str, object] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    "check.crcs": True,
    "fetch.wait.max.ms": 20,
    "fetch.queue.backoff.ms": 2,
    "fetch.error.backoff.ms": 50,
    # An answer that was lost on a line that looks alive is waited for until then, so not for long; and an
    # answer must come through in that time on a line of 1 MB a second, which all shards share.
    "socket.timeout.ms": 11_000,
    "fetch.max.bytes": 8 * 1024 * 1024,
    "receive.message.max.bytes": MAX_MESSAGE_BYTES,  # a record that is larger than all of these comes alone
    "queued.min.messages": 100_000,
}

_PRODUCER: dict[str, object] = {
    "message.max.bytes": MAX_MESSAGE_BYTES,
    "acks": "all",
    "enable.idempotence": True,
    # Without this our own producer would bring a deleted destination topic back to life.
    "allow.auto.create.topics": False,
    "retry.backoff.ms": 10,
    "linger.ms": 5,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 2_000_000,
}


def _handle_properties(
    cluster: Cluster,
    defaults: Mapping[str, object],
    special: Mapping[str, str],
    required: Mapping[str, object],
    on_error: OnError | None,
) -> dict[str, object]:
    """Defaults, over them the user's properties, over them what must be so."""
    users = {**cluster.properties, **special}
    resolved = {name: secrets.resolve(value) for name, value in users.items()}
    return {
        **_COMMON,
        **defaults,
        **resolved,
        **required,
        "error_cb": on_error or (lambda error: None),
        "logger": _QUIET,
    }


def _logger(on_log: OnLog) -> logging.Logger:
    logger = logging.Logger("causeway.librdkafka")
    logger.addHandler(_Ear(on_log))
    return logger


def _refused(cluster: Cluster, exception: KafkaException) -> ConfigError:
    return ConfigError(
        "a client property is not accepted",
        where=f'cluster "{cluster.alias}"',
        why=exception.args[0].str(),
        todo=f"correct it under [clusters.{cluster.alias}.properties], .consumer or .producer",
    )


def consumer(
    cluster: Cluster,
    group: str,
    *,
    make: Make = Consumer,
    on_error: OnError | None = None,
    on_log: OnLog | None = None,
    fetch_bytes: int | None = None,
    **required: object,
) -> Any:
    """A consumer that never commits by itself, never resets, and sees committed records alone.

    Keyword names use underscores for librdkafka's dots. `fetch_bytes` is the most that one answer brings,
    unless the user says otherwise; a batch that is larger comes all the same.
    """
    must = {"group.id": group, **{name.replace("_", "."): value for name, value in required.items()}}
    defaults = {**_CONSUMER, **_fetching(fetch_bytes)} if fetch_bytes is not None else _CONSUMER
    properties = _handle_properties(cluster, defaults, cluster.consumer, must, on_error)
    # A producer's property, but the client takes no fetch.max.bytes below it: its default is 1,000,000.
    properties["message.max.bytes"] = SMALLEST_MESSAGE_BYTES
    if on_log is not None:
        properties |= {"log_level": 7, "logger": _logger(on_log)}
    try:
        return make(properties)
    except KafkaException as exception:
        raise _refused(cluster, exception) from None
    except Absent as absent:
        raise ConfigError(
            "records cannot be read byte for byte with this confluent-kafka",
            where=f'cluster "{cluster.alias}"',
            why=str(absent),
            todo="install a wheel of confluent-kafka 2.16",
        ) from None


def _fetching(most: int) -> dict[str, object]:
    return {"fetch.max.bytes": most, "fetch.message.max.bytes": min(most, PARTITION_FETCH_BYTES)}


def producer(
    cluster: Cluster,
    *,
    make: Make = Producer,
    on_error: OnError | None = None,
    on_log: OnLog | None = None,
    on_throttle: Callable[[ThrottleEvent], None] | None = None,
    **required: object,
) -> Any:
    """An idempotent producer; pass `transactional_id` and `transaction_timeout_ms` for transactions."""
    must = {name.replace("_", "."): value for name, value in required.items()}
    if on_log is not None:
        # A lost connection is logged, and reported in no other way when the client repairs it by itself.
        must |= {"log_level": 6, "log.connection.close": True}
    properties = _handle_properties(cluster, _PRODUCER, cluster.producer, must, on_error)
    if on_throttle is not None:
        properties["throttle_cb"] = on_throttle
    if on_log is not None:
        properties["logger"] = _logger(on_log)
    try:
        return make(properties)
    except KafkaException as exception:
        raise _refused(cluster, exception) from None


def admin(cluster: Cluster, *, on_error: OnError | None = None) -> AdminClient:
    try:
        return AdminClient(_handle_properties(cluster, {}, {}, {}, on_error))
    except KafkaException as exception:
        raise _refused(cluster, exception) from None
