"""Go MirrorMaker's consumer.config and producer.config: each key that one of its versions reads.

A key becomes a client property where librdkafka has an equal one; the others tune what Causeway does
without (goroutines, ZooKeeper, retries) and are said to be not needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from causeway.config import fields
from causeway.config.problems import nearest
from causeway.config.properties import client_name
from causeway.doors.properties_file import PropertiesFile
from causeway.doors.reading import fitting
from causeway.doors.translation import ClusterKeys, Translation

DEFAULT_GROUP = "go-consumer-group"

_SERVERS = ("bootstrap.servers", "metadata.broker.list")
_SECURITY = re.compile(r"security\.protocol|enable\.ssl\.certificate\.verification|(?:sasl|ssl)\..+")
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "m": 6e4, "h": 3.6e6}

_ROUTINES = "not needed: the mirror's shards share the work"
_ASSIGNED = "not needed: the mirror deals its partitions out by itself, nothing is rebalanced"
_AGAIN = "not needed: what fails is tried again for as long as it takes, and nothing is skipped"
_TOGETHER = "not needed: records and the position behind them are committed together"
_LOAD = "not needed: batches follow the load"
_TAKES_OVER = "not needed: of two instances the newer one takes over at once"
_ZOOKEEPER = "not needed: Causeway does not use ZooKeeper"
_ALL = "not needed: every record is acknowledged by all in-sync replicas and delivered exactly once"


@dataclass(frozen=True)
class Key:
    kind: Literal["text", "whole", "duration", "boolean"]
    note: str = ""
    becomes: str = ""  # librdkafka's name


CONSUMER: dict[str, Key] = {
    "bootstrap.servers": Key("text"),
    "metadata.broker.list": Key("text"),
    "group.id": Key("text"),
    "client.id": Key("text", becomes="client.id"),
    "socket.timeout": Key("duration", becomes="socket.timeout.ms"),
    "fetch.message.max.bytes": Key("whole", becomes="fetch.message.max.bytes"),
    "fetch.min.bytes": Key("whole", becomes="fetch.min.bytes"),
    "fetch.wait.max.ms": Key("whole", becomes="fetch.wait.max.ms"),
    "exclude.internal.topics": Key("boolean"),
    "auto.offset.reset": Key("text", "has no effect in MirrorMaker either: a topic begins at its start"),
    "offsets.storage": Key("text", "positions are in the ledger; `causeway adopt` takes over the old ones"),
    "consumer.id": Key("text", _ASSIGNED),
    "partition.assignment.strategy": Key("text", _ASSIGNED),
    "rebalance.max.retries": Key("whole", _ASSIGNED),
    "rebalance.backoff": Key("duration", _ASSIGNED),
    "barrier.timeout": Key("duration", _ASSIGNED),
    "num.consumer.fetchers": Key("whole", _ROUTINES),
    "num.workers": Key("whole", _ROUTINES),
    "routine.pool.size": Key("whole", _ROUTINES),
    "worker.task.timeout": Key("duration", _ROUTINES),
    "worker.managers.stop.timeout": Key("duration", _ROUTINES),
    "queued.max.message.chunks": Key("whole", "not needed: queue_bytes bounds what is fetched ahead"),
    "max.worker.retries": Key("whole", _AGAIN),
    "worker.retry.threshold": Key("whole", _AGAIN),
    "worker.threshold.time.window": Key("duration", _AGAIN),
    "worker.backoff": Key("duration", _AGAIN),
    "refresh.leader.backoff": Key("duration", _AGAIN),
    "fetch.max.retries": Key("whole", _AGAIN),
    "fetch.topic.metadata.retries": Key("whole", _AGAIN),
    "fetch.topic.metadata.backoff": Key("duration", _AGAIN),
    "fetch.request.backoff": Key("duration", _AGAIN),
    "offset.commit.max.retries": Key("whole", _TOGETHER),
    "offset.commit.interval": Key("duration", _TOGETHER),
    "fetch.batch.size": Key("whole", _LOAD),
    "fetch.batch.timeout": Key("duration", _LOAD),
    "requeue.ask.next.backoff": Key("duration", _LOAD),
    "blue.green.deployment.enabled": Key("boolean", _TAKES_OVER),
    "deployment.timeout": Key("duration", _TAKES_OVER),
}  # fmt: skip

PRODUCER: dict[str, Key] = {
    "bootstrap.servers": Key("text"),
    "metadata.broker.list": Key("text"),
    "compression.codec": Key("text"),
    "compression.type": Key("text"),
    "client.id": Key("text", becomes="client.id"),
    "linger": Key("duration", becomes="linger.ms"),
    "acks": Key("text", _ALL),
    "timeout": Key("duration", _ALL),
    "timeout.ms": Key("whole", _ALL),
    "retries": Key("whole", _AGAIN),
    "retry.backoff": Key("duration", _AGAIN),
    "metadata.max.age": Key("duration", _AGAIN),
    "max.message.bytes": Key("whole", "not needed: the destination's own limits decide"),
    "batch.size": Key("whole", _LOAD),
    "flush.byte.count": Key("whole", _LOAD),
    "flush.timeout": Key("duration", _LOAD),
    "max.messages.per.request": Key("whole", _LOAD),
    "max.requests": Key("whole", _LOAD),
    "send.buffer.size": Key("whole", "not needed: queue_bytes and queue_records bound what waits"),
    "block.on.buffer.full": Key("boolean", "not needed: reading waits while the queue is full"),
    "send.routines": Key("whole", _ROUTINES),
    "receive.routines": Key("whole", _ROUTINES),
}

_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def source(
    file: PropertiesFile, translation: Translation, alias: str, elsewhere: bool
) -> tuple[dict[str, Any], str]:
    """A source cluster and the name of its group; `elsewhere` says that -X names the brokers."""
    cluster = _cluster(file, translation, CONSUMER, "consumer")
    if "bootstrap_servers" not in cluster and not elsewhere:
        option = f"-X clusters.{alias}.bootstrap_servers=…"
        _say_servers(file, translation, "to read from", option)
    internal = file.entries.get("exclude.internal.topics")
    if internal and internal.value and internal.value != "true":
        translation.problem(
            file.where("exclude.internal.topics"),
            'topics that begin with "__" are carried by name alone: leave the key out, '
            "and name them with -X 'mirrors.0.topics=[…]'",
        )
    group = file.entries["group.id"].value if "group.id" in file.entries else ""
    return cluster, fitting(translation, file.where("group.id"), group or DEFAULT_GROUP, fields.GroupName)


def destination(
    file: PropertiesFile, translation: Translation, elsewhere: bool
) -> tuple[dict[str, Any], str]:
    """The destination cluster and its compression, empty where none is given."""
    cluster = _cluster(file, translation, PRODUCER, "producer")
    if "bootstrap_servers" not in cluster and not elsewhere:
        _say_servers(file, translation, "to write to", "-X clusters.target.bootstrap_servers=…")
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


def _say_servers(file: PropertiesFile, translation: Translation, what: str, option: str) -> None:
    todo = f"add it to the file, which MirrorMaker does not mind, or give {option}"
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
    file: PropertiesFile, translation: Translation, known: dict[str, Key], client: str
) -> dict[str, Any]:
    properties: dict[str, str] = {}
    special: dict[str, str] = {}
    for name, entry in file.entries.items():
        key, where = known.get(name), file.where(name)
        if key is None:
            if _SECURITY.fullmatch(name):
                _pass_through(translation, where, name, entry.value, properties)
            elif client == "consumer" and name.startswith("zookeeper."):
                translation.note(where, _ZOOKEEPER)
            else:
                translation.problem(where, f"unknown key{nearest(name, known)}")
        elif entry.value:  # an empty one is the default, as in Go
            value = _checked(translation, where, key, entry.value)
            if key.note:
                translation.note(where, key.note)
            if key.becomes and value is not None:
                (properties if key.becomes == "client.id" else special)[key.becomes] = value
    servers = [name for name in _SERVERS if name in file.entries and file.entries[name].value]
    if len(servers) > 1:
        translation.note(file.where(servers[1]), f"not needed: {servers[0]} is there")
    cluster: dict[str, Any] = {}
    if servers:
        cluster["bootstrap_servers"] = fitting(
            translation, file.where(servers[0]), file.entries[servers[0]].value, fields.Servers
        )
    return cluster | {k: v for k, v in (("properties", properties), (client, special)) if v}


def _pass_through(
    translation: Translation, where: str, name: str, value: str, properties: dict[str, str]
) -> None:
    """MirrorMaker knows no security; whoever uses this door may need it, in librdkafka's words."""
    try:
        properties[client_name(name)] = value
    except ValueError as error:
        translation.problem(where, str(error))


def _checked(translation: Translation, where: str, key: Key, value: str) -> str | None:
    """The value as librdkafka takes it; what MirrorMaker would have refused is a problem."""
    if key.kind == "whole" and not re.fullmatch(r"[-+]?[0-9]+", value):
        translation.problem(where, f'must be a whole number, not "{value}"')
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
