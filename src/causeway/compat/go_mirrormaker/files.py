"""Go MirrorMaker's consumer.config and producer.config: every key that any of its versions reads.

A key becomes a client property where librdkafka has an equal one. The others tune what Causeway does not
have (goroutines, ZooKeeper, retries) and get a note that they are not needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from causeway.compat.properties_file import PropertiesFile
from causeway.compat.reading import fitting
from causeway.compat.translation import ClusterKeys, Translation
from causeway.config import client_names, fields
from causeway.config.problems import nearest

DEFAULT_GROUP = "go-consumer-group"

_SERVERS = ("bootstrap.servers", "metadata.broker.list")
_SECURITY = re.compile(r"security\.protocol|enable\.ssl\.certificate\.verification|(?:sasl|ssl|https)\..+")
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "m": 6e4, "h": 3.6e6}

_ROUTINES = "not needed: the mirror has its own parallel tasks (shards)"
_ASSIGNED = "not needed: the mirror assigns its partitions itself, without rebalances"
_RETRIED = "not needed: failures are retried without a limit, and no record is skipped"
_TOGETHER = "not needed: records and their position are committed together"
_LOAD = "not needed: batch sizes adapt to the load"
_TAKES_OVER = "not needed: a second instance takes over immediately"
_ZOOKEEPER = "not needed: Causeway does not use ZooKeeper"
_ALL = "not needed: every record is acknowledged by all in-sync replicas and delivered exactly once"


@dataclass(frozen=True)
class FileKey:
    kind: Literal["text", "whole", "duration", "boolean"]
    note: str = ""
    becomes: str = ""  # librdkafka's name


CONSUMER: dict[str, FileKey] = {
    "bootstrap.servers": FileKey("text"),
    "metadata.broker.list": FileKey("text"),
    "group.id": FileKey("text"),
    "client.id": FileKey("text", becomes="client.id"),
    "socket.timeout": FileKey("duration", becomes="socket.timeout.ms"),
    "fetch.message.max.bytes": FileKey("whole", becomes="fetch.message.max.bytes"),
    "fetch.min.bytes": FileKey("whole", becomes="fetch.min.bytes"),
    "fetch.wait.max.ms": FileKey("whole", becomes="fetch.wait.max.ms"),
    "exclude.internal.topics": FileKey("boolean"),
    "auto.offset.reset": FileKey("text", "has no effect in MirrorMaker either: topics start at the earliest "
    "offset"),
    "offsets.storage": FileKey("text", "positions are in the ledger; `causeway adopt` takes over the old "
    "offsets"),
    "consumer.id": FileKey("text", _ASSIGNED),
    "partition.assignment.strategy": FileKey("text", _ASSIGNED),
    "rebalance.max.retries": FileKey("whole", _ASSIGNED),
    "rebalance.backoff": FileKey("duration", _ASSIGNED),
    "barrier.timeout": FileKey("duration", _ASSIGNED),
    "num.consumer.fetchers": FileKey("whole", _ROUTINES),
    "num.workers": FileKey("whole", _ROUTINES),
    "routine.pool.size": FileKey("whole", _ROUTINES),
    "worker.task.timeout": FileKey("duration", _ROUTINES),
    "worker.managers.stop.timeout": FileKey("duration", _ROUTINES),
    "queued.max.message.chunks": FileKey("whole", "not needed: queue_bytes limits what is fetched ahead"),
    "max.worker.retries": FileKey("whole", _RETRIED),
    "worker.retry.threshold": FileKey("whole", _RETRIED),
    "worker.threshold.time.window": FileKey("duration", _RETRIED),
    "worker.backoff": FileKey("duration", _RETRIED),
    "refresh.leader.backoff": FileKey("duration", _RETRIED),
    "fetch.max.retries": FileKey("whole", _RETRIED),
    "fetch.topic.metadata.retries": FileKey("whole", _RETRIED),
    "fetch.topic.metadata.backoff": FileKey("duration", _RETRIED),
    "fetch.request.backoff": FileKey("duration", _RETRIED),
    "offset.commit.max.retries": FileKey("whole", _TOGETHER),
    "offset.commit.interval": FileKey("duration", _TOGETHER),
    "fetch.batch.size": FileKey("whole", _LOAD),
    "fetch.batch.timeout": FileKey("duration", _LOAD),
    "requeue.ask.next.backoff": FileKey("duration", _LOAD),
    "blue.green.deployment.enabled": FileKey("boolean", _TAKES_OVER),
    "deployment.timeout": FileKey("duration", _TAKES_OVER),
}  # fmt: skip

PRODUCER: dict[str, FileKey] = {
    "bootstrap.servers": FileKey("text"),
    "metadata.broker.list": FileKey("text"),
    "compression.codec": FileKey("text"),
    "compression.type": FileKey("text"),
    "client.id": FileKey("text", becomes="client.id"),
    "linger": FileKey("duration", becomes="linger.ms"),
    "acks": FileKey("text", _ALL),
    "timeout": FileKey("duration", _ALL),
    "timeout.ms": FileKey("whole", _ALL),
    "retries": FileKey("whole", _RETRIED),
    "retry.backoff": FileKey("duration", _RETRIED),
    "metadata.max.age": FileKey("duration", _RETRIED),
    "max.message.bytes": FileKey("whole", "not needed: the destination's own limits decide"),
    "batch.size": FileKey("whole", _LOAD),
    "flush.byte.count": FileKey("whole", _LOAD),
    "flush.timeout": FileKey("duration", _LOAD),
    "max.messages.per.request": FileKey("whole", _LOAD),
    "max.requests": FileKey("whole", _LOAD),
    "send.buffer.size": FileKey("whole", "not needed: queue_bytes and queue_records limit the queue"),
    "block.on.buffer.full": FileKey(
        "boolean", "not needed: the consumer waits while the producer's queue is full"
    ),
    "send.routines": FileKey("whole", _ROUTINES),
    "receive.routines": FileKey("whole", _ROUTINES),
}

_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def source(
    file: PropertiesFile, translation: Translation, alias: str, elsewhere: bool
) -> tuple[dict[str, Any], str]:
    """A source cluster and its group name; `elsewhere`: brokers are not required here, -X may name them."""
    cluster = _cluster(file, translation, CONSUMER, "consumer")
    if "bootstrap_servers" not in cluster and not elsewhere:
        option = f"-X clusters.{alias}.bootstrap_servers=…"
        _missing_servers(file, translation, "to read from", option)
    internal = file.entries.get("exclude.internal.topics")
    if internal and internal.value and internal.value != "true":
        translation.problem(
            file.where("exclude.internal.topics"),
            'topics that begin with "__" are replicated only if they are named: remove the key, '
            "and name them with -X 'mirrors.0.topics=[…]'",
        )
    group = file.entries["group.id"].value if "group.id" in file.entries else ""
    return cluster, fitting(translation, file.where("group.id"), group or DEFAULT_GROUP, fields.GroupName)


def destination(
    file: PropertiesFile, translation: Translation, elsewhere: bool
) -> tuple[dict[str, Any], str]:
    """The destination cluster and its compression, empty if none is given."""
    cluster = _cluster(file, translation, PRODUCER, "producer")
    if "bootstrap_servers" not in cluster and not elsewhere:
        _missing_servers(file, translation, "to write to", "-X clusters.target.bootstrap_servers=…")
    chosen = ""
    for key in ("compression.codec", "compression.type"):
        value = file.entries[key].value if key in file.entries else ""
        if value and value not in _COMPRESSIONS:
            known = ", ".join(_COMPRESSIONS)
            translation.problem(
                file.where(key), f'must be one of {known}, not "{value}"{nearest(value, _COMPRESSIONS)}'
            )
        chosen = value or chosen
    return cluster, chosen


def keys_of(file: PropertiesFile) -> ClusterKeys:
    servers = next((name for name in _SERVERS if name in file.entries), _SERVERS[0])
    return ClusterKeys(file.where(servers), f"the sasl.… and ssl.… properties in {file.name}")


def servers_of(file: PropertiesFile) -> tuple[str, str]:
    """The key that names the brokers, for messages, and its value; both empty if there is none."""
    for name in _SERVERS:
        if name in file.entries and file.entries[name].value:
            return file.where(name), file.entries[name].value
    return "", ""


def _missing_servers(file: PropertiesFile, translation: Translation, what: str, option: str) -> None:
    todo = f"add it to the file (MirrorMaker ignores it), or set {option}"
    if "zookeeper.connect" in file.entries:
        translation.problem(
            file.where("zookeeper.connect"),
            f"bootstrap.servers is needed instead: Causeway does not use ZooKeeper; {todo}",
        )
    else:
        translation.problem(
            file.where("bootstrap.servers"), f"missing: the brokers {what}, as host:port; {todo}"
        )


def _cluster(
    file: PropertiesFile, translation: Translation, known: dict[str, FileKey], client: str
) -> dict[str, Any]:
    properties: dict[str, str] = {}
    special: dict[str, str] = {}
    security: dict[str, str] = {}
    for name, entry in file.entries.items():
        key, where = known.get(name), file.where(name)
        if key is None:
            if _SECURITY.fullmatch(name):
                security[name] = entry.value
            elif client == "consumer" and name.startswith("zookeeper."):
                translation.note(where, _ZOOKEEPER)
            else:
                translation.problem(where, f"unknown key{nearest(name, known)}")
        elif entry.value:  # empty means the default, as in Go
            value = _checked(translation, where, key, entry.value)
            if key.note:
                translation.note(where, key.note)
            if key.becomes and value is not None:
                (properties if key.becomes == "client.id" else special)[key.becomes] = value
    properties |= _security(translation, file, security)
    servers = [name for name in _SERVERS if name in file.entries and file.entries[name].value]
    if len(servers) > 1:
        translation.note(file.where(servers[1]), f"not needed: {servers[0]} is set")
    cluster: dict[str, Any] = {}
    if servers:
        cluster["bootstrap_servers"] = fitting(
            translation, file.where(servers[0]), file.entries[servers[0]].value, fields.Servers
        )
    return cluster | {k: v for k, v in (("properties", properties), (client, special)) if v}


def _security(translation: Translation, file: PropertiesFile, given: dict[str, str]) -> dict[str, str]:
    """MirrorMaker has no security settings; users of this compat command may write librdkafka's or Java's."""
    names = client_names.translated(given)
    for name, problem in names.problems:
        translation.problem(file.where(name), problem)
    return names.properties


def _checked(translation: Translation, where: str, key: FileKey, value: str) -> str | None:
    """The value as librdkafka takes it; a value that MirrorMaker rejects is a problem."""
    if key.kind == "whole" and not re.fullmatch(r"[-+]?[0-9]+", value):
        translation.problem(where, f'must be an integer, not "{value}"')
        return None
    if key.kind == "duration":
        milliseconds = duration_ms(value)
        if milliseconds is None:
            translation.problem(where, f'must be a duration with its unit, such as "30s", not "{value}"')
            return None
        return str(milliseconds)
    return value


def duration_ms(text: str) -> int | None:
    """Go's `time.ParseDuration`, in whole milliseconds: "1m30s", "250ms", "0"."""
    unsigned = text.removeprefix("+")
    if unsigned == "0":
        return 0
    pieces = _DURATION.findall(unsigned)
    if not pieces or "".join(number + unit for number, unit in pieces) != unsigned:
        return None
    return round(sum(float(number) * _MILLISECONDS[unit] for number, unit in pieces))
