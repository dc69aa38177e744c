"""MirrorMaker 2's keys other than its clients': notes and problems for those that are not translated.

From Kafka's own definitions: MirrorMakerConfig, MirrorConnectorConfig and its three children, the topic,
group and property filters, and Connect's worker, REST and connector configurations.
"""

from __future__ import annotations

import re

TRANSLATED = {
    "enabled", "topics", "topics.exclude", "topics.blacklist", "replication.factor", "tasks.max",
    "replication.policy.class", "replication.policy.separator", "refresh.topics.interval.seconds",
}  # fmt: skip

_GROUPS = (
    "offsets of consumer groups are not translated yet; the offset map has the destination offset of "
    "each record"
)
_SYNCS = "not needed: the offset map is exact for every record"
_HEARTBEATS = "heartbeats topics are neither written nor replicated; heartbeats are in the ledger"
_CONFIGS = "a topic's configuration is copied when it is created; later changes are not"
_ACLS = "ACLs are not copied"
_EXACT = "not needed: delivery is exactly-once"
_STOPS = "a record that cannot be replicated stops its partition; no record is skipped"
_CONNECT = "not needed: there are no Connect workers"
_FILTERS = "records are replicated bit for bit; to drop some, write a filter in Python"

NOTES: tuple[tuple[str, str], ...] = (
    (r"groups(\.exclude|\.blacklist)?|group\.filter\.class", _GROUPS),
    (r"(emit\.checkpoints|sync\.group\.offsets|refresh\.groups)\.(enabled|interval\.seconds)", _GROUPS),
    (r"checkpoints\.topic\.replication\.factor", _GROUPS),
    (r"offset-syncs\.topic\.(location|replication\.factor)|emit\.offset-syncs\.enabled", _SYNCS),
    (r"offset\.lag\.max", _SYNCS),
    (r"emit\.heartbeats\.(enabled|interval\.seconds)", _HEARTBEATS),
    (r"heartbeats\.(topic\.replication\.factor|replication\.enabled)", _HEARTBEATS),
    (r"refresh\.topics\.enabled", "new topics and partitions are always discovered"),
    (r"sync\.topic\.configs\.(enabled|interval\.seconds)", _CONFIGS),
    (r"config\.(properties\.(exclude|blacklist)|property\.filter\.class)|use\.defaults\.from", _CONFIGS),
    (r"sync\.topic\.acls\.(enabled|interval\.seconds)", _ACLS),
    (r"replication\.policy\.internal\.topic\.separator\.enabled", _SYNCS),
    (r"exactly\.once\.(source\.)?support|transaction\.boundary(\.interval\.ms)?", _EXACT),
    (r"errors\.(retry\.timeout|retry\.delay\.max\.ms|tolerance|log\.enable|log\.include\.messages)", _STOPS),
    (r"topic\.creation\..+", "destination topics have the source's partitions and configuration"),
    (r"config\.providers(\..+)?", "not needed: ${env:NAME} and ${file:/path} work in every value"),
    (r"(config|offset|offsets|status)\.storage\..+|offset\.flush\.(interval|timeout)\.ms", _CONNECT),
    (r"(listeners|rest|inter\.worker|access\.control|admin\.listeners)(\..+)?", _CONNECT),
    (r"response\.http\.headers\.config|dedicated\.mode\.enable\.internal\.rest", _CONNECT),
    (r"plugin\.(path|discovery)|connector\.client\.config\.override\.policy|connect\.protocol", _CONNECT),
    (r"(worker|task)\..+|tasks\.max\.enforce|topic\.tracking\..+", _CONNECT),
    (r"scheduled\.rebalance\.max\.delay\.ms", _CONNECT),
    (r"(session|rebalance)\.timeout\.ms|heartbeat\.interval\.ms|group\.id|client\.id", _CONNECT),
    (r"name|connector\.class|config\.action\.reload|(consumer\.poll|admin)\.timeout\.ms", _CONNECT),
    (r"metric\.reporters|metrics\..+|auto\.include\.jmx\.reporter", _CONNECT),
)  # fmt: skip

PROBLEMS: tuple[tuple[str, str], ...] = (
    (r"transforms(\..+)?|predicates(\..+)?", _FILTERS),
    (r"source\.cluster\.alias|target\.cluster\.alias", "the flow's name sets it; remove the key"),
)

DEFAULTS = {
    "topic.filter.class": "org.apache.kafka.connect.mirror.DefaultTopicFilter",
    "forwarding.admin.class": "org.apache.kafka.clients.admin.ForwardingAdmin",
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "header.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
"""Classes that are accepted with their default; any other is Java code that changes the records."""

NAMES = (
    *TRANSLATED, *DEFAULTS, "bootstrap.servers", "security.protocol", "transforms", "groups",
    "groups.exclude", "emit.checkpoints.enabled", "emit.heartbeats.enabled", "sync.group.offsets.enabled",
    "sync.topic.configs.enabled", "sync.topic.acls.enabled", "refresh.topics.enabled",
    "refresh.groups.enabled", "offset.lag.max", "exactly.once.source.support",
    "replication.policy.internal.topic.separator.enabled",
)  # fmt: skip
"""Names to suggest for an unknown key."""


def remark(key: str, value: str) -> tuple[str, bool] | None:
    """The message for a key, and whether the key cannot be honoured; None for an unknown key."""
    if key in DEFAULTS:
        if value in (DEFAULTS[key], DEFAULTS[key].rpartition(".")[2]):
            return "not needed: records are replicated unchanged", False
        return f"Java code cannot be run; only {DEFAULTS[key]} is supported", True
    for pattern, text in NOTES:
        if re.fullmatch(pattern, key):
            return text, False
    for pattern, text in PROBLEMS:
        if re.fullmatch(pattern, key):
            return text, True
    return None
