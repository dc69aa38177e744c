"""Creates Kafka clients, with the properties that the guarantees and the speed depend on.

Only this module resolves secrets. Clients log nothing by themselves: what matters of librdkafka's stderr
output becomes errors and events.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, ThrottleEvent
from confluent_kafka.admin import AdminClient

from causeway.config import secret_values, secrets
from causeway.core.cluster import Cluster
from causeway.errors import CausewayError, ConfigError, SecretMissing
from causeway.kafka import abandoned_clients, credentials
from causeway.kafka.native.library import Absent

MAX_MESSAGE_BYTES = 1_000_000_000
"""librdkafka's default limit is 1 MB; here the brokers decide."""

SMALLEST_MESSAGE_BYTES = 1_000
PARTITION_FETCH_BYTES = 1024 * 1024  # the client's default

Make = Callable[[dict[str, object]], Any]
"""Creates a handle from its properties: a class of the client, or of the native carrier."""

_TLS_FILES = re.compile(r"ssl\.(ca|certificate|key|keystore|crl)\b|[Pp]rivate key|PKCS")

ErrorCallback = Callable[[KafkaError], None]
LogCallback = Callable[[str], None]

_QUIET = logging.getLogger("causeway.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


class _LogHandler(logging.Handler):
    """Passes the client's log lines to a function when the client is polled."""

    def __init__(self, on_log: LogCallback) -> None:
        super().__init__()
        self._on_log = on_log

    def emit(self, record: logging.LogRecord) -> None:
        self._on_log(record.getMessage())


_COMMON: dict[str, object] = {
    "client.id": "causeway",
    "reconnect.backoff.ms": 10,  # the first transaction takes 15 ms with it, 500 ms without
    "reconnect.backoff.max.ms": 2_000,
    # How long to wait for the first response on a new connection: it may be lost while the line looks alive.
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
    # How long to wait for a response that was lost while the connection looks alive: so not long. But a
    # response must arrive within this time on a line of 1 MB a second that all shards share.
    "socket.timeout.ms": 11_000,
    "fetch.max.bytes": 8 * 1024 * 1024,
    "receive.message.max.bytes": MAX_MESSAGE_BYTES,  # a record larger than all of these limits comes alone
    "queued.min.messages": 100_000,
}

_PRODUCER: dict[str, object] = {
    "message.max.bytes": MAX_MESSAGE_BYTES,
    "acks": "all",
    "enable.idempotence": True,
    # Otherwise our own producer would recreate a deleted destination topic.
    "allow.auto.create.topics": False,
    "retry.backoff.ms": 10,
    "linger.ms": 5,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 2_000_000,
}


class ObjectProducer(Producer):  # type: ignore[misc]
    """The client's Python class for producers."""

    def __del__(self) -> None:
        abandoned_clients.destroy(self)


class RequestClient(AdminClient):  # type: ignore[misc]
    """The client's Python class for requests to a cluster."""

    def __del__(self) -> None:
        abandoned_clients.destroy(self)


def resolved(cluster: Cluster, special: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties of the cluster's clients with the secrets in them, as they are now.

    Files are read again each time, so a new client has a secret that was replaced meanwhile.
    """
    return {name: secrets.resolve(value) for name, value in {**cluster.properties, **(special or {})}.items()}


def secret_versions(cluster: Cluster) -> object:
    """A value that is another one when a secret or a certificate of the cluster's clients has changed."""
    values = {**cluster.properties, **cluster.consumer, **cluster.producer}
    versions: dict[str, object] = {}
    for name, value in values.items():
        with contextlib.suppress(ConfigError):  # missing while it is replaced
            now = secrets.resolve(value)
            versions[name] = hashlib.sha256(now.encode()).digest()
            if name.endswith((".location", ".file")):
                with contextlib.suppress(OSError, ValueError):  # or it is no path, but PEM itself
                    file = Path(now).stat()
                    versions[name] = (file.st_ino, file.st_mtime_ns, file.st_size)
    return versions


def _handle_properties(
    cluster: Cluster,
    defaults: Mapping[str, object],
    special: Mapping[str, str],
    required: Mapping[str, object],
    on_error: ErrorCallback | None,
) -> dict[str, object]:
    """Merge properties: the user's override the defaults, `required` overrides both."""
    abandoned_clients.watch()
    try:
        usable = credentials.usable(cluster.alias, resolved(cluster, special))
    except CausewayError as error:
        given = {**cluster.properties, **special}
        raise secret_values.concealed(error, [secret_values.of_references(given)]) from None
    return {
        **_COMMON,
        **defaults,
        **usable,
        **required,
        "error_cb": _without_secrets(usable, on_error) if on_error else (lambda error: None),
        "logger": _QUIET,
    }


def _without_secrets(usable: Mapping[str, Any], on_error: ErrorCallback) -> ErrorCallback:
    """Errors as they may be shown: their texts come from brokers, too, and from providers of tokens."""
    conceal = secret_values.of_properties({name: str(value) for name, value in usable.items()})

    def pass_on(error: KafkaError) -> None:
        text = error.str()
        shown = conceal(text)
        if shown != text:
            kind = error.fatal(), error.retriable(), error.txn_requires_abort()
            error = KafkaError(error.code(), shown, *kind)
        on_error(error)

    return pass_on


def _logger(on_log: LogCallback) -> logging.Logger:
    logger = logging.Logger("causeway.librdkafka")
    logger.addHandler(_LogHandler(on_log))
    return logger


def _rejected(cluster: Cluster, exception: KafkaException) -> ConfigError:
    """A running mirror waits for files that do not fit together: a key that is replaced, say, and its
    certificate a moment later."""
    given = {**cluster.properties, **cluster.consumer, **cluster.producer}
    now = {name: secrets.resolve(value) for name, value in given.items()}
    # The client quotes values that it rejects: a password, perhaps, that is under the wrong name.
    conceal = (secret_values.of_references(given), secret_values.of_properties(now))
    why = exception.args[0].str()
    kind = SecretMissing if _TLS_FILES.search(why) else ConfigError
    error = kind(
        "the Kafka client rejects a property",
        where=f'cluster "{cluster.alias}"',
        why=why,
        todo=f"correct it under [clusters.{cluster.alias}.sasl], .tls, .properties, .consumer or .producer",
        cluster=cluster.alias,
    )
    return secret_values.concealed(error, conceal)


def consumer(
    cluster: Cluster,
    group: str,
    *,
    make: Make = Consumer,
    on_error: ErrorCallback | None = None,
    on_log: LogCallback | None = None,
    fetch_bytes: int | None = None,
    **required: object,
) -> Any:
    """A consumer that never commits by itself, never resets its offset, and reads read_committed by default.

    Keyword names use underscores for librdkafka's dots. `fetch_bytes` limits one fetch response, unless the
    user sets another limit; a larger batch comes all the same.
    """
    must = {"group.id": group, **{name.replace("_", "."): value for name, value in required.items()}}
    defaults = {**_CONSUMER, **_fetching(fetch_bytes)} if fetch_bytes is not None else _CONSUMER
    properties = _handle_properties(cluster, defaults, cluster.consumer, must, on_error)
    # A producer property, but the client rejects a fetch.max.bytes below it. Its default is 1,000,000.
    properties["message.max.bytes"] = SMALLEST_MESSAGE_BYTES
    if on_log is not None:
        properties |= {"log_level": 7, "logger": _logger(on_log)}
    try:
        return make(properties)
    except KafkaException as exception:
        raise _rejected(cluster, exception) from None
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
    make: Make = ObjectProducer,
    on_error: ErrorCallback | None = None,
    on_log: LogCallback | None = None,
    on_throttle: Callable[[ThrottleEvent], None] | None = None,
    **required: object,
) -> Any:
    """An idempotent producer; pass `transactional_id` and `transaction_timeout_ms` for transactions."""
    must = {name.replace("_", "."): value for name, value in required.items()}
    if on_log is not None:
        # When the client repairs a lost connection by itself, only its log reports the loss.
        must |= {"log_level": 6, "log.connection.close": True}
    properties = _handle_properties(cluster, _PRODUCER, cluster.producer, must, on_error)
    if on_throttle is not None:
        properties["throttle_cb"] = on_throttle
    if on_log is not None:
        properties["logger"] = _logger(on_log)
    try:
        return make(properties)
    except KafkaException as exception:
        raise _rejected(cluster, exception) from None


def admin(cluster: Cluster, *, on_error: ErrorCallback | None = None) -> AdminClient:
    try:
        return RequestClient(_handle_properties(cluster, {}, {}, {}, on_error))
    except KafkaException as exception:
        raise _rejected(cluster, exception) from None
